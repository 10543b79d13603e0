//! When the log had which length: for how long a follower lacks entries.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two samples.
const SPACING: Duration = Duration::from_millis(50);

/// With more samples every second one goes. So they reach back as far as needed, less exactly.
const MOST: usize = 1024;

/// Lengths of the log with their moments, oldest first.
#[derive(Debug, Default)]
pub(super) struct LogPace(Mutex<VecDeque<(u64, Instant)>>);

impl LogPace {
    /// The log has this number of entries now.
    pub(super) fn record(&self, entries: u64, now: Instant) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = samples.back();
        let is_news = last.is_none_or(|(known, at)| {
            *known != entries && now.saturating_duration_since(*at) >= SPACING
        });
        if !is_news {
            return;
        }
        // After another leader the log may be shorter.
        while samples.back().is_some_and(|(known, _)| *known > entries) {
            samples.pop_back();
        }
        samples.push_back((entries, now));
        if samples.len() > MOST {
            let mut keeps = false;
            samples.retain(|_| {
                keeps = !keeps;
                keeps
            });
        }
    }

    /// How long the log has had more than this number of entries, as far as the samples show.
    pub(super) fn lag(&self, entries: u64, now: Instant) -> Duration {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = samples.partition_point(|(known, _)| *known <= entries);
        samples.get(first).map_or(Duration::ZERO, |(_, at)| now.saturating_duration_since(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lag_begins_when_the_first_lacking_entry_was_written() {
        let (pace, start) = (LogPace::default(), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        for (entries, seconds) in [(10, 0), (10, 1), (20, 2), (20, 3), (30, 4)] {
            pace.record(entries, at(seconds));
        }
        let lag = |entries| pace.lag(entries, at(10)).as_secs();
        assert_eq!((lag(9), lag(10), lag(19), lag(20), lag(30)), (10, 8, 8, 6, 0));
        // The end of the log was cut off.
        pace.record(15, at(11));
        assert_eq!(pace.lag(12, at(12)).as_secs(), 1);
    }

    #[test]
    fn samples_reach_back_and_stay_few() {
        let (pace, start) = (LogPace::default(), Instant::now());
        for second in 0..10_000 {
            pace.record(second + 1, start + Duration::from_secs(second));
        }
        assert!(pace.0.lock().unwrap().len() <= MOST);
        let lag = pace.lag(0, start + Duration::from_secs(10_000));
        assert_eq!(lag, Duration::from_secs(10_000));
    }
}
