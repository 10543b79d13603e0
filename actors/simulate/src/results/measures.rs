//! Counters of a simulation.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::names::FileId;
use reelyard_yard::task_manager::PlanningRound;
use reelyard_yard::task_manager::{PlannerWaits, Skip};
use roaring::RoaringBitmap;
use serde::Serialize;

use crate::demand::synthetic::DAY;

/// A number of copies with their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Amount {
    /// Number of copies.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

impl Amount {
    /// Adds one copy of this size.
    pub fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Counters of a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Requests for files.
    pub requests: u64,
    /// Requests that some destination could serve.
    pub hits: u64,
    /// Copies that arrived.
    pub copied: Amount,
    /// Copies that were removed.
    pub removed: Amount,
}

impl Tally {
    /// The part of the requests that some destination could serve; none without requests.
    pub fn hit_ratio(&self) -> Option<f64> {
        (self.requests > 0).then(|| self.hits as f64 / self.requests as f64)
    }

    fn less(&self, before: &Tally) -> Tally {
        let amount = |now: Amount, then: Amount| Amount {
            files: now.files - then.files,
            bytes: now.bytes - then.bytes,
        };
        Tally {
            requests: self.requests - before.requests,
            hits: self.hits - before.hits,
            copied: amount(self.copied, before.copied),
            removed: amount(self.removed, before.removed),
        }
    }
}

/// Fill levels of the disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct DiskFill {
    /// Fill level of the emptiest disk, in percent.
    pub least: f64,
    /// Fill level of all disks together, in percent.
    pub mean: f64,
    /// Fill level of the fullest disk, in percent.
    pub most: f64,
    /// Number of disks over the limit.
    pub over_limit: u64,
}

/// Counters of one hour.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hour {
    /// End of the hour.
    pub ended: Millis,
    /// Requests, copies and removals of the hour.
    #[serde(flatten)]
    pub tally: Tally,
    /// Fill levels at the end of the hour.
    pub fill: DiskFill,
}

/// Files that became hot while no destination held them.
#[derive(Clone, Debug, Default)]
pub struct HotFiles {
    waiting: BTreeMap<FileId, Millis>,
    /// Arrival of the first copy of each, with its wait.
    pub served: Vec<(Millis, Duration)>,
    /// Number of files that cooled before they had a copy.
    pub unserved: u64,
}

impl HotFiles {
    /// Updates the hot files without a copy. A file that is no longer in `hot` keeps waiting if
    /// `is_copied` reports a running copy; otherwise it cooled.
    pub fn are(
        &mut self,
        hot: impl Iterator<Item = FileId>,
        is_copied: impl Fn(FileId) -> bool,
        now: Millis,
    ) {
        let before = std::mem::take(&mut self.waiting);
        for file in hot {
            self.waiting.insert(file, before.get(&file).copied().unwrap_or(now));
        }
        for (file, since) in before {
            let Entry::Vacant(place) = self.waiting.entry(file) else { continue };
            if is_copied(file) {
                place.insert(since);
            } else {
                self.unserved += 1;
            }
        }
    }

    /// Called when a file got a copy.
    pub fn arrived(&mut self, file: FileId, now: Millis) {
        if let Some(since) = self.waiting.remove(&file) {
            self.served.push((now, now.since(since)));
        }
    }

    /// Number of files that still wait.
    pub fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}

/// Copies that were removed and made again.
#[derive(Clone, Debug, Default)]
pub struct Churn {
    /// Time of the last removal of each file.
    gone: HashMap<FileId, Millis>,
    /// Number of removals to make room, by file.
    for_room: HashMap<FileId, u32>,
    /// Copied again within a day.
    pub within_a_day: Amount,
    /// Copied again at any time.
    pub in_all: Amount,
    /// Files with more than one removal to make room.
    pub twice_for_room: u64,
}

impl Churn {
    /// Called when a copy was removed.
    pub fn went(&mut self, file: FileId, for_room: bool, now: Millis) {
        self.gone.insert(file, now);
        if for_room {
            let times = self.for_room.entry(file).or_default();
            *times += 1;
            self.twice_for_room += u64::from(*times == 2);
        }
    }

    /// Called when a copy arrived.
    pub fn came(&mut self, file: FileId, bytes: u64, now: Millis) {
        if let Some(gone) = self.gone.remove(&file) {
            self.in_all.add(bytes);
            if now.since(gone) <= DAY {
                self.within_a_day.add(bytes);
            }
        }
    }
}

/// Counters of planning rounds.
#[derive(Clone, Debug, Default)]
pub struct Planning {
    /// Number of rounds.
    pub rounds: u64,
    /// Number of masters that were looked up.
    pub looks: u64,
    /// The number of rounds by the reason for which they waited at their ends.
    pub waiting: BTreeMap<&'static str, u64>,
    /// Why files got no copy in the last round.
    pub skipped: BTreeMap<Skip, u64>,
}

