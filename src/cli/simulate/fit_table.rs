//! The table of a fitted demand.

use std::io::{self, Write};
use std::time::Duration;

use reelyard_core::counted::counted;
use reelyard_core::durations::in_words;
use reelyard_simulate::fitting::{DemandFit, Estimate};
use reelyard_simulate::options::{DAYS, SyntheticOptions};

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
    estimate("titles", Some(fit.titles), &|titles| format!("{titles:.0}"));
    estimate("new titles a day", fit.new_titles_per_day, &|titles| format!("{titles:.0}"));
    estimate("drift a day (--drift)", fit.drift, &percent);
    add("requests a day", format!("{:.0}", fit.requests_per_day), String::new());
    let rises = fit.rises_per_day.map_or_else(|| "-".to_owned(), |rises| format!("{rises:.1}"));
    add("sudden demands a day", rises, String::new());
    table
}

/// The command that simulates the fitted demand. The fitted titles exist at its start.
fn command(fit: &DemandFit) -> String {
    let SyntheticOptions { files, requests_per_day, zipf, drift, .. } = fit.options();
    let SyntheticOptions { new_titles_per_day, rises_per_day, .. } = fit.options();
    let mut command = format!("reelyard simulate --days {DAYS} --zipf {zipf:.3} --files {files}");
    if let Some(requests) = requests_per_day {
        command += &format!(" --requests-per-day {requests}");
    }
    if let Some(titles) = new_titles_per_day {
        command += &format!(" --new-titles-per-day {titles}");
    }
    command += &format!(" --drift {drift:.4}");
    if let Some(rises) = rises_per_day {
        command += &format!(" --rises-per-day {rises}");
    }
    command
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use reelyard_simulate::options::DemandOptions;

    use super::super::SimulateArgs;
    use super::*;

    #[derive(Debug, Parser)]
    struct PrintedCommand {
        #[command(flatten)]
        args: SimulateArgs,
    }

    #[test]
    fn the_printed_command_has_the_fitted_options() {
        let estimate = |value| Estimate { value, low: value, high: None };
        let mut fit = DemandFit {
            requests: 60_000,
            files: 5_000,
            seconds: 432_000,
            days: 5,
            requests_per_day: 12_000.0,
            power: estimate(0.8),
            titles: estimate(6_000.0),
            new_titles_per_day: Some(estimate(40.0)),
            drift: Some(estimate(0.05)),
            rises_per_day: Some(2.0),
            dispersion: 1.0,
            warnings: Vec::new(),
        };
        for new_titles in [Some(estimate(40.0)), None] {
            fit.new_titles_per_day = new_titles;
            let words = command(&fit);
            let parsed = PrintedCommand::try_parse_from(words.split(' ').skip(1)).unwrap();
            let (_, options) = parsed.args.taken_apart();
            let DemandOptions::Synthetic(demand) = options.demand else { panic!("{words}") };
            assert_eq!((options.days, &demand), (Some(DAYS), &fit.options()), "{words}");
            assert_eq!(demand.files_at_start(DAYS), 6_000);
        }
    }
}
