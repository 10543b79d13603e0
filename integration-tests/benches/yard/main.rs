//! Reelyard's performance in comparison with well-known programs on the same machine in the same run.
//! `integration-tests/bench` builds and runs it.
//!
//! Each subject runs in its own process, so that the process has its own memory, and prints its figures as
//! lines of JSON. The first process collects them in a table.
#![allow(clippy::print_stdout, reason = "the table is what it is for")]

mod figure;
mod guide_table;
mod peers;
mod subjects;
mod usage;

use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail, ensure};

use figure::BenchFigure;
use subjects::boxes::{box_actor, box_cluster, boxes_http};
use subjects::node::{access, audit, cluster_speed, console, journal, whole_node};
use subjects::shares::{share_links, share_reclaim, share_table};
use subjects::yard::{caches, catalog, event_log, host_count, placement, planner, transfers};

/// The same allocator as in the program.
#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Measures one subject in this process.
type BenchSubject = fn() -> Result<Vec<BenchFigure>>;

/// The subjects in the order of the table. The node is the last one, because it removes a million files.
/// Afterwards a file system without a journal creates new files slowly for minutes.
const SUBJECTS: [(&str, BenchSubject); 21] = [
    ("catalog", catalog::measure),
    ("event-log", event_log::measure),
    ("planner", planner::measure),
    ("caches", caches::measure),
    ("placement", placement::measure),
    ("hosts", host_count::measure),
    ("journal", journal::measure),
    ("shares", share_table::measure),
    ("share-reclaim", share_reclaim::measure),
    ("share-links", share_links::measure),
    ("access", access::measure),
    ("boxes", box_actor::measure),
    ("boxes-http", boxes_http::measure),
    ("boxes-cluster", box_cluster::measure),
    ("cluster", cluster_speed::measure),
    ("audit", audit::measure),
    ("one-file", transfers::measure_one_file),
    ("one-file-tls", transfers::measure_one_file_with_tls),
    ("many-files", transfers::measure_many_files),
    ("console", console::measure),
    ("node", whole_node::measure),
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("integration-tests/bench: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    match arguments.as_slice() {
        [flag, subject] if flag == "--measure" => return measure_here(subject),
        [flag, dir] if flag == "--write-catalog" => return catalog::write_inputs(dir.as_ref()),
        _ => {}
    }
    let to_guide = arguments.iter().any(|argument| argument == "--guide");
    let chosen: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|argument| *argument != "--guide").collect();
    if let Some(unknown) = chosen.iter().find(|name| find(name).is_none()) {
        let known = SUBJECTS.map(|(name, _)| name).join(", ");
        bail!("there is no subject {unknown:?}; there are: {known}");
    }
    ensure!(!to_guide || chosen.is_empty(), "--guide wants every subject");
    let (mut figures, mut failures) = (Vec::new(), Vec::new());
    for (name, _) in SUBJECTS {
        if chosen.is_empty() || chosen.contains(&name) {
            eprintln!("measuring: {name}");
            // The figures of the other subjects took long, and stay.
            match measure_apart(name) {
                Ok(measured) => figures.extend(measured),
                Err(error) => failures.push(format!("{error:#}")),
            }
        }
    }
    let table = figure::table(&figures);
    println!("{table}");
    ensure!(failures.is_empty(), "{}", failures.join("; "));
    if to_guide {
        guide_table::put(&table)?;
    }
    let missed: Vec<&str> =
        figures.iter().filter(|one| !one.is_met()).map(|one| one.what.as_str()).collect();
    ensure!(missed.is_empty(), "short of the wanted figures: {}", missed.join("; "));
    Ok(())
}

fn find(name: &str) -> Option<BenchSubject> {
    SUBJECTS.iter().find(|(subject, _)| *subject == name).map(|(_, measure)| *measure)
}

fn measure_here(name: &str) -> Result<()> {
    let measure = find(name).with_context(|| format!("there is no subject {name:?}"))?;
    for figure in measure()? {
        println!("{}", serde_json::to_string(&figure)?);
    }
    Ok(())
}

fn measure_apart(name: &str) -> Result<Vec<BenchFigure>> {
    let mut command = Command::new(std::env::current_exe()?);
    let output = command
        .args(["--measure", name])
        .stderr(Stdio::inherit())
        .output()
        .context(name.to_owned())?;
    ensure!(output.status.success(), "measuring {name} ended with {}", output.status);
    let lines = String::from_utf8(output.stdout)?;
    lines.lines().map(|line| serde_json::from_str(line).context("a figure")).collect()
}