impl Planning {
    /// Adds a planning round.
    pub fn add(&mut self, round: &PlanningRound) {
        self.rounds += 1;
        self.looks += round.to_look_up.len() as u64;
        let waits = round.waiting.as_ref().map_or("nothing", |waiting| match waiting {
            PlannerWaits::Ranking => "ranking",
            PlannerWaits::Masters => "masters",
            PlannerWaits::FirstLook(_) => "first_look",
            PlannerWaits::SwitchedOff => "switched_off",
            PlannerWaits::Inputs => "inputs",
            PlannerWaits::Source => "source",
            PlannerWaits::Destination => "destination",
            PlannerWaits::Looks(_) => "looks",
            PlannerWaits::Nothing => "nothing",
        });
        *self.waiting.entry(waits).or_default() += 1;
        self.skipped.clone_from(&round.skipped);
    }
}

/// All counters of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    /// Since the start of the simulation.
    pub all: Tally,
    /// Copies of files that were hot when they were planned.
    pub copied_hot: Amount,
    /// Planned copies.
    pub planned: u64,
    /// Failed or cancelled copies.
    pub failed: u64,
    /// Removals by the code of their reason.
    pub removed_for: BTreeMap<&'static str, Amount>,
    /// Number of removal rounds.
    pub removal_rounds: u64,
    /// Removals that a dry run only decided.
    pub only_decided: u64,
    /// Busy time of sources in milliseconds, summed over their copies.
    pub served_ms: u128,
    /// Copies that were removed and made again.
    pub churn: Churn,
    /// Files that became hot.
    pub hot: HotFiles,
    /// Counters of planning rounds.
    pub planning: Planning,
    /// The completed hours.
    pub hours: Vec<Hour>,
    /// The completed days.
    pub days: Vec<Tally>,
    /// Files that ever had a copy.
    pub had_copy: RoaringBitmap,
    /// Files that have a copy now.
    pub has_copy: RoaringBitmap,
    /// Files with a copy that was removed to make room.
    pub gone_for_room: RoaringBitmap,
    /// Fill levels at the start.
    pub fill_at_start: DiskFill,
    until_last_hour: Tally,
    until_last_day: Tally,
}

impl Measures {
    /// Ends an hour with these fill levels.
    pub fn end_hour(&mut self, ended: Millis, fill: DiskFill) {
        let tally = self.all.less(&self.until_last_hour);
        self.hours.push(Hour { ended, tally, fill });
        self.until_last_hour = self.all;
    }

    /// Ends the simulation at `ended`, with an incomplete hour and day.
    pub fn finish_periods(&mut self, ended: Millis, fill: DiskFill) {
        if self.hours.last().is_none_or(|hour| hour.ended < ended) {
            self.end_hour(ended, fill);
        }
        if self.days.is_empty() || self.all != self.until_last_day {
            self.end_day();
        }
    }

    /// Ends a day.
    pub fn end_day(&mut self) {
        self.days.push(self.all.less(&self.until_last_day));
        self.until_last_day = self.all;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId(3);

    #[test]
    fn a_hot_file_waits_until_it_is_served_or_cools() {
        let mut hot = HotFiles::default();
        let none = |_: FileId| false;
        hot.are([FILE, FileId(4), FileId(5)].into_iter(), none, Millis(1_000));
        hot.are([FILE].into_iter(), |file| file == FileId(5), Millis(2_000));
        assert_eq!((hot.waiting(), hot.unserved), (2, 1));
        hot.arrived(FILE, Millis(4_000));
        hot.arrived(FILE, Millis(5_000));
        assert_eq!(hot.served, [(Millis(4_000), Duration::from_secs(3))]);
    }

    #[test]
    fn a_returning_file_counts_as_churn_once() {
        let mut churn = Churn::default();
        churn.came(FILE, 10, Millis(0));
        churn.went(FILE, true, Millis(1));
        churn.came(FILE, 10, Millis(2));
        churn.came(FILE, 10, Millis(3));
        churn.went(FILE, true, Millis(4));
        churn.came(FILE, 10, Millis(5).after(DAY));
        assert_eq!(churn.within_a_day, Amount { files: 1, bytes: 10 });
        assert_eq!(churn.in_all, Amount { files: 2, bytes: 20 });
        assert_eq!(churn.twice_for_room, 1);
    }

    #[test]
    fn each_hour_and_day_has_its_own_events() {
        let mut measures = Measures::default();
        measures.all.requests = 5;
        measures.end_hour(Millis(1), DiskFill::default());
        measures.all.requests = 7;
        measures.all.hits = 1;
        measures.end_hour(Millis(2), DiskFill::default());
        measures.end_day();
        assert_eq!(measures.hours[1].tally.requests, 2);
        assert_eq!(measures.hours[1].tally.hit_ratio(), Some(0.5));
        assert_eq!(measures.days[0].requests, 7);
    }
}
