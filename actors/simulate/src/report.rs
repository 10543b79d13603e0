//! What a simulation came to.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_yard::task_manager::plan::Skip;
use serde::Serialize;

use super::measures::{Amount, DiskFill, HotFiles, Hour, Measures, Tally};

/// What a simulation came to: the same for the same options, rules and seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulationReport {
    /// What was simulated.
    pub setting: Setting,
    /// Requests, copies and removals altogether.
    #[serde(flatten)]
    pub all: Tally,
    /// Which part of the requests some destination could serve.
    pub hit_ratio: Option<f64>,
    /// The same day by day.
    pub days: Vec<Day>,
    /// The copies.
    pub copies: CopyFigures,
    /// Removals by the code of their reason.
    pub removals: BTreeMap<&'static str, Amount>,
    /// Removals that a dry run only decided.
    pub only_decided: u64,
    /// What was removed and copied again.
    pub churn: Churned,
    /// Files that became hot while no destination held them.
    pub hot: Hot,
    /// How full the disks were in the beginning.
    pub fill_at_start: DiskFill,
    /// How full they were in the end.
    pub fill_at_end: DiskFill,
    /// The rounds.
    pub rounds: RoundFigures,
    /// Files that had a copy, have none, and did not lose it to make room: there must be none.
    pub lost: u64,
    /// Hour by hour.
    pub hours: Vec<Hour>,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// The seed.
    pub seed: u64,
    /// How long, in seconds.
    pub seconds: u64,
    /// Destinations.
    pub destinations: u64,
    /// The disk of each in bytes.
    pub disk: u64,
    /// Sources.
    pub sources: u64,
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How full a disk may be, in percent.
    pub limit_percent: u32,
    /// Down to how much it is brought, and up to how much it is filled with what is not hot.
    pub low_water_percent: u32,
    /// How long changes were gathered before a round, in seconds.
    pub gathered_s: f64,
}

/// One day.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Day {
    /// What happened in it.
    #[serde(flatten)]
    pub tally: Tally,
    /// Which part of the requests some destination could serve.
    pub hit_ratio: Option<f64>,
}

/// The copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CopyFigures {
    /// Planned.
    pub planned: u64,
    /// Arrived.
    pub done: Amount,
    /// Arrived, of files that were hot when they were planned.
    pub hot: Amount,
    /// Failed or were given up.
    pub failed: u64,
    /// Which part of the time sources were busy.
    pub sources_busy: f64,
}

/// What was removed and copied again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Churned {
    /// Within a day.
    pub within_a_day: Amount,
    /// At all.
    pub in_all: Amount,
    /// Files that were removed for room more than once.
    pub twice_for_room: u64,
}

/// Files that became hot while no destination held them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hot {
    /// How many had a copy in the end.
    pub served: u64,
    /// How many cooled without one.
    pub unserved: u64,
    /// How many still waited at the end.
    pub waiting: u64,
    /// From becoming hot to the first copy, in seconds: for half of them no longer than this.
    pub median_s: Option<f64>,
    /// For 95 of a hundred.
    pub p95_s: Option<f64>,
    /// For all.
    pub most_s: Option<f64>,
    /// Each that was served: when, in hours from the beginning, and after how many seconds.
    #[serde(skip)]
    pub each: Vec<(f64, f64)>,
}

/// The rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RoundFigures {
    /// Of planning.
    pub planning: u64,
    /// Masters that were looked at for them.
    pub looks: u64,
    /// What they waited for at their ends.
    pub waited_for: BTreeMap<&'static str, u64>,
    /// Why files got no copy in the last of them.
    pub skipped_in_the_last: BTreeMap<Skip, u64>,
    /// Of removing.
    pub removing: u64,
}

impl SimulationReport {
    /// What was measured from `start` on, in a yard whose sources serve `turns` copies at a time.
    pub fn of(measures: Measures, setting: Setting, start: Millis, turns: u64) -> Self {
        let Measures { all, churn, planning, .. } = &measures;
        let available = u128::from(setting.seconds) * 1000 * u128::from(turns);
        let copies = CopyFigures {
            planned: measures.planned,
            done: all.copied,
            hot: measures.copied_hot,
            failed: measures.failed,
            sources_busy: measures.served_ms as f64 / available.max(1) as f64,
        };
        let day = |tally: &Tally| Day { tally: *tally, hit_ratio: tally.hit_ratio() };
        let gone = &measures.had_copy - &measures.has_copy;
        SimulationReport {
            setting,
            all: *all,
            hit_ratio: all.hit_ratio(),
            days: measures.days.iter().map(day).collect(),
            copies,
            removals: measures.removed_for.clone(),
            only_decided: measures.only_decided,
            churn: Churned {
                within_a_day: churn.within_a_day,
                in_all: churn.in_all,
                twice_for_room: churn.twice_for_room,
            },
            hot: Hot::of(&measures.hot, start),
            fill_at_start: measures.fill_at_start,
            fill_at_end: measures.hours.last().map_or(measures.fill_at_start, |hour| hour.fill),
            rounds: RoundFigures {
                planning: planning.rounds,
                looks: planning.looks,
                waited_for: planning.waiting.clone(),
                skipped_in_the_last: planning.skipped.clone(),
                removing: measures.removal_rounds,
            },
            lost: (gone - &measures.gone_for_room).len(),
            hours: measures.hours,
        }
    }
}

impl Hot {
    fn of(files: &HotFiles, start: Millis) -> Self {
        let mut took: Vec<Duration> = files.served.iter().map(|(_, took)| *took).collect();
        took.sort_unstable();
        let within = |percent: usize| {
            let last = (took.len() * percent).div_ceil(100).checked_sub(1)?;
            took.get(last).map(Duration::as_secs_f64)
        };
        let hours = |at: &Millis| at.since(start).as_secs_f64() / 3600.0;
        Hot {
            served: took.len() as u64,
            unserved: files.unserved,
            waiting: files.waiting(),
            median_s: within(50),
            p95_s: within(95),
            most_s: within(100),
            each: files.served.iter().map(|(at, took)| (hours(at), took.as_secs_f64())).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::FileId;

    use super::*;

    #[test]
    fn of_the_times_to_serve_the_right_ones_are_told() {
        let mut files = HotFiles::default();
        assert_eq!(Hot::of(&files, Millis(0)), Hot::default());
        for file in 1..=100 {
            files.are([FileId(file)].into_iter(), |_| false, Millis(0));
            files.arrived(FileId(file), Millis(i64::from(file) * 1000));
        }
        let hot = Hot::of(&files, Millis(0));
        assert_eq!((hot.served, hot.unserved), (100, 0));
        assert_eq!([hot.median_s, hot.p95_s, hot.most_s], [50.0, 95.0, 100.0].map(Some));
    }
}
