//! `reelyard files show FILE` and `reelyard plan --explain FILE`

use std::ffi::OsStr;
use std::io::Write;

use reelyard_api::{DemandPartsView, DemandView, ExplainView};
use reelyard_console::Moment;
use reelyard_console::format::{self, FileText};
use reelyard_core::backoff::BackOff;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::NameText;
use reelyard_yard::remover::CopyDecision;
use reelyard_yard::task_manager::{
    DestinationState, HostsLeftOut, LinkLoad, MasterState, SourceState,
};

use super::file_name::file_name;
use crate::cli::client::NodeClient;
use crate::cli::output::cell::{count, maybe, text, texts};
use crate::cli::output::{
    DetailSheet, ListCell, ListColumn, ListTable, PrintStyle, Printer, name, plain,
};
use crate::cli::support::failure::CommandFailure;

/// The page of the console with the explanation of `file`.
pub fn web_page(file: &OsStr, percent_encoded: bool) -> Result<String, CommandFailure> {
    let file = file_name(file, percent_encoded)
        .map_err(|bad| CommandFailure::Usage(format!("{}: {bad}", file.to_string_lossy())))?;
    let NameText { name, percent_encoded } = file.to_text();
    Ok(FileText { text: name, is_encoded: percent_encoded }.why_address())
}

/// Requests the explanation of `file` and prints it.
pub fn run(
    client: &NodeClient,
    file: &OsStr,
    percent_encoded: bool,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let file = file_name(file, percent_encoded)
        .map_err(|bad| CommandFailure::Usage(format!("{}: {bad}", file.to_string_lossy())))?;
    let view: ExplainView = client.get_file(&file, "explain")?;
    if out.is_json() {
        return out.json(&view);
    }
    writeln!(out, "{}: {}", name(&view.name), plain(&view.why))?;
    print_figures(&view, out)?;
    print_copies(&view.copies, out)?;
    let explanation = &view.explanation;
    print_sources(&explanation.sources, out)?;
    print_left_out(&explanation.sources_left_out, "sources", out)?;
    print_destinations(&explanation.destinations, out)?;
    print_left_out(&explanation.destinations_left_out, "destinations", out)
}

fn print_left_out(
    left_out: &[HostsLeftOut],
    role: &str,
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    for more in left_out {
        let (hosts, usability) = (format::count(more.hosts), more.usability);
        out.remark(&format!("and {hosts} more {role}, each: {usability}"))?;
    }
    Ok(())
}

fn print_figures(view: &ExplainView, out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let explanation = &view.explanation;
    let rank = match explanation.rank {
        Some(rank) => rank.to_string(),
        None => "none: not in grade.info".to_owned(),
    };
    let master = match &explanation.master {
        MasterState::NotListed => "in no source directory".to_owned(),
        MasterState::Listed => "listed, not checked yet".to_owned(),
        MasterState::Found { dir, size } => format!("{size} bytes in {}", plain(dir)),
        MasterState::Absent => "listed, but not a regular file on disk".to_owned(),
        MasterState::Unknown => "listed, but the check failed".to_owned(),
    };
    let mut sheet = DetailSheet::default();
    sheet.row("rank", text(rank));
    sheet.maybe("demand", view.demand.as_ref().map(demand), text);
    let parts = view.demand.as_ref().and_then(|demand| demand.parts.as_ref());
    sheet.maybe("score", parts.map(score), text);
    sheet.maybe("room", view.demand.as_ref().and_then(|demand| demand.room.as_deref()), text);
    sheet.row("hits", count(explanation.hits));
    sheet.row("master", text(master));
    let ahead = explanation.ahead.map(|ahead| format!("files that need a copy: {ahead}"));
    sheet.maybe("before it", ahead, text);
    let held = explanation.held_on.iter().map(|held| held.host);
    let held = held.map(|host| holder(view, host, out.style()));
    let held = held.chain(and_more(explanation.held_on_left_out));
    sheet.maybe("held on", (!explanation.held_on.is_empty()).then_some(held), texts);
    let listed = explanation.listed_on.iter().map(ToString::to_string);
    let listed = listed.chain(and_more(explanation.listed_on_left_out));
    sheet.maybe("history", (!explanation.listed_on.is_empty()).then_some(listed), texts);
    sheet.maybe("task", explanation.task, text);
    let held_back = explanation.back_off.as_ref();
    sheet.maybe("backoff", held_back.map(|held| back_off(held, out.style())), text);
    Ok(sheet.print(out)?)
}

/// The number of hosts that a list leaves out, in words.
fn and_more(hosts: u64) -> Option<String> {
    (hosts > 0).then(|| format!("and {} more", format::count(hosts)))
}

