//! `reelyard history`

use std::ffi::OsString;
use std::io::Write;

use clap::{Args, ValueEnum};
use comfy_table::Cell;
use reelyard_api::{HistoryEntry, HistoryLine};
use reelyard_core::host::HostAddr;
use reelyard_yard::task_manager::TaskState;

use crate::cli::client::{NodeArgs, NodeClient, PageArgs};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, maybe, name, plain, size};

#[derive(Debug, Args)]
pub struct HistoryArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Only copies and removals of this file.
    #[arg(long)]
    file: Option<OsString>,
    /// Only copies and removals on this host (ip:port).
    #[arg(long)]
    host: Option<HostAddr>,
    /// Only copies, or only removals
    #[arg(long)]
    what: Option<HistoryKindArg>,
    #[command(flatten)]
    page: PageArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HistoryKindArg {
    Copy,
    Removal,
}

/// Prints the history.
pub fn run(args: HistoryArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let client = NodeClient::new(&args.node)?;
    let host = args.host.map(|host| host.to_string());
    let file = match &args.file {
        Some(file) => Some(file.to_str().ok_or_else(|| {
            CommandFailure::Usage("--file: the name is not UTF-8: use --percent-encoded".to_owned())
        })?),
        None => None,
    };
    let what = args.what.map(|what| match what {
        HistoryKindArg::Copy => "copy",
        HistoryKindArg::Removal => "removal",
    });
    let filters = [("file", file), ("host", host.as_deref()), ("what", what)];
    let query: Vec<(&str, &str)> =
        filters.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    let lines = client.list::<HistoryLine>(&["history"], &query, &args.page)?;
    if args.node.json {
        return Ok(output::json(&lines, out)?);
    }
    let mut table = output::table(&["WHEN", "WHAT", "FILE", "HOST", "SIZE", "ASKED BY", "WHY"]);
    for line in &lines.items {
        let (what, why) = describe(&line.what);
        table.add_row([
            Cell::new(line.at),
            Cell::new(what),
            Cell::new(name(&line.name)),
            Cell::new(line.host),
            maybe(line.size, size),
            Cell::new(plain(&line.asked_by)),
            Cell::new(plain(&why)),
        ]);
    }
    output::print(&table, out)?;
    Ok(output::more(&lines, out)?)
}

/// The kind of a history line, and its details.
fn describe(what: &HistoryEntry) -> (String, String) {
    match what {
        HistoryEntry::Copy { source, state, rank, hits, detail, .. } => {
            let what = match state {
                TaskState::Done => "copied".to_owned(),
                state => format!("copy {state}"),
            };
            let rank = rank.map_or("no grade".to_owned(), |rank| format!("rank {rank}"));
            let hits = if *hits > 0 { format!(", {hits} rising hits") } else { String::new() };
            let detail = detail.as_ref().map(|detail| format!(": {detail}")).unwrap_or_default();
            (what, format!("from {source}, {rank}{hits}{detail}"))
        }
        HistoryEntry::Removal { why, keeper, ending, .. } => {
            let kept = keeper.map(|keeper| format!("; {keeper} keeps one")).unwrap_or_default();
            (ending.words(), format!("{why}{kept}"))
        }
    }
}
