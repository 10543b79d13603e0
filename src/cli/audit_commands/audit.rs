//! `reelyard audit`

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use reelyard_api::{AuditRowInfo, Page};

use super::row_filter::RowFilterArgs;
use super::row_table;
use super::verify::{self, VerifyArgs};
use crate::cli::client::{NodeArgs, NodeClient, PageArgs, filters};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output;

#[derive(Debug, Args)]
pub struct NodeAuditArgs {
    #[command(flatten)]
    node: NodeArgs,
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// List changes and refused calls with their callers, newest first.
    List {
        #[command(flatten)]
        filter: RowFilterArgs,
        /// List the oldest row first.
        #[arg(long)]
        oldest_first: bool,
        #[command(flatten)]
        page: PageArgs,
    },
    /// Print new rows as they are written.
    Follow {
        #[command(flatten)]
        filter: RowFilterArgs,
        /// First print the rows after this one.
        #[arg(long, value_name = "ROW")]
        after: Option<u64>,
    },
    /// Write rows to standard output: compressed lines of JSON, oldest first.
    Export {
        #[command(flatten)]
        filter: RowFilterArgs,
    },
    /// Check on the host of the node that no row was changed or removed.
    Verify(VerifyArgs),
}

/// Runs `reelyard audit`.
pub fn run(args: NodeAuditArgs, out: &mut dyn Write) -> Result<ExitCode, CommandFailure> {
    let json = args.node.json;
    match args.command {
        AuditCommand::Verify(verify) => return verify::run(verify, json, out),
        AuditCommand::List { filter, oldest_first, page } => {
            let client = NodeClient::new(&args.node)?;
            let mut query = filter.query()?;
            query.push(("order", oldest_first.then(|| "oldest".to_owned())));
            let rows = client.list::<AuditRowInfo>(&["audit"], &filters(&query), &page)?;
            print(&rows, json, out)?;
        }
        AuditCommand::Follow { filter, after } => {
            let client = NodeClient::new(&args.node)?;
            follow(&client, &filter, after, json, out)?;
        }
        AuditCommand::Export { filter } => {
            let client = NodeClient::new(&args.node)?;
            client.download(&["audit", "export"], &filters(&filter.query()?), out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(rows: &Page<AuditRowInfo>, json: bool, out: &mut dyn Write) -> Result<(), CommandFailure> {
    if json {
        return Ok(output::json(rows, out)?);
    }
    output::print(&row_table::table(&rows.items), out)?;
    Ok(output::more(rows, out)?)
}

fn follow(
    client: &NodeClient,
    filter: &RowFilterArgs,
    after: Option<u64>,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let query = filter.query()?;
    let mut last = after.map(|after| after.to_string()).unwrap_or_default();
    let never = client.follow(&["audit", "events"], &filters(&query), &mut last, |event| {
        let Some(event) = event else { return Ok(()) };
        if json {
            writeln!(out, "{}", event.data)?;
        } else {
            let row = serde_json::from_str::<AuditRowInfo>(&event.data);
            let row = row.map_err(anyhow::Error::from)?;
            writeln!(out, "{}", row_table::line(&row))?;
        }
        Ok(out.flush()?)
    })?;
    match never {}
}
