//! `reelyard plan`

use reelyard_core::counted::counted;
use std::ffi::OsString;
use std::io::{self, Write};

use clap::Args;
use comfy_table::Cell;
use reelyard_api::{BackedOff, PlanView, PlannedCopy, Skipped};
use reelyard_yard::catalog::popularity::served_requests::ServedShares;

use super::{explain, removals};
use crate::cli::client::{NodeArgs, NodeClient};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, maybe, name, number, plain, size};

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
}

/// Prints the last round, or explains a file.
pub fn run(args: PlanArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let client = NodeClient::new(&args.node)?;
    if let Some(file) = &args.explain {
        return explain::run(&client, file, args.percent_encoded, args.node.json, out);
    }
    let plan: PlanView = client.get(&["plan"], &[])?;
    if args.node.json {
        return Ok(output::json(&plan, out)?);
    }
    match plan.at {
        Some(at) => {
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
    if !plan.removals.is_empty() {
        writeln!(out, "copies to remove:")?;
        removals::print_copies(&plan.removals, out)?;
    }
    let waiting = counted(plan.waiting, "file", "files");
    writeln!(out, "waiting for a source or a destination: {waiting}")?;
    print_served(&plan.served, out)?;
    print_skipped(&plan.skipped, out)?;
    print_back_offs(&plan.back_offs, out)?;
    Ok(())
}

/// Prints the share of requests that copies served. Prints nothing without a request.
fn print_served(served: &ServedShares, out: &mut dyn Write) -> io::Result<()> {
    for (time, share) in [("hour", served.last_hour), ("day", served.last_day)] {
        if let Some(share) = share {
            let percent = share * 100.0;
            writeln!(out, "requests served by a copy in the last {time}: {percent:.1} %")?;
        }
    }
    Ok(())
}

fn print_planned(planned: &[PlannedCopy], out: &mut dyn Write) -> io::Result<()> {
    if planned.is_empty() {
        return writeln!(out, "the round planned no copies");
    }
    let header = ["TASK", "FILE", "RANK", "HITS", "SIZE", "SOURCE", "DESTINATION"];
    let mut table = output::table(&header);
    for copy in planned {
        table.add_row([
            Cell::new(copy.task),
            Cell::new(name(&copy.name)),
            maybe(copy.rank, number),
            number(copy.hits),
            size(copy.size),
            Cell::new(copy.source),
            Cell::new(copy.destination),
        ]);
    }
    output::print(&table, out)
}

fn print_skipped(skipped: &[Skipped], out: &mut dyn Write) -> io::Result<()> {
    if skipped.is_empty() {
        return Ok(());
    }
    let mut table = output::table(&["SKIPPED", "FILES", "BEST FILE"]);
    for reason in skipped {
        let first = reason.first.as_ref().map(name);
        table.add_row([
            Cell::new(plain(&reason.reason).replace('_', " ")),
            number(reason.files),
            maybe(first, Cell::new),
        ]);
    }
    output::print(&table, out)
}

fn print_back_offs(back_offs: &[BackedOff], out: &mut dyn Write) -> io::Result<()> {
    if back_offs.is_empty() {
        return Ok(());
    }
    let header = ["IN BACKOFF", "UNTIL", "FAILURES", "WHY"];
    let mut table = output::table(&header);
    for one in back_offs {
        let parts = [
            one.file.as_ref().map(|file| format!("file {}", name(file))),
            one.source.map(|host| format!("source {host}")),
            one.destination.map(|host| format!("destination {host}")),
        ];
        let who: Vec<_> = parts.into_iter().flatten().collect();
        table.add_row([
            Cell::new(who.join(" with ")),
            Cell::new(one.back_off.until),
            number(one.back_off.failures),
            Cell::new(plain(&one.back_off.reason)),
        ]);
    }
    output::print(&table, out)
}
