//! Options of a simulation: yard, demand and duration.

use std::path::PathBuf;
use std::time::Duration;

use reelyard_core::host::BitsPerSecond;

/// Options of a simulation. The rules come from the configuration of a node.
#[derive(Clone, Debug)]
pub struct SimulationOptions {
    /// Seed of all random numbers.
    pub seed: u64,
    /// The hosts of the simulated yard.
    pub yard: YardOptions,
    /// The requests of viewers.
    pub demand: DemandOptions,
    /// Number of days; none for the length of the recorded demand.
    pub days: Option<u32>,
    /// Mean size of files with an unknown size, in bytes.
    pub mean_size: u64,
    /// How long changes are collected before a planning round; none for a default by the size of
    /// the yard.
    pub gather: Option<Duration>,
}

/// The hosts of the yard.
#[derive(Clone, Debug)]
pub struct YardOptions {
    /// Number of destinations.
    pub destinations: u32,
    /// Number of sources; none for one per ten destinations.
    pub sources: Option<u32>,
    /// Disk size of each destination in bytes; none for disks that together hold [`HELD_PERCENT`]
    /// of the catalogue.
    pub disk: Option<u64>,
    /// Total rate of one source, shared by its copies.
    pub source_rate: BitsPerSecond,
    /// Fill level at the start in percent, best files first; none for the low-water mark.
    pub start_fill: Option<u32>,
    /// Part of the copies that fail, from 0 to 1.
    pub failures: f64,
}

/// Default part of the catalogue that all disks together hold at their low-water marks, in percent.
pub const HELD_PERCENT: u64 = 20;

/// The requests of viewers.
#[derive(Clone, Debug)]
pub enum DemandOptions {
    /// Invented requests.
    Synthetic(SyntheticOptions),
    /// Requests from load-balancer logs.
    Recorded(RecordedOptions),
}

/// Options of an invented demand.
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticOptions {
    /// Number of files, including those that are released during the simulation.
    pub files: u32,
    /// Requests per day; none for [`REQUESTS_PER_FILE`] per file.
    pub requests_per_day: Option<u64>,
    /// Exponent of the Zipf distribution of popularity.
    pub zipf: f64,
    /// Part of the files that change their popularity in a day, from 0 to 1.
    pub drift: f64,
    /// New titles per day; none for one per [`FILES_PER_NEW_TITLE`] files.
    pub new_titles_per_day: Option<u32>,
    /// Cold files per day with sudden demand; none for one per [`DESTINATIONS_PER_RISE`]
    /// destinations.
    pub rises_per_day: Option<u32>,
}

// The default demand is the one that fits the log of a real load balancer: 100,000 titles with
// 165,000 requests a day. The command simulates a fifth of these titles by default.

/// Default exponent of the Zipf distribution.
pub const ZIPF: f64 = 0.7;

/// Default number of requests per day and file.
pub const REQUESTS_PER_FILE: f64 = 1.65;

/// Default part of the files that change their popularity in a day.
pub const DRIFT: f64 = 0.01;

/// Default number of files per new title of a day.
pub const FILES_PER_NEW_TITLE: u32 = 714;

/// Default number of destinations per sudden demand of a day.
pub const DESTINATIONS_PER_RISE: u32 = 4;

/// Options of a recorded demand.
#[derive(Clone, Debug)]
pub struct RecordedOptions {
    /// Paths of the load-balancer logs.
    pub event_logs: Vec<PathBuf>,
    /// The ranking of the first day; without it, the ranking of the logs.
    pub grade_info: Option<PathBuf>,
    /// File with the sizes of the files in `grade_info`.
    pub hitcount_history: Option<PathBuf>,
}

/// Default number of days without logs.
pub const DAYS: u32 = 14;

impl SyntheticOptions {
    /// New titles per day.
    pub fn new_titles(&self) -> u32 {
        self.new_titles_per_day.unwrap_or(self.files / FILES_PER_NEW_TITLE)
    }

    /// Number of files that exist at the start of `days` days. Titles are released on each day but the first.
    pub fn files_at_start(&self, days: u32) -> u32 {
        self.files.saturating_sub(released_later(self.new_titles(), days))
    }

    /// The same options, so that `files` files exist at the start of `days` days.
    pub fn with_files_at_start(self, files: u32, days: u32) -> Self {
        let new_titles = self.new_titles();
        let files = files.saturating_add(released_later(new_titles, days));
        SyntheticOptions { files, new_titles_per_day: Some(new_titles), ..self }
    }
}

fn released_later(new_titles: u32, days: u32) -> u32 {
    new_titles.saturating_mul(days.saturating_sub(1))
}

/// Why a simulation is not possible.
#[derive(Debug, thiserror::Error)]
pub enum BadOptions {
    /// Copies need a source and a destination.
    #[error("a yard needs at least one source and one destination")]
    NoHosts,
    /// The address range has no room for them.
    #[error("a simulated yard has at most {MOST_HOSTS} sources and {MOST_HOSTS} destinations")]
    TooManyHosts,
    /// There is no file to copy.
    #[error("expected at least one file")]
    NoFiles,
    /// The simulation would need too much memory.
    #[error("a simulation has at most {MOST_FILES} files, not {0}")]
    TooManyFiles(u32),
    /// All files would be released during the simulation.
    #[error(
        "{new_titles} new titles a day are {files} files or more in {days} days. Use more files, fewer new titles \
         or fewer days"
    )]
    OnlyNewTitles {
        /// New titles per day.
        new_titles: u32,
        /// Number of files.
        files: u32,
        /// Number of days.
        days: u32,
    },
    /// The simulation would have no length.
    #[error("expected at least one day")]
    NoDays,
    /// A fraction outside 0 to 1.
    #[error("{what}: expected a number from 0 to 1, not {given}")]
    NotAShare {
        /// Name of the option.
        what: &'static str,
        /// Rejected value.
        given: f64,
    },
    /// The exponent is outside the supported range.
    #[error("the Zipf exponent of the popularity: expected a number from 0 to 3, not {0}")]
    Zipf(f64),
    /// A fill level above 100 %.
    #[error("a disk is at most 100% full at the start, not {0}%")]
    StartFill(u32),
}

