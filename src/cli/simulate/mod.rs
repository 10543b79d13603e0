//! `reelyard simulate`.

mod comparison;
mod fit_table;
mod progress;
mod report_tables;

use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytesize::ByteSize;
use clap::Args;
use reelyard_core::host::BitsPerSecond;
use reelyard_core::settings::SettingValue;
use reelyard_core::settings::toml::Value;
use reelyard_simulate::fitting::fit_demand;
use reelyard_simulate::options::{
    DESTINATIONS_PER_RISE, DRIFT, DemandOptions, FILES_PER_NEW_TITLE, REQUESTS_PER_FILE,
    RecordedOptions, SimulationOptions, SyntheticOptions, YardOptions, ZIPF,
};
use reelyard_simulate::results::plots;
use reelyard_simulate::{ComparedReport, Rules, SimulationReport, simulate};
use reelyard_yard::settings::popularity::PopularityMode;

use crate::cli::output::OutputArgs;
use crate::cli::support::failure::CommandFailure;
use crate::cli::support::layers::LayerArgs;
use crate::config::{self, size_argument};
use crate::node::simulation_rules;
use progress::SimulationBar;

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
  reelyard simulate --days 60 --compare off,on --plots plots
  reelyard simulate --fit 'EventLog[20180603].log' 'EventLog[20180604].log'
  reelyard simulate --destinations 2000 --files 2000000 -o json > week.json";

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
    /// Disk size of each destination [default: room for 20 % of the catalog in total].
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
    /// Number of files, with those that are released during the simulation. The default is a fifth of the titles that
    /// fit a real log.
    #[arg(long, default_value_t = 20_000, conflicts_with = "event_log")]
    files: u32,
    /// Mean size of files with an unknown size.
    #[arg(long, value_name = "SIZE", default_value = "2900MiB", value_parser = size_argument)]
    size: ByteSize,
    /// Number of days [default: 14, or the length of the logs]. Shorter logs are repeated.
    #[arg(long)]
    days: Option<u32>,
    #[arg(long, conflicts_with = "event_log", 
          help = format!("Requests per day [default: {} per 100 files]", 100.0 * REQUESTS_PER_FILE))]
    requests_per_day: Option<u64>,
    /// Exponent of the Zipf distribution of popularity.
    #[arg(long, default_value_t = ZIPF, conflicts_with = "event_log")]
    zipf: f64,
    /// Part of the files that change their popularity in a day.
    #[arg(long, value_name = "SHARE", default_value_t = DRIFT, value_parser = share,
          conflicts_with = "event_log")]
    drift: f64,
    #[arg(long, conflicts_with = "event_log",
          help = format!("New titles per day [default: one per {FILES_PER_NEW_TITLE} files]"))]
    new_titles_per_day: Option<u32>,
    #[arg(long, conflicts_with = "event_log",
          help = format!("Cold files per day with sudden demand [default: one per {DESTINATIONS_PER_RISE} destinations]"))]
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
    /// Estimate power, titles and turnover from these load-balancer logs, and simulate nothing.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["event_log", "compare", "plots"])]
    fit: Vec<PathBuf>,
    /// Compare these values of popularity.mode on the same demand, in one table: "off,on".
    #[arg(long, value_name = "MODE", value_delimiter = ',', value_parser = popularity_mode)]
    compare: Vec<PopularityMode>,
    #[command(flatten)]
    output: OutputArgs,
    /// Write SVG plots of hit ratio, copies, removals, disks and times to serve into this
    /// directory.
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
}

/// Runs the simulations and prints their report.
pub fn run(args: SimulateArgs, out: &mut dyn Write) -> Result<(), CommandFailure> {
    let out = &mut args.output.printer(out);
    out.refuse_csv()?;
    if !args.fit.is_empty() {
        let fit = fit_demand(args.fit, args.seed)?;
        match out.is_json() {
            true => out.json(&fit)?,
            false => fit_table::print(&fit, out)?,
        }
        return Ok(());
    }
    let (plots_dir, modes) = (args.plots.clone(), args.compare.clone());
    let (layers, options) = args.taken_apart();
    let rules = simulation_rules(&config::load_node(&layers.layers())?);
    options.check().map_err(|bad| CommandFailure::Usage(bad.to_string()))?;
    let began = Instant::now();
    let drawn = if modes.is_empty() {
        let report = simulated(&options, rules, "simulated")?;
        match out.is_json() {
            true => out.json(&report)?,
            false => report_tables::print(&report, out)?,
        }
        plots_dir.map(|dir| plots::write(&report, &dir))
    } else {
        let mut reports = Vec::new();
        for mode in modes {
            let rules = Rules { popularity: mode, ..rules.clone() };
            let report = simulated(&options, rules, comparison::mode_word(mode))?;
            reports.push(ComparedReport { mode, report });
        }
        match out.is_json() {
            true => out.json(&reports)?,
            false => comparison::print(&reports, out)?,
        }
        plots_dir.map(|dir| plots::write_comparison(&reports, &dir))
    };
    // On stderr, because the report must be the same each time.
    let took = Duration::from_millis(began.elapsed().as_millis() as u64);
    eprintln!("simulated in {}", humantime::format_duration(took));
    for path in drawn.transpose()?.into_iter().flatten() {
        eprintln!("drawn: {}", path.display());
    }
    Ok(())
}

fn simulated(
    options: &SimulationOptions,
    rules: Rules,
    what: &str,
) -> anyhow::Result<SimulationReport> {
    let bar = SimulationBar::new(what.to_owned());
    let report = simulate(options, rules, &mut |progress| bar.show(progress));
    bar.end();
    report
}

fn popularity_mode(text: &str) -> Result<PopularityMode, String> {
    PopularityMode::from_toml(&Value::String(text.to_owned()))
        .map_err(|_| format!("expected off, shadow or on, not \"{text}\""))
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