/// A host that holds the file, and since when it does not answer.
fn holder(view: &ExplainView, host: HostAddr, style: &PrintStyle) -> String {
    let Some(silent) = view.silent_on.iter().find(|silent| silent.host == host) else {
        return host.to_string();
    };
    let shown = |at: Millis| format::day_and_time(&style.viewer, Moment(at.0));
    let since = silent.silent_since.map(|at| format!(" since {}", shown(at)));
    let lost = silent.presumed_lost_at.map(|at| format!(", presumed lost at {}", shown(at)));
    format!("{host} (does not answer{}{})", since.unwrap_or_default(), lost.unwrap_or_default())
}

/// The demand in one line.
fn demand(view: &DemandView) -> String {
    let rank = match view.rank {
        Some(rank) => format!("rank {rank} of {}", view.ranked),
        None => "no rank".to_owned(),
    };
    let in_force = if view.in_force { "" } else { "; not in force" };
    format!(
        "{} expected requests a day ({} for deletion), {rank}, half-life {} d{in_force}",
        view.requests_a_day, view.kept_requests_a_day, view.half_life_days
    )
}

/// The parts of the demand in one line.
fn score(parts: &DemandPartsView) -> String {
    let per_tib = match parts.requests_a_day_per_tib {
        Some(per_tib) => format!("{per_tib} requests a day per TiB"),
        None => "size unknown".to_owned(),
    };
    format!(
        "{per_tib}: {} remembered requests in {} days, and {} a day by its rank",
        parts.remembered_requests, parts.known_days, parts.prior_requests_a_day
    )
}

fn print_copies(copies: &[CopyDecision], out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    if copies.is_empty() {
        return Ok(());
    }
    let mut table = ListTable::new([ListColumn::left("COPY ON"), ListColumn::reason("OUTLOOK")]);
    for copy in copies {
        table.row([text(copy.host), text(copy.outlook.words())]);
    }
    Ok(out.table(&table)?)
}

fn back_off(held: &BackOff, style: &PrintStyle) -> String {
    let (until, failures) = (style.clock(held.until), held.failures);
    let after = match failures {
        0 => String::new(),
        _ => format!(" after {failures} failures"),
    };
    format!("until {until}{after}: {}", plain(&held.reason))
}

/// The used part of a link, and its mark.
fn link(link: LinkLoad) -> String {
    match link.mark_percent {
        Some(mark) => format!("{}% (mark {mark}%)", link.used_percent),
        None => format!("{}%", link.used_percent),
    }
}

fn print_sources(sources: &[SourceState], out: &mut Printer<'_>) -> Result<(), CommandFailure> {
    let mut table = ListTable::new([
        ListColumn::left("SOURCE"),
        ListColumn::right("SERVES"),
        ListColumn::right("FREE"),
        ListColumn::right("LINK").leaves(1).if_known(),
        ListColumn::left("STATE"),
        ListColumn::reason("BACKOFF"),
    ]);
    for source in sources {
        let not_with = source.not_with.iter().map(ToString::to_string);
        let not_with: Vec<String> = not_with.chain(and_more(source.not_with_left_out)).collect();
        let not_with = Some(format!("not with {}", not_with.join(" ")));
        let not_with = not_with.filter(|_| !source.not_with.is_empty());
        let back_off = source.back_off.as_ref().map(|held| back_off(held, out.style()));
        table.row([
            text(source.host),
            count(source.serving),
            count(source.free),
            maybe(source.link.map(link), text),
            text(source.usability),
            maybe(back_off.or(not_with), text),
        ]);
    }
    Ok(out.table(&table)?)
}

fn print_destinations(
    destinations: &[DestinationState],
    out: &mut Printer<'_>,
) -> Result<(), CommandFailure> {
    let mut table = ListTable::new([
        ListColumn::left("DESTINATION"),
        ListColumn::right("ROOM"),
        ListColumn::right("COMING").leaves(3),
        ListColumn::right("FETCHES").leaves(2),
        ListColumn::right("LINK").leaves(1).if_known(),
        ListColumn::right("TURN").leaves(4),
        ListColumn::left("STATE"),
        ListColumn::reason("BACKOFF"),
    ]);
    for destination in destinations {
        let back_off = destination.back_off.as_ref().map(|held| back_off(held, out.style()));
        table.row([
            text(destination.host),
            maybe(destination.room, ListCell::Bytes),
            ListCell::Bytes(destination.on_its_way),
            count(destination.fetching),
            maybe(destination.link.map(link), text),
            maybe(destination.turns, text),
            text(destination.usability),
            maybe(back_off, text),
        ]);
    }
    Ok(out.table(&table)?)
}
