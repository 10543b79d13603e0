//! `reelyard simulate`.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use clap::Args;
use comfy_table::{Cell, Table};
use reelyard_core::counted::counted;
use reelyard_core::host::BitsPerSecond;
use reelyard_simulate::options::{
    DemandOptions, RecordedOptions, SimulationOptions, SyntheticOptions, YardOptions,
};
use reelyard_simulate::{Amount, DiskFill, SimulationReport};

use crate::cli::support::failure::CommandFailure;
use crate::cli::support::layers::LayerArgs;
use crate::cli::support::output::{self, number, size};
use crate::config::{self, size_argument};
use crate::node::simulation_rules;

pub const AFTER_HELP: &str = "\
The simulation runs the rules of a node with these settings: task.*, storage.*, remover.*, copies.*,
popularity.*, ignore.prefixes, bandwidth.*, catalog.ungraded_hot, event_log.window and
event_log.hit_base. The options above define the hosts, not the configuration. Hosts and masters answer at once. A copy runs at
the rate of its source, or at the lower limit of task.copy_speed and bandwidth.* at its start. No host
is ever down, and other network load is not simulated; placement.* has no effect.

Without --event-log the demand has quiet nights and busy evenings. Popularity follows --zipf and drifts.
New titles arrive every day, and some cold files get sudden demand. The ranking is computed every day
from the requests.

Examples:
  reelyard simulate
  reelyard simulate --config node.toml --set storage.limit_percent=80 --start-fill 88
  reelyard simulate --event-log 'EventLog[20180603].log' --days 3 --destinations 8 --sources 2
  reelyard simulate --set popularity.mode=off
  reelyard simulate --destinations 2000 --files 2000000 --json > week.json";

/// Options of the simulation.
#[derive(Debug, Args)]
pub struct SimulateArgs {
    #[command(flatten)]
    layers: LayerArgs,
    /// Number of destinations.
    #[arg(long, default_value_t = 20)]
    destinations: u32,
    /// Number of sources [default: one per ten destinations].
    #[arg(long)]
    sources: Option<u32>,
    /// Disk size of each destination [default: room for 60 % of the catalog in total].
    #[arg(long, value_name = "SIZE", value_parser = size_argument)]
    disk: Option<ByteSize>,
    /// Fill level of the disks at the start, in percent, best files first [default:
    /// storage.low_water_percent].
    #[arg(long, value_name = "PERCENT")]
    start_fill: Option<u32>,
    /// Rate that one source sends in total, in Mbit/s.
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u64).range(1..))]
    megabits: u64,
    /// Part of the copies that fail: "1%" or "0.01".
    #[arg(long, value_name = "SHARE", default_value = "0", value_parser = share)]
    failures: f64,
    /// Number of files.
    #[arg(long, default_value_t = 20_000, conflicts_with = "event_log")]
    files: u32,
    /// Mean size of files with an unknown size.
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = size_argument)]
    size: ByteSize,
    /// Number of days [default: 7, or the length of the logs]. Shorter logs are repeated.
    #[arg(long)]
    days: Option<u32>,
    /// Requests per day [default: 2000 per destination].
    #[arg(long, conflicts_with = "event_log")]
    requests_per_day: Option<u64>,
    /// Exponent of the Zipf distribution of popularity.
    #[arg(long, default_value_t = 0.9, conflicts_with = "event_log")]
    zipf: f64,
    /// Part of the files that change their popularity in a day.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share,
          conflicts_with = "event_log")]
    drift: f64,
    /// New titles per day [default: one per 2000 files].
    #[arg(long, conflicts_with = "event_log")]
    new_titles_per_day: Option<u32>,
    /// Cold files per day with sudden demand [default: one per 4 destinations].
    #[arg(long, conflicts_with = "event_log")]
    rises_per_day: Option<u32>,
    /// Load-balancer log that is used as the demand. Repeatable.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    event_log: Vec<PathBuf>,
    /// Ranking of the first day [default: the ranking of the logs].
    #[arg(long, value_name = "FILE", requires = "event_log")]
    grade_info: Option<PathBuf>,
    /// hitcount.history with the sizes of the files.
    #[arg(long, value_name = "FILE", requires = "grade_info")]
    hitcount_history: Option<PathBuf>,
    /// Seed of the random numbers. The same seed gives the same report.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Time that changes are collected before a planning round [default: 1s to 10s, by the size of
    /// the yard].
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    gather: Option<Duration>,
    /// Print JSON with every hour.
    #[arg(long)]
    json: bool,
    /// Write SVG plots of hit ratio, copies, removals, disks and times to serve into this
    /// directory.
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Runs the simulation and prints its report.
pub fn run(args: SimulateArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let (json, plots) = (args.json, args.plots.clone());
    let (layers, options) = args.taken_apart();
    let rules = simulation_rules(&config::load_node(&layers.layers())?);
    options.check().map_err(|bad| CommandFailure::Usage(bad.to_string()))?;
    let began = Instant::now();
    let report = reelyard_simulate::simulate(&options, rules)?;
    let took = Duration::from_millis(began.elapsed().as_millis() as u64);
    // On stderr, because the report must be the same each time.
    eprintln!("simulated in {}", humantime::format_duration(took));
    match json {
        true => output::json(&report, out)?,
        false => print(&report, out)?,
    }
    for path in plots.iter().map(|dir| reelyard_simulate::results::plots::write(&report, dir)) {
        for path in path? {
            eprintln!("drawn: {}", path.display());
        }
    }
    Ok(())
}

