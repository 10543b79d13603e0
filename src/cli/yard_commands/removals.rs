//! `reelyard removals`

use std::io::{self, Write};

use bytesize::ByteSize;
use clap::Args;
use comfy_table::Cell;
use reelyard_api::{RemovalView, RemovalsView};
use reelyard_core::host::HostAddr;
use reelyard_yard::remover::{ExchangeBudget, Relief, RemovalMode, RemoverWaits};

use crate::cli::client::{NodeArgs, NodeClient};
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, maybe, name, number, plain, size};

#[derive(Debug, Args)]
pub struct RemovalsArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Check all copies now instead of at the next interval.
    #[arg(long)]
    now: bool,
}

/// Runs `reelyard removals`.
pub fn run(args: RemovalsArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let client = NodeClient::new(&args.node)?;
    if args.now {
        client.post_for_nothing(&["removals"])?;
        if !args.node.json {
            writeln!(out, "the check of all copies has started")?;
        }
        return Ok(());
    }
    let view: RemovalsView = client.get(&["removals"], &[])?;
    if args.node.json {
        return Ok(output::json(&view, out)?);
    }
    print_state(&view, out)?;
    if !view.open.is_empty() {
        writeln!(out, "being removed:")?;
        print_copies(&view.open, out)?;
    }
    if !view.decided.is_empty() {
        let would = view.mode == RemovalMode::DryRun;
        writeln!(
            out,
            "{}",
            if would { "would be removed:" } else { "decided by the last check:" }
        )?;
        print_copies(&view.decided, out)?;
    }
    print_reliefs(&view, out)?;
    print_rooms(&view, out)?;
    Ok(print_spared(&view, out)?)
}

fn print_state(view: &RemovalsView, out: &mut dyn Write) -> io::Result<()> {
    match view.mode {
        RemovalMode::On => {}
        RemovalMode::DryRun => writeln!(out, "dry run: no copies are removed")?,
        RemovalMode::Off => writeln!(out, "off: no copies are checked or removed")?,
    }
    match view.at {
        Some(at) => {
            let took = view.took_us.map(|us| format!(", took {:.1} ms", us as f64 / 1000.0));
            writeln!(out, "last check of all copies {at}{}", took.unwrap_or_default())?;
        }
        None => writeln!(out, "this node has not checked the copies yet")?,
    }
    if let Some(ExchangeBudget { bytes, left }) = view.exchange_budget {
        let (left, bytes) = (ByteSize::b(left), ByteSize::b(bytes));
        writeln!(out, "exchanges may remove {left} of {bytes} in 24 hours")?;
    }
    match view.waits {
        None => Ok(()),
        Some(RemoverWaits::Ranking) => {
            writeln!(out, "no removals yet: the ranking was not read")
        }
        Some(RemoverWaits::Masters) => {
            writeln!(out, "no removals yet: the source directories were not listed")
        }
    }
}

/// Prints planned removals with the remaining copy and the reason.
pub(in crate::cli) fn print_copies(copies: &[RemovalView], out: &mut dyn Write) -> io::Result<()> {
    let mut table = output::table(&["FILE", "ON", "SIZE", "KEPT ON", "WHY"]);
    for copy in copies {
        let why = match copy.spared {
            Some(spared) => format!("kept after all: {}", spared.words()),
            None => copy.why.clone(),
        };
        table.add_row([
            Cell::new(name(&copy.name)),
            Cell::new(copy.host),
            maybe(copy.size, size),
            maybe(copy.keeper, Cell::new),
            Cell::new(plain(&why)),
        ]);
    }
    output::print(&table, out)
}

fn print_reliefs(view: &RemovalsView, out: &mut dyn Write) -> io::Result<()> {
    let line = |(host, relief): (&HostAddr, &Relief)| {
        let Relief { used, limit, low_water, .. } = relief;
        let short =
            if relief.falls_short { "; removing all removable copies is not enough" } else { "" };
        format!("{host} is over its limit: {used} of {limit} bytes, target {low_water}{short}")
    };
    view.reliefs.iter().try_for_each(|relief| writeln!(out, "{}", line(relief)))
}

fn print_rooms(view: &RemovalsView, out: &mut dyn Write) -> io::Result<()> {
    if view.rooms.is_empty() {
        return Ok(());
    }
    writeln!(out, "wanted files that fit nowhere:")?;
    let mut table = output::table(&["FILE", "SIZE", "HITS", "ACTION"]);
    for room in &view.rooms {
        let done = Cell::new(plain(&room.why));
        table.add_row([Cell::new(name(&room.name)), size(room.size), number(room.hits), done]);
    }
    output::print(&table, out)
}

fn print_spared(view: &RemovalsView, out: &mut dyn Write) -> io::Result<()> {
    if view.spared.is_empty() {
        return Ok(());
    }
    let mut table = output::table(&["KEPT BECAUSE", "COPIES"]);
    for (why, copies) in &view.spared {
        table.add_row([Cell::new(why.words()), number(copies)]);
    }
    output::print(&table, out)
}