/// Largest number of hosts per role: addresses are within 10.0.0.0/8, with the sources in the upper
/// half.
const MOST_HOSTS: u32 = 1 << 20;

/// Largest number of files: each takes about a hundred bytes.
pub const MOST_FILES: u32 = 10_000_000;

impl SimulationOptions {
    /// Checks the options, also in combination.
    pub fn check(&self) -> Result<(), BadOptions> {
        let YardOptions { destinations, start_fill, failures, .. } = self.yard;
        if destinations == 0 || self.yard.sources() == 0 {
            return Err(BadOptions::NoHosts);
        }
        if destinations > MOST_HOSTS || self.yard.sources() > MOST_HOSTS {
            return Err(BadOptions::TooManyHosts);
        }
        if self.days == Some(0) {
            return Err(BadOptions::NoDays);
        }
        if let Some(fill) = start_fill.filter(|fill| *fill > 100) {
            return Err(BadOptions::StartFill(fill));
        }
        let mut shares = vec![("the share of copies that fail", failures)];
        if let DemandOptions::Synthetic(demand) = &self.demand {
            if demand.files == 0 {
                return Err(BadOptions::NoFiles);
            }
            if demand.files > MOST_FILES {
                return Err(BadOptions::TooManyFiles(demand.files));
            }
            let (days, files) = (self.days.unwrap_or(DAYS), demand.files);
            if demand.files_at_start(days) == 0 {
                let new_titles = demand.new_titles();
                return Err(BadOptions::OnlyNewTitles { new_titles, files, days });
            }
            if !(0.0..=3.0).contains(&demand.zipf) {
                return Err(BadOptions::Zipf(demand.zipf));
            }
            shares.push(("the drift", demand.drift));
        }
        match shares.into_iter().find(|(_, share)| !(0.0..=1.0).contains(share)) {
            Some((what, given)) => Err(BadOptions::NotAShare { what, given }),
            None => Ok(()),
        }
    }

    /// How long changes are collected before a planning round. In a yard of thousands of hosts a
    /// round takes milliseconds, and changes are constant.
    pub fn gather(&self) -> Duration {
        self.gather.unwrap_or(match self.yard.destinations {
            0..200 => Duration::from_secs(1),
            200..1_000 => Duration::from_secs(5),
            _ => Duration::from_secs(10),
        })
    }
}

impl YardOptions {
    /// Number of sources.
    pub fn sources(&self) -> u32 {
        self.sources.unwrap_or(self.destinations.div_ceil(10))
    }

    /// Disk size of each destination in bytes, for files with `bytes` bytes in all. Without a configured
    /// size all disks together hold [`HELD_PERCENT`] of them at `low_water` percent.
    pub fn disk_for(&self, bytes: u64, low_water: u32) -> u64 {
        let held = u128::from(bytes) * u128::from(HELD_PERCENT) / u128::from(low_water.max(1));
        let each = u64::try_from(held / u128::from(self.destinations.max(1)));
        self.disk.unwrap_or(each.unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;

    /// A small yard with every kind of demand.
    pub fn small() -> SimulationOptions {
        SimulationOptions {
            seed: 1,
            yard: YardOptions {
                destinations: 5,
                sources: None,
                disk: None,
                source_rate: BitsPerSecond(400_000_000),
                start_fill: None,
                failures: 0.0,
            },
            demand: DemandOptions::Synthetic(synthetic()),
            days: Some(2),
            mean_size: 1 << 30,
            gather: None,
        }
    }

    /// Demand of the small yard.
    pub fn synthetic() -> SyntheticOptions {
        SyntheticOptions {
            files: 1_000,
            requests_per_day: Some(10_000),
            zipf: 0.9,
            drift: 0.05,
            new_titles_per_day: Some(5),
            rises_per_day: Some(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{small, synthetic};
    use super::*;

    #[test]
    fn impossible_options_are_refused_with_a_reason() {
        assert!(small().check().is_ok());
        let refused = |change: &dyn Fn(&mut SimulationOptions)| {
            let mut options = small();
            change(&mut options);
            options.check().unwrap_err().to_string()
        };
        let demand = |change: &dyn Fn(&mut SyntheticOptions)| {
            let mut demand = synthetic();
            change(&mut demand);
            refused(&|options| options.demand = DemandOptions::Synthetic(demand.clone()))
        };
        assert!(refused(&|options| options.yard.destinations = 0).contains("one destination"));
        assert!(refused(&|options| options.yard.sources = Some(0)).contains("one source"));
        assert!(refused(&|options| options.days = Some(0)).contains("at least one day"));
        assert!(refused(&|options| options.yard.failures = 1.5).contains("not 1.5"));
        assert!(refused(&|options| options.yard.start_fill = Some(101)).contains("not 101%"));
        assert!(demand(&|demand| demand.files = 0).contains("at least one file"));
        let only_new = demand(&|demand| demand.new_titles_per_day = Some(1_000));
        assert!(only_new.contains("1000 new titles a day are 1000 files or more"), "{only_new}");
        assert!(demand(&|demand| demand.drift = -0.1).contains("drift"));
        assert!(demand(&|demand| demand.zipf = f64::NAN).contains("Zipf"));
    }
}
