//! Placement by remembered demand over weeks, with the demands of three yards.

use anyhow::{Context, Result};
use reelyard::config::{Layers, load_node};
use reelyard::node::simulation_rules;
use reelyard_core::host::BitsPerSecond;
use reelyard_simulate::options::{DemandOptions, SimulationOptions, SyntheticOptions, YardOptions};
use reelyard_simulate::{Day, SimulationReport, simulate};

use crate::figure::{BenchFigure, FigureTarget};

const TIB: f64 = (1_u64 << 40) as f64;

/// Mean size of a file.
const MEAN_SIZE: u64 = 2900 << 20;

/// The days of a simulation. The second half counts.
const DAYS: u32 = 60;

/// The seed and the drift of each long run, and its goals: hits in percent, TiB copied a day.
const LARGE: [(u64, f64, f64, f64); 6] = [
    (1, 0.01, 57.0, 1.5),
    (2, 0.01, 57.0, 1.5),
    (3, 0.01, 57.0, 1.5),
    (1, 0.05, 53.0, 2.5),
    (2, 0.05, 53.0, 2.5),
    (3, 0.05, 53.0, 2.5),
];

/// A yard of 50 destinations with room for a fifth of 100,000 files.
fn large(seed: u64, drift: f64) -> SimulationOptions {
    let demand = SyntheticOptions {
        files: 100_000,
        requests_per_day: Some(165_000),
        zipf: 0.7,
        drift,
        new_titles_per_day: Some(140),
        rises_per_day: None,
    };
    SimulationOptions { seed, ..options(50, Some(1160 << 30), demand) }
}

/// A yard with room for a twentieth of 20,000 files, of which a twentieth is new each week.
fn concentrated() -> SimulationOptions {
    const FILES: u32 = 20_000;
    let demand = SyntheticOptions {
        files: FILES,
        requests_per_day: Some(165_000),
        zipf: 0.8,
        drift: 0.01,
        new_titles_per_day: Some(FILES / 20 / 7),
        rises_per_day: None,
    };
    // Up to the low-water mark.
    options(10, Some(315 << 30), demand)
}

fn options(destinations: u32, disk: Option<u64>, demand: SyntheticOptions) -> SimulationOptions {
    SimulationOptions {
        seed: 1,
        yard: YardOptions {
            destinations,
            sources: Some(10),
            disk,
            source_rate: BitsPerSecond(400_000_000),
            start_fill: None,
            failures: 0.0,
        },
        demand: DemandOptions::Synthetic(demand),
        days: Some(DAYS),
        mean_size: MEAN_SIZE,
        gather: None,
    }
}

/// Measures hits and copied bytes.
pub fn measure() -> Result<Vec<BenchFigure>> {
    let mut figures = Vec::new();
    for (seed, drift, hits, copied) in LARGE {
        let report = run(&large(seed, drift))?;
        let title = format!(
            "100000 files, disks for 20 %, drift {:.0} %, seed {seed}: hits of days 31 to 60",
            drift * 100.0
        );
        let late = days(&report, 30, 60)?;
        figures.push(BenchFigure::new(title, percent(late), "%", FigureTarget::AtLeast(hits)));
        let change = percent(days(&report, 53, 60)?) - percent(days(&report, 14, 21)?);
        let title = "… the last week less the third week, in points";
        // With more drift, the yard knows less of the demand of each week.
        let wanted = if drift < 0.02 { FigureTarget::AtLeast(-1.0) } else { FigureTarget::Nothing };
        figures.push(BenchFigure::new(title, change, "%", wanted));
        let bytes: u64 = late.iter().map(|day| day.tally.copied.bytes).sum();
        let a_day = bytes as f64 / TIB / late.len() as f64;
        figures.push(BenchFigure::new(
            "… copied a day",
            a_day,
            "TiB",
            FigureTarget::AtMost(copied),
        ));
        let again = report.effect.copied_again_within_a_day.unwrap_or(0.0) * 100.0;
        let title = "… copies of files that were removed within a day before";
        figures.push(BenchFigure::new(title, again, "%", FigureTarget::AtMost(5.0)));
    }
    let report = run(&concentrated())?;
    let title = "20000 files, disks for 5 %, 5 % new each week: hits";
    let known = &report.references.next_day;
    let daily = &report.references.yesterday;
    let hits = report.all.hits as f64;
    figures.push(
        BenchFigure::new(title, hits, "", FigureTarget::Nothing)
            .beside("the next day known in advance", known.hits as f64),
    );
    let copied = report.effect.copied_a_day.context("the copies of the yard")? as f64 / TIB;
    let daily_copied = daily.copied_a_day.context("the copies of a daily ranking")? as f64 / TIB;
    let known_week = report.references.next_7_days.copied_a_day.context("the copies of a week")?;
    figures.push(
        BenchFigure::new("… copied a day", copied, "TiB", FigureTarget::Nothing)
            .beside("the ranking of each day, copied whole", daily_copied)
            .beside("the next 7 days known in advance", known_week as f64 / TIB),
    );
    Ok(figures)
}

fn run(options: &SimulationOptions) -> Result<SimulationReport> {
    simulate(options, simulation_rules(&load_node(&Layers::default())?), &mut |_| {})
}

fn days(report: &SimulationReport, from: usize, to: usize) -> Result<&[Day]> {
    report.days.get(from..to).context("the days of the simulation")
}

/// Hits in percent of the requests.
fn percent(days: &[Day]) -> f64 {
    let requests: u64 = days.iter().map(|day| day.tally.requests).sum();
    let hits: u64 = days.iter().map(|day| day.tally.hits).sum();
    hits as f64 / requests as f64 * 100.0
}
