//! A limit of tries: a burst, and one more after each pause (GCRA). Pure.

use std::time::Duration;

/// A burst of tries, and one more after each pause. All times are those of one monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstLimit {
    every: Duration,
    /// How far the time until which tries are used may be ahead.
    ahead: Duration,
}

impl BurstLimit {
    /// Allows `at_once` tries, and one more after each `every`.
    pub const fn new(at_once: u32, every: Duration) -> Self {
        BurstLimit { every, ahead: every.saturating_mul(at_once) }
    }

    /// The pause for one more try.
    pub const fn every(&self) -> Duration {
        self.every
    }

    /// The time until which tries are used after one more at `now`. None were used before without `used`.
    ///
    /// # Errors
    /// The wait until one more is allowed.
    pub fn one_more(&self, used: Option<Duration>, now: Duration) -> Result<Duration, Duration> {
        let next = used.unwrap_or_default().max(now).saturating_add(self.every);
        let wait = next.saturating_sub(now.saturating_add(self.ahead));
        if wait.is_zero() { Ok(next) } else { Err(wait) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_one_after_each_pause() {
        let pause = Duration::from_secs(6);
        let (limit, now) = (BurstLimit::new(2, pause), Duration::from_secs(1000));
        let once = limit.one_more(None, now).unwrap();
        let twice = limit.one_more(Some(once), now).unwrap();
        assert_eq!((once, twice), (now + pause, now + 2 * pause));
        assert_eq!(limit.one_more(Some(twice), now), Err(pause));
        assert_eq!(limit.one_more(Some(twice), now + pause), Ok(now + 3 * pause));
        assert_eq!(limit.one_more(Some(twice), now + 9 * pause), Ok(now + 10 * pause));
        assert!(BurstLimit::new(u32::MAX, Duration::MAX).one_more(None, now).is_ok());
    }
}
