//! How often something may be tried, by key.

use std::hash::Hash;
use std::num::NonZeroU32;
use std::time::Duration;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

/// Keys that are kept before those that are at rest are forgotten.
const MOST_KEYS: usize = 16 << 10;

/// Bounds how often each key may do a thing.
pub(super) struct Throttle<K: Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
    clock: DefaultClock,
}

impl<K: Hash + Eq + Clone> Throttle<K> {
    /// So many at once for each key, and one more after each `every`.
    pub(super) fn new(at_once: NonZeroU32, every: Duration) -> Self {
        let quota = Quota::with_period(every.max(Duration::from_millis(1)));
        let quota = quota.unwrap_or(Quota::per_second(at_once)).allow_burst(at_once);
        Throttle { limiter: RateLimiter::keyed(quota), clock: DefaultClock::default() }
    }

    /// Counts one for `key`. An error tells after how long it may be tried again; that try did not
    /// count.
    pub(super) fn one(&self, key: &K) -> Result<(), Duration> {
        if self.limiter.len() > MOST_KEYS {
            self.limiter.retain_recent();
        }
        self.limiter.check_key(key).map_err(|until| until.wait_time_from(self.clock.now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_has_its_own_bound() {
        let hour = Duration::from_secs(3600);
        let throttle = Throttle::new(NonZeroU32::new(2).unwrap(), hour);
        assert!(throttle.one(&"a").is_ok() && throttle.one(&"a").is_ok());
        let wait = throttle.one(&"a").unwrap_err();
        assert!(wait > hour / 2 && wait <= hour, "{wait:?}");
        assert!(throttle.one(&"b").is_ok());
    }
}
