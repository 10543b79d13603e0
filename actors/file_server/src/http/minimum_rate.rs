//! The minimum rate at which a client must read its requested file.

use std::time::{Duration, Instant};

/// Detects a client that reads a few bytes at intervals, and would keep its connection slot
/// permanently.
#[derive(Clone, Debug)]
pub struct MinimumRateCheck {
    every: Duration,
    bytes_per_second: u64,
    since: Instant,
    from: u64,
}

impl MinimumRateCheck {
    /// From `now` and the byte `from` on, `bytes_per_second` on average over each `every`.
    pub fn new(every: Duration, bytes_per_second: u64, now: Instant, from: u64) -> Self {
        MinimumRateCheck { every, bytes_per_second, since: now, from }
    }

    /// Whether enough was read in the period that just ended, if one ended.
    pub fn is_kept(&mut self, now: Instant, position: u64) -> bool {
        let elapsed = now.saturating_duration_since(self.since);
        if elapsed < self.every {
            return true;
        }
        let taken = position.saturating_sub(self.from);
        (self.since, self.from) = (now, position);
        taken >= self.bytes_per_second.saturating_mul(elapsed.as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_rate_is_checked_at_the_end_of_each_span() {
        let (start, every) = (Instant::now(), Duration::from_secs(10));
        let mut pace = MinimumRateCheck::new(every, 100, start, 0);
        assert!(pace.is_kept(start + Duration::from_secs(9), 1), "the span has not ended");
        assert!(pace.is_kept(start + every, 1000), "just enough");
        assert!(!pace.is_kept(start + 2 * every, 1999), "a byte too few");
    }
}