impl SimulateArgs {
    fn taken_apart(self) -> (LayerArgs, SimulationOptions) {
        let demand = if self.event_log.is_empty() {
            DemandOptions::Synthetic(SyntheticOptions {
                files: self.files,
                requests_per_day: self.requests_per_day,
                zipf: self.zipf,
                drift: self.drift,
                new_titles_per_day: self.new_titles_per_day,
                rises_per_day: self.rises_per_day,
            })
        } else {
            DemandOptions::Recorded(RecordedOptions {
                event_logs: self.event_log,
                grade_info: self.grade_info,
                hitcount_history: self.hitcount_history,
            })
        };
        let yard = YardOptions {
            destinations: self.destinations,
            sources: self.sources,
            disk: self.disk.map(|disk| disk.as_u64()),
            source_rate: BitsPerSecond(self.megabits.saturating_mul(1_000_000)),
            start_fill: self.start_fill,
            failures: self.failures,
        };
        let (seed, days, gather) = (self.seed, self.days, self.gather);
        let mean_size = self.size.as_u64();
        (self.layers, SimulationOptions { seed, yard, demand, days, mean_size, gather })
    }
}

/// Parses a fraction: "1%" or "0.01".
fn share(text: &str) -> Result<f64, String> {
    let wanted = || format!("expected a share such as 5% or 0.05, not \"{text}\"");
    let (digits, whole) = text.strip_suffix('%').map_or((text, 1.0), |percent| (percent, 100.0));
    let number: f64 = digits.trim().parse().map_err(|_| wanted())?;
    let share = number / whole;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(wanted()) }
}

fn print(report: &SimulationReport, out: &mut dyn Write) -> io::Result<()> {
    let setting = &report.setting;
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
    )?;
    writeln!(out)?;
    output::print(&days_table(report), out)?;
    writeln!(out)?;
    output::print(&figures(report), out)
}

fn days_table(report: &SimulationReport) -> Table {
    let header = ["DAY", "REQUESTS", "HIT RATIO", "COPIED", "BYTES", "REMOVED", "BYTES"];
    let mut table = output::table(&header);
    let mut add = |name: Cell, tally: &reelyard_simulate::Tally| {
        table.add_row([
            name,
            number(tally.requests),
            percent_or_dash(tally.hit_ratio()),
            number(tally.copied.files),
            size(tally.copied.bytes),
            number(tally.removed.files),
            size(tally.removed.bytes),
        ]);
    };
    for (day, number) in report.days.iter().zip(1..) {
        add(Cell::new(number), &day.tally);
    }
    add(Cell::new("all"), &report.all);
    table
}

fn figures(report: &SimulationReport) -> Table {
    let mut table = output::table(&["WHAT", "FIGURE"]);
    let mut add = |what: &str, figure: String| {
        table.add_row([Cell::new(what), Cell::new(figure)]);
    };
    let SimulationReport { copies, churn, hot, rounds, .. } = report;
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

fn amount(amount: &Amount) -> String {
    format!("{}, {}", counted(amount.files, "file", "files"), ByteSize::b(amount.bytes))
}

fn percent(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

fn percent_or_dash(share: Option<f64>) -> Cell {
    output::maybe(share, |share| number(percent(share)))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_or_a_number() {
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.25"), Ok(0.25));
        for bad in ["", "%", "101%", "-1%", "2", "x", "nan"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }
}
