//! `reelyard files show FILE` and `reelyard plan --explain FILE`

use std::ffi::OsStr;
use std::io::{self, Write};

use comfy_table::Cell;
use reelyard_api::{DemandView, ExplainView};
use reelyard_core::backoff::BackOff;
use reelyard_yard::remover::CopyDecision;
use reelyard_yard::task_manager::plan::{DestinationState, LinkLoad, MasterState, SourceState};

use super::file_name::file_name;
use crate::cli::client::NodeClient;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::output::{self, maybe, name, number, plain, size};

/// Requests the explanation of `file` and prints it.
pub fn run(
    client: &NodeClient,
    file: &OsStr,
    percent_encoded: bool,
    json: bool,
    out: &mut dyn Write,
) -> Result<(), CommandFailure> {
    let file = file_name(file, percent_encoded)
        .map_err(|bad| CommandFailure::Usage(format!("{}: {bad}", file.to_string_lossy())))?;
    let view: ExplainView = client.get_file(&file, "explain")?;
    if json {
        return Ok(output::json(&view, out)?);
    }
    writeln!(out, "{}: {}", name(&view.name), plain(&view.why))?;
    print_figures(&view, out)?;
    print_copies(&view.copies, out)?;
    print_sources(&view.explanation.sources, out)?;
    Ok(print_destinations(&view.explanation.destinations, out)?)
}

fn print_figures(view: &ExplainView, out: &mut dyn Write) -> io::Result<()> {
    let explanation = &view.explanation;
    let list = |items: Vec<String>| Some(items.join(" ")).filter(|items| !items.is_empty());
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
    let lines = [
        ("rank", Some(rank)),
        ("demand", view.demand.as_ref().map(demand)),
        ("room", view.demand.as_ref().and_then(|demand| demand.room.as_deref()).map(plain)),
        ("hits", Some(explanation.hits.to_string())),
        ("master", Some(master)),
        ("before it", explanation.ahead.map(|ahead| format!("files that need a copy: {ahead}"))),
        ("held on", list(explanation.held_on.iter().map(|held| held.host.to_string()).collect())),
        ("history", list(explanation.listed_on.iter().map(ToString::to_string).collect())),
        ("task", explanation.task.map(|task| task.to_string())),
        ("backoff", explanation.back_off.as_ref().map(back_off)),
    ];
    for (label, value) in lines {
        if let Some(value) = value {
            writeln!(out, "{label:<11}{value}")?;
        }
    }
    Ok(())
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

fn print_copies(copies: &[CopyDecision], out: &mut dyn Write) -> io::Result<()> {
    if copies.is_empty() {
        return Ok(());
    }
    let mut table = output::table(&["COPY ON", "OUTLOOK"]);
    for copy in copies {
        table.add_row([Cell::new(copy.host), Cell::new(plain(&copy.outlook.words()))]);
    }
    output::print(&table, out)
}

fn back_off(held: &BackOff) -> String {
    let (until, failures) = (held.until, held.failures);
    let after = match failures {
        0 => String::new(),
        _ => format!(" after {failures} failures"),
    };
    format!("until {until}{after}: {}", plain(&held.reason))
}

/// Index of the optional column about links.
const SOURCE_LINK_AT: usize = 3;
const DESTINATION_LINK_AT: usize = 4;

/// The used part of a link, and its mark.
fn link(link: LinkLoad) -> String {
    match link.mark_percent {
        Some(mark) => format!("{}% (mark {mark}%)", link.used_percent),
        None => format!("{}%", link.used_percent),
    }
}

fn print_sources(sources: &[SourceState], out: &mut dyn Write) -> io::Result<()> {
    let with_links = sources.iter().any(|source| source.link.is_some());
    let mut header = vec!["SOURCE", "SERVES", "FREE", "STATE", "BACKOFF"];
    if with_links {
        header.insert(SOURCE_LINK_AT, "LINK");
    }
    let mut table = output::table(&header);
    for source in sources {
        let not_with: Vec<String> = source.not_with.iter().map(ToString::to_string).collect();
        let not_with = Some(format!("not with {}", not_with.join(" ")));
        let not_with = not_with.filter(|_| !source.not_with.is_empty());
        let mut row = vec![
            Cell::new(source.host),
            number(source.serving),
            number(source.free),
            Cell::new(source.usability),
            maybe(source.back_off.as_ref().map(back_off).or(not_with), Cell::new),
        ];
        if with_links {
            row.insert(SOURCE_LINK_AT, maybe(source.link.map(link), number));
        }
        table.add_row(row);
    }
    output::print(&table, out)
}

fn print_destinations(destinations: &[DestinationState], out: &mut dyn Write) -> io::Result<()> {
    let with_links = destinations.iter().any(|destination| destination.link.is_some());
    let mut header = vec!["DESTINATION", "ROOM", "COMING", "FETCHES", "TURN", "STATE", "BACKOFF"];
    if with_links {
        header.insert(DESTINATION_LINK_AT, "LINK");
    }
    let mut table = output::table(&header);
    for destination in destinations {
        let mut row = vec![
            Cell::new(destination.host),
            maybe(destination.room, size),
            size(destination.on_its_way),
            number(destination.fetching),
            maybe(destination.turns, number),
            Cell::new(destination.usability),
            maybe(destination.back_off.as_ref().map(back_off), Cell::new),
        ];
        if with_links {
            row.insert(DESTINATION_LINK_AT, maybe(destination.link.map(link), number));
        }
        table.add_row(row);
    }
    output::print(&table, out)
}
