//! `reelyard history`

use std::ffi::OsString;
use std::io::Write;

use clap::{Args, ValueEnum};
use reelyard_api::{HistoryEntry, HistoryLine};
use reelyard_console::pages::history::HistoryPageQuery;
use reelyard_core::clock::Clock;
use reelyard_core::host::HostAddr;
use reelyard_yard::task_manager::TaskState;

use crate::cli::client::{NodeArgs, NodeClient, PageArgs, ViewArgs, filters, web_query};
use crate::cli::output::cell::{self, maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, PrintStyle};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::instant::instant;

#[derive(Debug, Args)]
pub struct HistoryArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Only copies and removals of this file.
    #[arg(long)]
    file: Option<OsString>,
    /// Only copies and removals of files with this text in their names.
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
    /// Only copies and removals that failed.
    #[arg(long)]
    failed: bool,
    /// Only copies and removals on this host (ip:port).
    #[arg(long)]
    host: Option<HostAddr>,
    /// Only copies, or only removals
    #[arg(long)]
    what: Option<HistoryKindArg>,
    /// Only what a requester with this text in its name asked for; the planner is "planner".
    #[arg(long, value_name = "TEXT")]
    by: Option<String>,
    /// Only what ended since this time (RFC 3339), or within this duration, such as 2d.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only what ended before this time (RFC 3339), or before this duration ago.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    view: ViewArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum HistoryKindArg {
    Copy,
    Removal,
}

/// Prints the history.
pub fn run(args: HistoryArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut args.node.output.printer(out);
    let client = NodeClient::new(&args.node)?;
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
    let now = Clock::system().now();
    let query = [
        ("file", file.map(str::to_owned)),
        ("host", args.host.map(|host| host.to_string())),
        ("what", what.map(str::to_owned)),
        ("contains", args.contains.clone()),
        ("failed", args.failed.then(|| "true".to_owned())),
        ("by", args.by.clone()),
        ("since", instant("--since", args.since.as_deref(), now)?),
        ("until", instant("--until", args.until.as_deref(), now)?),
    ];
    let step = match (args.failed, args.what) {
        (true, _) => Some("failures"),
        (false, Some(HistoryKindArg::Copy)) => Some("copies"),
        (false, Some(HistoryKindArg::Removal)) => Some("removals"),
        (false, None) => None,
    };
    let of_page = [
        ("q", query[0].1.clone().or_else(|| args.contains.clone())),
        ("host", query[1].1.clone()),
        ("step", step.map(str::to_owned)),
        ("by", args.by.clone()),
        ("from", query[6].1.clone()),
        ("to", query[7].1.clone()),
    ];
    let web = HistoryPageQuery::parse(&web_query(&of_page)).address();
    args.view.show(&args.node, &web, out, |out| {
        let lines = client.list::<HistoryLine>(&["history"], &filters(&query), &args.page)?;
        out.list(&lines, table)
    })
}

fn table(lines: &[HistoryLine], _: &PrintStyle) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("WHEN"),
        ListColumn::left("WHAT"),
        ListColumn::name("FILE"),
        ListColumn::left("HOST"),
        ListColumn::right("SIZE").leaves(2),
        ListColumn::left("ASKED BY").leaves(1),
        ListColumn::reason("WHY"),
    ]);
    for line in lines {
        let (what, why) = describe(&line.what);
        table.row([
            ListCell::At(line.at),
            cell::state(what),
            cell::name(&line.name),
            text(line.host),
            maybe(line.size, ListCell::Bytes),
            text(&line.asked_by),
            text(&why),
        ]);
    }
    table
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
            let ending = ending.words();
            let (what, detail) = ending.split_once(": ").unwrap_or((&ending, ""));
            let detail = if detail.is_empty() { String::new() } else { format!("; {detail}") };
            (what.to_owned(), format!("{why}{kept}{detail}"))
        }
    }
}
