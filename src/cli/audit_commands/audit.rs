//! `reelyard audit`

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use reelyard_api::AuditRowInfo;
use reelyard_console::pages::audit::AuditPageQuery;

use super::row_filter::RowFilterArgs;
use super::row_table;
use super::verify::{self, VerifyArgs};
use crate::cli::client::{EventIds, NodeArgs, NodeClient, PageArgs, ViewArgs, filters, web_query};
use crate::cli::output::Printer;
use crate::cli::support::failure::CommandFailure;

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
        #[command(flatten)]
        view: ViewArgs,
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
    let node = args.node;
    match args.command {
        AuditCommand::Verify(verify) => return verify::run(verify, &mut node.output.printer(out)),
        AuditCommand::List { filter, oldest_first, page, view } => {
            let client = NodeClient::new(&node)?;
            let web = AuditPageQuery::parse(&web_query(&filter.of_page()?)).address();
            view.show(&node, &web, &mut node.output.printer(out), |out| {
                let mut query = filter.query()?;
                query.push(("order", oldest_first.then(|| "oldest".to_owned())));
                let rows = client.list::<AuditRowInfo>(&["audit"], &filters(&query), &page)?;
                out.list(&rows, row_table::table)
            })?;
        }
        AuditCommand::Follow { filter, after } => {
            let client = NodeClient::new(&node)?;
            follow(&client, &filter, after, &mut node.output.printer(out))?;
        }
        AuditCommand::Export { filter } => {
            let client = NodeClient::new(&node)?;
            client.download(&["audit", "export"], &filters(&filter.query()?), out)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn follow(
    client: &NodeClient,
    filter: &RowFilterArgs,
    after: Option<u64>,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    out.refuse_csv()?;
    let query = filter.query()?;
    let last = after.map(|after| after.to_string()).unwrap_or_default();
    // Each node has an audit of its own.
    let ids = EventIds::OfTheNode;
    let never = client.follow(&["audit", "events"], &filters(&query), last, ids, |event| {
        if out.is_json() {
            let row = serde_json::from_str::<serde_json::Value>(&event.data);
            out.json_line(&row.map_err(anyhow::Error::from)?)?;
        } else {
            let row = serde_json::from_str::<AuditRowInfo>(&event.data);
            let row = row.map_err(anyhow::Error::from)?;
            writeln!(out, "{}", row_table::line(&row, out.style()))?;
        }
        Ok(out.flush()?)
    })?;
    match never {}
}
