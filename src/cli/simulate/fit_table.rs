//! The table of a fitted demand.

use std::io::{self, Write};
use std::time::Duration;

use reelyard_core::counted::counted;
use reelyard_core::durations::in_words;
use reelyard_simulate::fitting::{DemandFit, Estimate};

use super::report_tables::percent;
use crate::cli::output::cell::text;
use crate::cli::output::{ListColumn, ListTable, Printer};

/// Prints the estimates with their intervals, the warnings, and the command that simulates them.
pub fn print(fit: &DemandFit, out: &mut Printer<'_>) -> io::Result<()> {
    writeln!(
        out,
        "{} for {} in {}",
        counted(fit.requests, "request", "requests"),
        counted(fit.files, "file", "files"),
        in_words(Duration::from_secs(fit.seconds))
    )?;
    writeln!(out)?;
    out.table(&table(fit))?;
    for warning in &fit.warnings {
        writeln!(out, "\nwarning: {warning}.")?;
    }
    writeln!(out, "\n{}", command(fit))
}

fn table(fit: &DemandFit) -> ListTable {
    let mut table = ListTable::new([
        ListColumn::left("ESTIMATE"),
        ListColumn::right("VALUE"),
        ListColumn::left("95% INTERVAL"),
    ]);
    let mut add = |what: &str, value: String, interval: String| {
        table.row([text(what), text(value), text(interval)]);
    };
    let mut estimate = |what: &str, found: Option<Estimate>, shown: &dyn Fn(f64) -> String| {
        let Some(found) = found else { return add(what, "-".to_owned(), String::new()) };
        let interval = match found.high {
            Some(high) => format!("{} to {}", shown(found.low), shown(high)),
            None => format!("at least {}", shown(found.low)),
        };
        add(what, shown(found.value), interval);
    };
    estimate("power (--zipf)", Some(fit.power), &|power| format!("{power:.3}"));
    estimate("titles (--files)", Some(fit.titles), &|titles| format!("{titles:.0}"));
    estimate("new titles a day", fit.new_titles_per_day, &|titles| format!("{titles:.0}"));
    estimate("drift a day (--drift)", fit.drift, &percent);
    add("requests a day", format!("{:.0}", fit.requests_per_day), String::new());
    let rises = fit.rises_per_day.map_or_else(|| "-".to_owned(), |rises| format!("{rises:.1}"));
    add("sudden demands a day", rises, String::new());
    table
}

/// The command that simulates the fitted demand.
fn command(fit: &DemandFit) -> String {
    let mut command = format!(
        "reelyard simulate --zipf {:.3} --files {:.0} --requests-per-day {:.0}",
        fit.power.value, fit.titles.value, fit.requests_per_day
    );
    if let Some(titles) = fit.new_titles_per_day {
        command += &format!(" --new-titles-per-day {:.0}", titles.value);
    }
    if let Some(drift) = fit.drift {
        command += &format!(" --drift {:.4}", drift.value);
    }
    if let Some(rises) = fit.rises_per_day {
        command += &format!(" --rises-per-day {rises:.0}");
    }
    command
}
