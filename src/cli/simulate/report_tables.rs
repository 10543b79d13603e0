//! The tables of one report.

use std::io::{self, Write};
use std::time::Duration;

use bytesize::ByteSize;
use reelyard_core::counted::counted;
use reelyard_simulate::{
    Amount, DiskFill, Effect, Reference, References, Setting, SimulationReport, Tally,
};

use crate::cli::output::cell::{count, maybe, text};
use crate::cli::output::{ListCell, ListColumn, ListTable, Printer};

/// Prints a report as two tables.
pub fn print(report: &SimulationReport, out: &mut Printer<'_>) -> io::Result<()> {
    setting_line(&report.setting, out)?;
    writeln!(out)?;
    out.table(&days_table(report))?;
    writeln!(out)?;
    out.table(&figures(report))
}

/// Prints the yard and the demand in one line.
pub fn setting_line(setting: &Setting, out: &mut Printer<'_>) -> io::Result<()> {
    let days = setting.seconds as f64 / 86_400.0;
    writeln!(
        out,
        "{} of {}, {}, {} of {} in all, {}, seed {}",
        counted(setting.destinations, "destination", "destinations"),
        ByteSize::b(setting.disk),
        counted(setting.sources, "source", "sources"),
        counted(setting.files, "file", "files"),
        ByteSize::b(setting.bytes),
        counted((days * 100.0).round() / 100.0, "day", "days"),
        setting.seed
    )
}

fn days_table(report: &SimulationReport) -> ListTable {
    let header =
        ["DAY", "REQUESTS", "HIT RATIO", "7 DAYS KNOWN", "COPIED", "BYTES", "REMOVED", "BYTES"];
    let mut table = ListTable::new(header.map(ListColumn::right));
    let mut add = |name: ListCell, tally: &Tally, known: Option<f64>| {
        table.row([
            name,
            count(tally.requests),
            percent_or_dash(tally.hit_ratio()),
            percent_or_dash(known),
            count(tally.copied.files),
            ListCell::Bytes(tally.copied.bytes),
            count(tally.removed.files),
            ListCell::Bytes(tally.removed.bytes),
        ]);
    };
    let bound = &report.references.next_7_days;
    for ((day, known), number) in report.days.iter().zip(&bound.days).zip(1..) {
        add(text(number), &day.tally, known.hit_ratio());
    }
    add(text("all"), &report.all, bound.hit_ratio);
    table
}

fn figures(report: &SimulationReport) -> ListTable {
    let mut table = ListTable::new([ListColumn::left("WHAT"), ListColumn::left("FIGURE")]);
    let mut add = |what: &str, figure: String| {
        table.row([text(what), text(figure)]);
    };
    let SimulationReport { copies, churn, hot, rounds, .. } = report;
    for (what, figure) in effect_rows(report) {
        add(what, figure);
    }
    for (what, reference) in references(report) {
        add(what, reference_text(reference));
    }
    add("copies of hot files", amount(&copies.hot));
    add("copies that failed", copies.failed.to_string());
    add("sources busy", percent(copies.sources_busy));
    for (reason, removed) in &report.removals {
        add(&format!("removed: {}", reason.replace('_', " ")), amount(removed));
    }
    if report.only_decided > 0 {
        add("a dry run would have removed", report.only_decided.to_string());
    }
    add("removed and copied again within a day", amount(&churn.within_a_day));
    add("removed and copied again at any time", amount(&churn.in_all));
    add("removed to make room more than once", counted(churn.twice_for_room, "file", "files"));
    add(
        "hot files served",
        format!("{} of {}", hot.served, hot.served + hot.unserved + hot.waiting),
    );
    add("… half of them within", seconds(hot.median_s));
    add("… 95% of them within", seconds(hot.p95_s));
    add("… all of them within", seconds(hot.most_s));
    add("disks at the start", fill(&report.fill_at_start));
    add("disks at the end", fill(&report.fill_at_end));
    add("files lost", report.lost.to_string());
    add("planning rounds", rounds.planning.to_string());
    for (waits, times) in &rounds.waited_for {
        add(
            &format!("… the planner then waited for {}", waits.replace('_', " ")),
            times.to_string(),
        );
    }
    for (skip, files) in &rounds.skipped_in_the_last {
        add(&format!("skipped in the last round: {skip}"), counted(files, "file", "files"));
    }
    add("removal rounds", rounds.removing.to_string());
    table
}

/// The effect of the copies, by name.
pub fn effect_rows(report: &SimulationReport) -> [(&'static str, String); 4] {
    let Effect { copied_a_day, extra_hits, copied_per_extra_hit, copied_again_within_a_day } =
        report.effect;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let size = |bytes: u64| ByteSize::b(bytes).to_string();
    [
        ("copied a day, from day 2 on", or_dash(copied_a_day.map(size))),
        ("hits beyond those of the copies at the start", extra_hits.to_string()),
        ("… copied for each of them", or_dash(copied_per_extra_hit.map(size))),
        (
            "copies of files removed within a day before",
            or_dash(copied_again_within_a_day.map(percent)),
        ),
    ]
}

/// Other placements of the same files, by name.
pub fn references(report: &SimulationReport) -> [(&'static str, &Reference); 4] {
    let References { start, yesterday, next_day, next_7_days } = &report.references;
    [
        ("for comparison: the copies at the start", start),
        ("for comparison: yesterday's requests to the letter", yesterday),
        ("for comparison: the next 7 days known", next_7_days),
        ("for comparison: the next day known", next_day),
    ]
}

/// The hits of a placement, and its copies a day.
pub fn reference_text(reference: &Reference) -> String {
    let hits = reference.hit_ratio.map_or_else(|| "-".to_owned(), percent);
    match reference.copied_a_day {
        Some(bytes) => format!("{hits} hits, {} a day", ByteSize::b(bytes)),
        None => format!("{hits} hits"),
    }
}

fn amount(amount: &Amount) -> String {
    format!("{}, {}", counted(amount.files, "file", "files"), ByteSize::b(amount.bytes))
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// A share in percent, or a dash.
pub fn percent_or_dash(share: Option<f64>) -> ListCell {
    maybe(share, |share| text(percent(share)))
}

fn seconds(seconds: Option<f64>) -> String {
    let shown = |seconds| humantime::format_duration(Duration::from_secs_f64(seconds)).to_string();
    seconds.map_or_else(|| "-".to_owned(), |seconds: f64| shown(seconds.round()))
}

fn fill(fill: &DiskFill) -> String {
    let over = match fill.over_limit {
        0 => String::new(),
        over => format!(", {over} over the limit"),
    };
    format!("{:.1}% full ({:.1}% to {:.1}%){over}", fill.mean, fill.least, fill.most)
}
