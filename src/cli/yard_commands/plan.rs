//! `reelyard plan`

use reelyard_core::counted::counted;
use std::ffi::OsString;
use std::io::Write;

use clap::Args;
use reelyard_api::{BackedOff, Page, PlanView, PlannedCopy, Skipped, TaskView};
use reelyard_console::pages::plan::PlanPageQuery;
use reelyard_yard::catalog::popularity::served_requests::ServedShares;

use super::{explain, removals};
use crate::cli::client::{NodeArgs, NodeClient, ViewArgs};
use crate::cli::output::cell::{self, count, maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, Printer, name, plain};
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct PlanArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Explain why this file is planned or not, instead of the round.
    #[arg(long, value_name = "FILE")]
    explain: Option<OsString>,
    /// FILE is percent-encoded, as lists show names that are not UTF-8
    #[arg(long, requires = "explain")]
    percent_encoded: bool,
    /// List all copies and backoffs instead of the first 200 of each list.
    #[arg(long, conflicts_with = "explain")]
    all: bool,
    #[command(flatten)]
    view: ViewArgs,
}

/// Prints the last round, or explains a file.
pub fn run(args: PlanArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut args.node.output.printer(out);
    out.refuse_csv()?;
    let client = NodeClient::new(&args.node)?;
    if let Some(file) = &args.explain {
        let web = explain::web_page(file, args.percent_encoded)?;
        return args.view.show(&args.node, &web, out, |out| {
            explain::run(&client, file, args.percent_encoded, out)
        });
    }
    args.view
        .show(&args.node, PlanPageQuery::path(), out, |out| print_round(&client, args.all, out))
}

fn print_round(
    client: &NodeClient,
    with_all: bool,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let mut plan: PlanView = client.get(&["plan"], &[])?;
    if with_all {
        let open: Page<TaskView> = client.list_all(&["tasks"], &[("state", "open")])?;
        plan.planned = open.items.into_iter().map(planned).collect();
        plan.removals = removals::all_copies(client, "planned")?;
        plan.back_offs = client.list_all(&["plan", "back-offs"], &[])?.items;
    }
    if out.is_json() {
        return out.json(&plan);
    }
    match plan.at {
        Some(at) => {
            let at = out.clock(at);
            let took = plan.took_us.map(|us| format!(", took {:.1} ms", us as f64 / 1000.0));
            writeln!(out, "last round {at}{}", took.unwrap_or_default())?;
        }
        None => writeln!(out, "no round has run yet")?,
    }
    if let Some(blocked) = &plan.blocked {
        writeln!(out, "cannot plan copies: {}", plain(blocked))?;
    }
    for unlisted in &plan.unlisted {
        writeln!(out, "warning: {}", plain(unlisted))?;
    }
    print_planned(&plan.planned, out)?;
    out.left_out(plan.planned.len(), plan.planned_total)?;
    if !plan.removals.is_empty() {
        writeln!(out, "copies to remove:")?;
        removals::print_copies(&plan.removals, out)?;
        out.left_out(plan.removals.len(), plan.removals_total)?;
    }
    let waiting = counted(plan.waiting, "file", "files");
    writeln!(out, "waiting for a source or a destination: {waiting}")?;
    print_served(&plan.served, out)?;
    print_skipped(&plan.skipped, out)?;
    print_back_offs(&plan.back_offs, out)?;
    Ok(out.left_out(plan.back_offs.len(), plan.back_offs_total)?)
}

/// A task as the plan shows it.
fn planned(task: TaskView) -> PlannedCopy {
    PlannedCopy {
        task: task.id,
        name: task.name,
        rank: task.rank,
        hits: task.hits,
        source: task.source,
        destination: task.destination,
        size: task.size,
    }
}

/// Prints the share of requests that copies served. Prints nothing without a request.
fn print_served(served: &ServedShares, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    for (time, share) in [("hour", served.last_hour), ("day", served.last_day)] {
        if let Some(share) = share {
            let percent = share * 100.0;
            writeln!(out, "requests served by a copy in the last {time}: {percent:.1}%")?;
        }
    }
    Ok(())
}

fn print_planned(planned: &[PlannedCopy], out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if planned.is_empty() {
        return Ok(writeln!(out, "the round planned no copies")?);
    }
    let mut table = ListTable::new([
        ListColumn::left("TASK"),
        ListColumn::name("FILE"),
        ListColumn::right("RANK").leaves(3),
        ListColumn::right("HITS").leaves(4),
        ListColumn::right("SIZE").leaves(2),
        ListColumn::left("SOURCE").leaves(1),
        ListColumn::left("DESTINATION"),
    ]);
    for copy in planned {
        table.row([
            text(copy.task),
            cell::name(&copy.name),
            maybe(copy.rank, count),
            count(copy.hits),
            ListCell::Bytes(copy.size),
            text(copy.source),
            text(copy.destination),
        ]);
    }
    Ok(out.table(&table)?)
}

fn print_skipped(skipped: &[Skipped], out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if skipped.is_empty() {
        return Ok(());
    }
    let mut table = ListTable::new([
        ListColumn::left("SKIPPED"),
        ListColumn::right("FILES"),
        ListColumn::name("BEST FILE"),
    ]);
    for reason in skipped {
        let first = reason.first.as_ref();
        table.row([
            text(reason.reason.replace('_', " ")),
            count(reason.files),
            maybe(first, cell::name),
        ]);
    }
    Ok(out.table(&table)?)
}

fn print_back_offs(back_offs: &[BackedOff], out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if back_offs.is_empty() {
        return Ok(());
    }
    let mut table = ListTable::new([
        ListColumn::name("IN BACKOFF"),
        ListColumn::left("UNTIL"),
        ListColumn::right("FAILURES").leaves(1),
        ListColumn::reason("WHY"),
    ]);
    for one in back_offs {
        let parts = [
            one.file.as_ref().map(|file| format!("file {}", name(file))),
            one.source.map(|host| format!("source {host}")),
            one.destination.map(|host| format!("destination {host}")),
        ];
        let who: Vec<_> = parts.into_iter().flatten().collect();
        table.row([
            text(who.join(" with ")),
            ListCell::At(one.back_off.until),
            count(one.back_off.failures),
            text(&one.back_off.reason),
        ]);
    }
    Ok(out.table(&table)?)
}
