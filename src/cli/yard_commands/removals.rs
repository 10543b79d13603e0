//! `reelyard removals`

use std::io::Write;

use bytesize::ByteSize;
use clap::Args;
use reelyard_api::{RemovalView, RemovalsView};
use reelyard_console::pages::plan::PlanPageQuery;
use reelyard_core::host::HostAddr;
use reelyard_yard::remover::{ExchangeBudget, Relief, RemovalMode, RemoverWaits};

use crate::cli::client::{NodeArgs, NodeClient, ViewArgs};
use crate::cli::output::cell::{self, count, maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, Printer};
use crate::cli::support::failure::CommandFailure;

#[derive(Debug, Args)]
pub struct RemovalsArgs {
    #[command(flatten)]
    node: NodeArgs,
    /// Check all copies now instead of at the next interval.
    #[arg(long)]
    now: bool,
    /// List all copies and files instead of the first 200 of each list.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    view: ViewArgs,
}

/// Runs `reelyard removals`.
pub fn run(args: RemovalsArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut args.node.output.printer(out);
    out.refuse_csv()?;
    let client = NodeClient::new(&args.node)?;
    if args.now {
        client.post_for_nothing(&["removals"], &[])?;
        if !out.is_json() {
            writeln!(out, "the check of all copies has started")?;
        }
        return Ok(());
    }
    let web = format!("{}#removals", PlanPageQuery::path());
    args.view.show(&args.node, &web, out, |out| print_all(&client, args.all, out))
}

fn print_all(
    client: &NodeClient,
    with_all: bool,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let mut view: RemovalsView = client.get(&["removals"], &[])?;
    if with_all {
        view.open = all_copies(client, "open")?;
        view.decided = all_copies(client, "decided")?;
        view.rooms = client.list_all(&["removals", "rooms"], &[])?.items;
    }
    if out.is_json() {
        return out.json(&view);
    }
    print_state(&view, out)?;
    if !view.open.is_empty() {
        writeln!(out, "being removed:")?;
        print_copies(&view.open, out)?;
        out.left_out(view.open.len(), view.open_total)?;
    }
    if !view.decided.is_empty() {
        let would = view.mode == RemovalMode::DryRun;
        writeln!(
            out,
            "{}",
            if would { "would be removed:" } else { "decided by the last check:" }
        )?;
        print_copies(&view.decided, out)?;
        out.left_out(view.decided.len(), view.decided_total)?;
    }
    print_reliefs(&view, out)?;
    print_rooms(&view, out)?;
    print_spared(&view, out)
}

/// Every copy of one list of removals.
pub(in crate::cli) fn all_copies(
    client: &NodeClient,
    list: &str,
) -> Result<Vec<RemovalView>, CommandFailure> {
    Ok(client.list_all(&["removals", "copies"], &[("list", list)])?.items)
}

fn print_state(view: &RemovalsView, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    match view.mode {
        RemovalMode::On => {}
        RemovalMode::DryRun => writeln!(out, "dry run: no copies are removed")?,
        RemovalMode::Off => writeln!(out, "off: no copies are checked or removed")?,
    }
    match view.at {
        Some(at) => {
            let took = view.took_us.map(|us| format!(", took {:.1} ms", us as f64 / 1000.0));
            let at = out.clock(at);
            writeln!(out, "last check of all copies {at}{}", took.unwrap_or_default())?;
        }
        None => writeln!(out, "this node has not checked the copies yet")?,
    }
    if let Some(ExchangeBudget { bytes, left }) = view.exchange_budget {
        let (left, bytes) = (ByteSize::b(left), ByteSize::b(bytes));
        writeln!(out, "exchanges may remove {left} of {bytes} in 24 hours")?;
    }
    match view.waits {
        None => {}
        Some(RemoverWaits::Ranking) => {
            writeln!(out, "no removals yet: the ranking was not read")?;
        }
        Some(RemoverWaits::Masters) => {
            writeln!(out, "no removals yet: the source directories were not listed")?;
        }
        Some(RemoverWaits::Inputs) => {
            writeln!(
                out,
                "no removals: the inputs of the leader are worse than those on record, see reelyard status"
            )?;
        }
    }
    Ok(())
}

/// Prints planned removals with the remaining copy and the reason.
pub(in crate::cli) fn print_copies(
    copies: &[RemovalView],
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let mut table = ListTable::new([
        ListColumn::name("FILE"),
        ListColumn::left("ON"),
        ListColumn::right("SIZE").leaves(1),
        ListColumn::left("KEPT ON"),
        ListColumn::reason("WHY"),
    ]);
    for copy in copies {
        let why = match copy.spared {
            Some(spared) => format!("kept after all: {}", spared.words()),
            None => copy.why.clone(),
        };
        table.row([
            cell::name(&copy.name),
            text(copy.host),
            maybe(copy.size, ListCell::Bytes),
            maybe(copy.keeper, text),
            text(why),
        ]);
    }
    Ok(out.table(&table)?)
}

fn print_reliefs(view: &RemovalsView, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let line = |(host, relief): (&HostAddr, &Relief)| {
        let Relief { used, limit, low_water, .. } = relief;
        let short =
            if relief.falls_short { "; removing all removable copies is not enough" } else { "" };
        format!("{host} is over its limit: {used} of {limit} bytes, target {low_water}{short}")
    };
    Ok(view.reliefs.iter().try_for_each(|relief| writeln!(out, "{}", line(relief)))?)
}

fn print_rooms(view: &RemovalsView, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if view.rooms.is_empty() {
        return Ok(());
    }
    writeln!(out, "wanted files that fit nowhere:")?;
    let mut table = ListTable::new([
        ListColumn::name("FILE"),
        ListColumn::right("SIZE"),
        ListColumn::right("HITS"),
        ListColumn::reason("ACTION"),
    ]);
    for room in &view.rooms {
        let size = ListCell::Bytes(room.size);
        table.row([cell::name(&room.name), size, count(room.hits), text(&room.why)]);
    }
    out.table(&table)?;
    Ok(out.left_out(view.rooms.len(), view.rooms_total)?)
}

fn print_spared(view: &RemovalsView, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if view.spared.is_empty() {
        return Ok(());
    }
    let mut table = ListTable::new([ListColumn::left("KEPT BECAUSE"), ListColumn::right("COPIES")]);
    for (why, copies) in &view.spared {
        table.row([text(why.words()), count(*copies)]);
    }
    Ok(out.table(&table)?)
}
