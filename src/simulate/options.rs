//! What a simulation is told: the yard, the demand, and how long.

use std::path::PathBuf;
use std::time::Duration;

use reelyard_actors::host::BitsPerSecond;

/// A simulation, the rules left out: those come from a node's configuration.
#[derive(Clone, Debug)]
pub struct SimulationOptions {
    /// What all chance is drawn from.
    pub seed: u64,
    /// The hosts.
    pub yard: YardOptions,
    /// Who asks for what.
    pub demand: DemandOptions,
    /// For how many days; none for as long as the recorded demand lasts.
    pub days: Option<u32>,
    /// The mean size of files whose size nobody tells, in bytes.
    pub mean_size: u64,
    /// How long changes are gathered before a round of planning; none for what suits the yard.
    pub gather: Option<Duration>,
}

/// The hosts of the yard.
#[derive(Clone, Debug)]
pub struct YardOptions {
    /// How many destinations there are.
    pub destinations: u32,
    /// How many sources; none for one to ten destinations.
    pub sources: Option<u32>,
    /// The size of each destination's disk in bytes; none for disks that together hold
    /// [`HELD_PERCENT`] of the catalogue.
    pub disk: Option<u64>,
    /// What one source sends, divided among the copies it serves at a time.
    pub source_rate: BitsPerSecond,
    /// How full the disks are in the beginning, in percent, the best files placed first; none for
    /// the low-water mark.
    pub start_fill: Option<u32>,
    /// Which part of the copies fails, from 0 to 1.
    pub failures: f64,
}

/// How much of the catalogue all disks together hold at their low-water marks, when nobody says.
pub const HELD_PERCENT: u64 = 60;

/// Who asks for what.
#[derive(Clone, Debug)]
pub enum DemandOptions {
    /// An invented demand.
    Synthetic(SyntheticOptions),
    /// What a load balancer wrote down.
    Recorded(RecordedOptions),
}

/// An invented demand.
#[derive(Clone, Debug)]
pub struct SyntheticOptions {
    /// How many files there are, those included that are released in the course of it.
    pub files: u32,
    /// How many requests a day; none for [`REQUESTS_PER_DESTINATION`] to each destination.
    pub requests_per_day: Option<u64>,
    /// By which power of the rank popularity falls.
    pub zipf: f64,
    /// Which part of the files changes its place in popularity in a day, from 0 to 1.
    pub drift: f64,
    /// How many titles are released a day; none for one to [`FILES_PER_NEW_TITLE`] files.
    pub new_titles_per_day: Option<u32>,
    /// How many cold files are suddenly asked for a day; none for one to
    /// [`DESTINATIONS_PER_RISE`] destinations.
    pub rises_per_day: Option<u32>,
}

/// Requests a day to each destination, when nobody says.
pub const REQUESTS_PER_DESTINATION: u64 = 2_000;

/// To how many files there is one new title a day, when nobody says.
pub const FILES_PER_NEW_TITLE: u32 = 2_000;

/// To how many destinations there is one sudden rise a day, when nobody says.
pub const DESTINATIONS_PER_RISE: u32 = 4;

/// What a load balancer wrote down.
#[derive(Clone, Debug)]
pub struct RecordedOptions {
    /// Its logs.
    pub event_logs: Vec<PathBuf>,
    /// The ranking of the first day; without one, that of the log itself.
    pub grade_info: Option<PathBuf>,
    /// Sizes of the files of `grade_info`.
    pub hitcount_history: Option<PathBuf>,
}

/// A yard or demand that cannot be simulated.
#[derive(Debug, thiserror::Error)]
pub enum BadOptions {
    /// Copies have nowhere to go, or nowhere to come from.
    #[error("a yard needs at least one source and one destination")]
    NoHosts,
    /// They would not have addresses of their own.
    #[error("a simulated yard has at most {MOST_HOSTS} sources and {MOST_HOSTS} destinations")]
    TooManyHosts,
    /// There is nothing to copy.
    #[error("expected at least one file")]
    NoFiles,
    /// Nothing would happen.
    #[error("expected at least one day")]
    NoDays,
    /// A share that is none.
    #[error("{what}: expected a number from 0 to 1, not {given}")]
    NotAShare {
        /// Which option.
        what: &'static str,
        /// What was given.
        given: f64,
    },
    /// Popularity has to fall, and not at once to nothing.
    #[error("the Zipf exponent of the popularity: expected a number from 0 to 3, not {0}")]
    Zipf(f64),
    /// A disk that is fuller than full.
    #[error("a disk is at most 100% full at the start, not {0}%")]
    StartFill(u32),
}

/// Hosts are numbered within 10.0.0.0/8, sources in its upper half.
const MOST_HOSTS: u32 = 1 << 20;

impl SimulationOptions {
    /// Checks what no single option shows.
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

    /// How long changes are gathered before a round of planning. A round over thousands of hosts
    /// takes milliseconds, and something changes there all the time.
    pub fn gather(&self) -> Duration {
        self.gather.unwrap_or(match self.yard.destinations {
            0..200 => Duration::from_secs(1),
            200..1_000 => Duration::from_secs(5),
            _ => Duration::from_secs(10),
        })
    }
}

impl YardOptions {
    /// How many sources there are.
    pub fn sources(&self) -> u32 {
        self.sources.unwrap_or(self.destinations.div_ceil(10))
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

    /// Its demand.
    pub fn synthetic() -> SyntheticOptions {
        SyntheticOptions {
            files: 1_000,
            requests_per_day: None,
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
    fn what_cannot_be_simulated_is_refused_in_words() {
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
        assert!(demand(&|demand| demand.drift = -0.1).contains("drift"));
        assert!(demand(&|demand| demand.zipf = f64::NAN).contains("Zipf"));
    }
}
