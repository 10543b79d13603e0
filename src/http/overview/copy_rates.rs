//! The rates of copies, from two looks at their progress. Pure.

use std::collections::{BTreeMap, VecDeque};

use reelyard_core::clock::Millis;
use reelyard_protocol::worker::TaskId;

/// A rate is of at least this span, in milliseconds.
const LEAST_SPAN_MILLIS: i64 = 4_000;
/// Looks that are kept: a rate is of at most the time between the oldest and now.
const LOOKS: usize = 3;

/// The bytes of each copy at one moment.
#[derive(Clone, Debug)]
struct ProgressLook {
    at: Millis,
    bytes: BTreeMap<TaskId, u64>,
}

/// The last looks at the progress of all copies.
#[derive(Clone, Debug, Default)]
pub struct CopyRates(VecDeque<ProgressLook>);

impl CopyRates {
    /// Takes the progress of this moment, unless the last look was just before.
    pub fn observe(&mut self, now: Millis, progress: impl Iterator<Item = (TaskId, u64)>) {
        self.0.retain(|look| look.at <= now);
        if self.0.back().is_some_and(|look| now.0 - look.at.0 < LEAST_SPAN_MILLIS) {
            return;
        }
        if self.0.len() == LOOKS {
            self.0.pop_front();
        }
        self.0.push_back(ProgressLook { at: now, bytes: progress.collect() });
    }

    /// The rate of a copy with this progress, in bytes a second. None if it was not seen long enough before.
    pub fn rate(&self, task: TaskId, bytes: u64, at: Millis) -> Option<u64> {
        for look in &self.0 {
            let span = at.0 - look.at.0;
            let Some(before) = look.bytes.get(&task).filter(|_| span >= LEAST_SPAN_MILLIS) else {
                continue;
            };
            let moved = u128::from(bytes.saturating_sub(*before));
            return u64::try_from(moved * 1000 / span.unsigned_abs() as u128).ok();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_the_last_seconds() {
        let mut rates = CopyRates::default();
        let (copy, late) = (TaskId(1), TaskId(2));
        let mut look = |second: i64, bytes: u64| {
            let at = Millis(second * 1000);
            let rate = rates.rate(copy, bytes, at);
            rates.observe(at, [(copy, bytes)].into_iter());
            (rate, rates.rate(late, 5, at))
        };
        assert_eq!(look(0, 1_000_000), (None, None));
        assert_eq!(look(2, 1_000_400), (None, None));
        assert_eq!(look(4, 1_000_400), (Some(100), None));
        assert_eq!(look(8, 1_000_800), (Some(100), None));
        assert_eq!(look(12, 1_000_800), (Some(66), None), "since the first look");
        assert_eq!(look(16, 1_000_800), (Some(33), None), "since the second look");
        assert_eq!(look(1, 1_000_800), (None, None), "a clock that steps back");
        assert_eq!(rates.rate(copy, 7, Millis(10_000)), Some(0), "a copy that began again");
    }
}
