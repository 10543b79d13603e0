//! `reelyard context`

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::cli::client::addresses_of;
use crate::cli::client::contexts::{ContextCredential, ContextFile, ContextName, SavedContext};
use crate::cli::output::cell::{maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, OutputArgs, Printer};
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct ContextArgs {
    #[command(subcommand)]
    command: ContextCommand,
}

#[derive(Debug, Subcommand)]
enum ContextCommand {
    /// List the contexts. A star marks the current one.
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Add a context, or replace it. The first one becomes the current one.
    Add {
        /// Name of the context.
        name: ContextName,
        /// URL of the node, or those of several nodes of one cluster, separated by commas.
        #[arg(long)]
        url: String,
        /// File with certificates (PEM) of the authority of the node.
        #[arg(long, value_name = "FILE")]
        ca_file: Option<PathBuf>,
        /// File with a token. Without one, log in by "reelyard login".
        #[arg(long, value_name = "FILE")]
        token_file: Option<PathBuf>,
    },
    /// Make a context the current one: commands without --url and --context use it.
    Use {
        /// Name of the context.
        name: ContextName,
    },
    /// Remove contexts. Their sessions go on until they are idle: log out first.
    Remove {
        /// Names of the contexts.
        #[arg(required = true)]
        names: Vec<ContextName>,
    },
}

/// One row of the list, without secrets.
#[derive(Serialize)]
struct ContextRow<'a> {
    name: &'a ContextName,
    current: bool,
    url: String,
    ca_file: Option<&'a PathBuf>,
    credential: &'static str,
}

/// Lists or changes contexts.
pub fn run(args: ContextArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let mut contexts = ContextFile::read()?;
    match args.command {
        ContextCommand::List { output } => return list(&contexts, &mut output.printer(out)),
        ContextCommand::Add { name, url, ca_file, token_file } => {
            let url = addresses_of(&url)?;
            let absolute = |file: PathBuf| std::path::absolute(&file).unwrap_or(file);
            let (ca_file, token_file) = (ca_file.map(absolute), token_file.map(absolute));
            let credential = token_file.map(ContextCredential::TokenFile);
            contexts.set(name.clone(), SavedContext { url, ca_file, credential });
            writeln!(out, "{name}: added")?;
        }
        ContextCommand::Use { name } => {
            contexts.choose(&name)?;
            writeln!(out, "{name}: current")?;
        }
        ContextCommand::Remove { names } => {
            for name in &names {
                contexts.remove(name)?;
                writeln!(out, "{name}: removed")?;
            }
        }
    }
    contexts.write()
}

fn list(contexts: &ContextFile, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let current = contexts.current().map(|(name, _)| name);
    let rows: Vec<ContextRow<'_>> =
        contexts.all().map(|(name, context)| row(name, context, current)).collect();
    if out.is_json() {
        return out.json(&rows);
    }
    let mut table = ListTable::new([
        ListColumn::left("CURRENT"),
        ListColumn::left("CONTEXT"),
        ListColumn::name("URL"),
        ListColumn::left("CREDENTIAL"),
        ListColumn::name("CA FILE").leaves(1),
    ]);
    for row in rows {
        table.row([
            if row.current { text("*") } else { ListCell::Nothing },
            text(row.name),
            text(row.url),
            text(row.credential),
            maybe(row.ca_file, |file| text(file.display())),
        ]);
    }
    Ok(out.table(&table)?)
}

fn row<'a>(
    name: &'a ContextName,
    context: &'a SavedContext,
    current: Option<&ContextName>,
) -> ContextRow<'a> {
    let credential = match &context.credential {
        Some(ContextCredential::Session(_)) => "session",
        Some(ContextCredential::TokenFile(_)) => "token file",
        None => "none",
    };
    let current = current == Some(name);
    let url = context.url.to_string();
    ContextRow { name, current, url, ca_file: context.ca_file.as_ref(), credential }
}
