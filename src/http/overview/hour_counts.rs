//! The copies that ended in the last hour. A busy yard ends many, so they are counted at most once a second.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use reelyard_core::clock::Millis;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_yard::task_manager::{CopyRecord, TaskState};
use roaring::RoaringBitmap;

use super::HOUR_MILLIS;

/// A count holds for this long, in milliseconds.
const HOLDS_MILLIS: i64 = 1_000;

/// The last count of copies, and when it was made.
#[derive(Default)]
pub struct KeptHourCounts(Mutex<Option<(Millis, Arc<HourCounts>)>>);

/// The copies that ended in an hour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HourCounts {
    /// Copies that arrived.
    pub done: u64,
    /// Copies that failed or took too long.
    pub failed: u64,
    /// Files whose last copy failed and that no task copies: a person may retry them.
    pub to_retry: u64,
    /// The failed ones by destination.
    pub failed_by_destination: BTreeMap<HostAddr, u64>,
}

impl KeptHourCounts {
    /// The copies of the last hour. `open` has the files that a task copies.
    pub fn counts(
        &self,
        history: &BoundedLog<CopyRecord>,
        open: impl FnOnce() -> RoaringBitmap,
        now: Millis,
    ) -> Arc<HourCounts> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, counts)) = last.as_ref()
            && (0..HOLDS_MILLIS).contains(&(now.0 - at.0))
        {
            return Arc::clone(counts);
        }
        let counts = Arc::new(counted(history, open(), now));
        *last = Some((now, Arc::clone(&counts)));
        counts
    }
}

fn counted(history: &BoundedLog<CopyRecord>, open: RoaringBitmap, now: Millis) -> HourCounts {
    let mut settled = open;
    let mut counts = HourCounts::default();
    let ended = history.newest_first().map(|(_, copy)| copy);
    for copy in ended.take_while(|copy| now.0 - copy.at.0 < HOUR_MILLIS) {
        let is_last = settled.insert(copy.file.0);
        match copy.state {
            TaskState::Done => counts.done += 1,
            TaskState::Failed | TaskState::Timeout => {
                counts.failed += 1;
                counts.to_retry += u64::from(is_last);
                *counts.failed_by_destination.entry(copy.destination).or_default() += 1;
            }
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use reelyard_core::names::FileId;
    use reelyard_protocol::worker::TaskId;

    use super::*;

    const DESTINATION: &str = "10.0.0.1:80";

    fn ended(state: TaskState, at: i64) -> CopyRecord {
        let destination: HostAddr = DESTINATION.parse().unwrap();
        CopyRecord {
            task: TaskId(1),
            file: FileId(1),
            source: destination,
            destination,
            grade: 1,
            hits: 0,
            size: 1,
            state,
            reason: None,
            is_unverified: false,
            blame: None,
            asked_by: None,
            planned: Millis(0),
            at: Millis(at),
        }
    }

    #[test]
    fn only_a_file_whose_last_copy_failed_needs_a_retry() {
        let mut history = BoundedLog::default();
        for (file, state) in [
            (1, TaskState::Failed),
            (1, TaskState::Failed),
            (2, TaskState::Timeout),
            (2, TaskState::Done),
            (3, TaskState::Failed),
            (4, TaskState::Failed),
            (4, TaskState::Cancelled),
        ] {
            history.push(CopyRecord { file: FileId(file), ..ended(state, 0) });
        }
        let counts = counted(&history, RoaringBitmap::from_iter([3]), Millis(1));
        assert_eq!((counts.failed, counts.to_retry), (5, 1));
    }

    #[test]
    fn the_copies_of_an_hour_are_counted_once_a_second() {
        let destination: HostAddr = DESTINATION.parse().unwrap();
        let mut history = BoundedLog::default();
        for (state, at) in [(TaskState::Failed, 0), (TaskState::Timeout, 1), (TaskState::Done, 2)] {
            history.push(ended(state, at));
        }
        let kept = KeptHourCounts::default();
        let counts = |history: &_, now| {
            let counts = kept.counts(history, RoaringBitmap::new, Millis(now));
            (counts.done, counts.failed, counts.failed_by_destination.get(&destination).copied())
        };
        assert_eq!(counts(&history, HOUR_MILLIS), (1, 1, Some(1)), "the first was earlier");
        history.push(ended(TaskState::Failed, HOUR_MILLIS));
        assert_eq!(counts(&history, HOUR_MILLIS + HOLDS_MILLIS - 1), (1, 1, Some(1)));
        assert_eq!(counts(&history, HOUR_MILLIS + HOLDS_MILLIS), (0, 1, Some(1)));
        assert_eq!(counts(&history, HOUR_MILLIS - 1).1, 3, "the clock was set back");
    }
}
