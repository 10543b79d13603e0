//! The report of a simulation.

use std::collections::BTreeMap;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_yard::settings::popularity::PopularityMode;
use reelyard_yard::task_manager::Skip;
use serde::Serialize;

use super::measures::{Amount, DiskFill, HotFiles, Hour, Measures, Tally};
use super::references::References;
use crate::demand::synthetic::DAY;

/// The report of a simulation: the same for the same options, rules and seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimulationReport {
    /// Yard, demand and limits of the simulation.
    pub setting: Setting,
    /// Total requests, copies and removals.
    #[serde(flatten)]
    pub all: Tally,
    /// Part of the requests that some destination could serve.
    pub hit_ratio: Option<f64>,
    /// The effect of the copies.
    pub effect: Effect,
    /// The totals day by day.
    pub days: Vec<Day>,
    /// Other placements of the same files, for comparison.
    pub references: References,
    /// Figures about copies.
    pub copies: CopyFigures,
    /// Removals by the code of their reason.
    pub removals: BTreeMap<&'static str, Amount>,
    /// Removals that a dry run only decided.
    pub only_decided: u64,
    /// Copies that were removed and made again.
    pub churn: Churned,
    /// Files that became hot while no destination held them.
    pub hot: Hot,
    /// Fill levels at the start.
    pub fill_at_start: DiskFill,
    /// Fill levels at the end.
    pub fill_at_end: DiskFill,
    /// Figures about planning and removal rounds.
    pub rounds: RoundFigures,
    /// Files that lost their last copy without a removal to make room. Must be 0.
    pub lost: u64,
    /// The totals hour by hour.
    pub hours: Vec<Hour>,
}

/// The report of one mode among several on the same demand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparedReport {
    /// The value of `popularity.mode`.
    pub mode: PopularityMode,
    /// The report with this mode.
    pub report: SimulationReport,
}

/// Yard, demand and limits of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Setting {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Simulated time in seconds.
    pub seconds: u64,
    /// Number of destinations.
    pub destinations: u64,
    /// Disk size of each destination in bytes.
    pub disk: u64,
    /// Number of sources.
    pub sources: u64,
    /// Number of files.
    pub files: u64,
    /// Total size of the files in bytes.
    pub bytes: u64,
    /// Highest fill level of a disk, in percent.
    pub limit_percent: u32,
    /// Low-water mark in percent: removals go down to it, and files that are not hot are placed up
    /// to it.
    pub low_water_percent: u32,
    /// How long changes were collected before a round, in seconds.
    pub gathered_s: f64,
}

/// The effect of the copies on the hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Effect {
    /// Mean number of bytes copied in a day, without the first day; none with only one day.
    pub copied_a_day: Option<u64>,
    /// Hits, less the hits of a yard that keeps the copies of the start and copies nothing.
    pub extra_hits: i64,
    /// Copied bytes for each extra hit; none without extra hits.
    pub copied_per_extra_hit: Option<u64>,
    /// Part of the copied files that were removed within a day before; none without copies.
    pub copied_again_within_a_day: Option<f64>,
}

/// Figures of one day.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Day {
    /// Requests, copies and removals of the day.
    #[serde(flatten)]
    pub tally: Tally,
    /// Part of the requests that some destination could serve.
    pub hit_ratio: Option<f64>,
}

/// Figures about copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CopyFigures {
    /// Number of planned copies.
    pub planned: u64,
    /// Copies that arrived.
    pub done: Amount,
    /// Arrived copies of files that were hot when they were planned.
    pub hot: Amount,
    /// Failed or cancelled copies.
    pub failed: u64,
    /// Part of the time in which sources were busy.
    pub sources_busy: f64,
}

/// Copies that were removed and made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Churned {
    /// Copied again within a day.
    pub within_a_day: Amount,
    /// Copied again at any time.
    pub in_all: Amount,
    /// Files with more than one removal to make room.
    pub twice_for_room: u64,
}

/// Files that became hot while no destination held them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Hot {
    /// Number of files that got a copy.
    pub served: u64,
    /// Number of files that cooled without a copy.
    pub unserved: u64,
    /// Number of files that still waited at the end.
    pub waiting: u64,
    /// Median time from becoming hot to the first copy, in seconds.
    pub median_s: Option<f64>,
    /// 95th percentile of that time, in seconds.
    pub p95_s: Option<f64>,
    /// Longest such time, in seconds.
    pub most_s: Option<f64>,
    /// Each served file: hours since the start, and its wait in seconds.
    #[serde(skip)]
    pub each: Vec<(f64, f64)>,
}

/// Figures about planning and removal rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RoundFigures {
    /// Number of planning rounds.
    pub planning: u64,
    /// Number of masters that were looked up.
    pub looks: u64,
    /// The number of rounds by the reason for which they waited at their ends.
    pub waited_for: BTreeMap<&'static str, u64>,
    /// Why files got no copy in the last round.
    pub skipped_in_the_last: BTreeMap<Skip, u64>,
    /// Number of removal rounds.
    pub removing: u64,
}

impl SimulationReport {
    /// The report of measures since `start`, in a yard whose sources serve `turns` copies at a
    /// time.
    pub fn of(
        measures: Measures,
        references: References,
        setting: Setting,
        start: Millis,
        turns: u64,
    ) -> Self {
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
            effect: Effect::of(&measures, references.start.hits, setting.seconds),
            references,
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

impl Effect {
    fn of(measures: &Measures, hits_at_start: u64, seconds: u64) -> Self {
        let Measures { all, churn, .. } = measures;
        let first = measures.days.first().map_or(0, |day| day.copied.bytes);
        let copied = u128::from(all.copied.bytes.saturating_sub(first)) * u128::from(DAY.as_secs());
        let a_day = copied.checked_div(u128::from(seconds.saturating_sub(DAY.as_secs())));
        let extra_hits = all.hits as i64 - hits_at_start as i64;
        let extra = u64::try_from(extra_hits).unwrap_or(0);
        let again = churn.within_a_day.files as f64 / all.copied.files as f64;
        Effect {
            copied_a_day: a_day.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX)),
            extra_hits,
            copied_per_extra_hit: all.copied.bytes.checked_div(extra),
            copied_again_within_a_day: (all.copied.files > 0).then_some(again),
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
    fn bytes_are_compared_with_the_hits_that_they_add() {
        let mut measures = Measures::default();
        measures.all.hits = 70;
        measures.all.copied = Amount { files: 4, bytes: 1000 };
        measures.churn.within_a_day.files = 1;
        let first = Amount { files: 3, bytes: 600 };
        measures.days = vec![Tally { copied: first, ..Tally::default() }; 2];
        let two_days = 2 * DAY.as_secs();
        let effect = Effect {
            copied_a_day: Some(400),
            extra_hits: 20,
            copied_per_extra_hit: Some(50),
            copied_again_within_a_day: Some(0.25),
        };
        assert_eq!(Effect::of(&measures, 50, two_days), effect);
        assert_eq!(Effect::of(&measures, 50, DAY.as_secs()).copied_a_day, None);
        let worse = Effect::of(&measures, 80, two_days);
        assert_eq!((worse.extra_hits, worse.copied_per_extra_hit), (-10, None));
        measures.all.copied = Amount::default();
        assert_eq!(Effect::of(&measures, 50, two_days).copied_again_within_a_day, None);
    }

    #[test]
    fn the_report_has_the_right_percentiles_of_serving_times() {
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
