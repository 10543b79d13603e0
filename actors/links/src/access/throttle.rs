//! A rate limiter by key. The crate `governor` cannot give a try back, cannot check without counting, and
//! does not limit the number of its keys.

use std::collections::HashMap;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use reelyard_core::burst_limit::BurstLimit;

/// Largest number of keys with a limit of their own. Further keys share one limit.
const MOST_KEYS: usize = 16 << 10;

/// Shortest interval between two cleanups of idle keys, because a cleanup visits every key.
const FORGET_EVERY: Duration = Duration::from_secs(1);

/// Limits each key to a burst and one more try after each pause. Each key has the time until which
/// its tries are used, counted from the start.
pub(crate) struct Throttle<K> {
    limit: BurstLimit,
    start: Instant,
    spent: Mutex<Spent<K>>,
}

struct Spent<K> {
    by_key: HashMap<K, Duration>,
    by_others: Option<Duration>,
    forgot: Option<Duration>,
}

impl<K: Hash + Eq + Clone> Throttle<K> {
    /// Allows a burst of `at_once` tries for each key, and one more after each `every`.
    pub(crate) fn new(at_once: NonZeroU32, every: Duration) -> Self {
        let spent = Spent { by_key: HashMap::new(), by_others: None, forgot: None };
        let limit = BurstLimit::new(at_once.get(), every);
        Throttle { limit, start: Instant::now(), spent: Mutex::new(spent) }
    }

    /// Counts one try of `key`. An error is the wait until the next try is allowed; the refused try
    /// does not count.
    pub(crate) fn one(&self, key: &K) -> Result<(), Duration> {
        self.one_at(key, self.start.elapsed())
    }

    /// Takes back a try of `key` that was just counted.
    pub(crate) fn give_back(&self, key: &K) {
        let mut spent = self.spent();
        let Spent { by_key, by_others, .. } = &mut *spent;
        // A key without its own entry was counted in the shared limit, or is idle.
        if let Some(spent) = by_key.get_mut(key).or(by_others.as_mut()) {
            *spent = spent.saturating_sub(self.limit.every());
        }
    }

    /// Whether `key` may try now, without counting. An error is the wait.
    pub(crate) fn may(&self, key: &K) -> Result<(), Duration> {
        self.may_at(key, self.start.elapsed())
    }

    fn one_at(&self, key: &K, now: Duration) -> Result<(), Duration> {
        let mut spent = self.spent();
        let spent = spent.of(key, now);
        *spent = self.limit.one_more(Some(*spent), now)?;
        Ok(())
    }

    fn may_at(&self, key: &K, now: Duration) -> Result<(), Duration> {
        // A key without its own entry must not wait for the tries of others.
        let spent = self.spent().by_key.get(key).copied();
        self.limit.one_more(spent, now).map(drop)
    }

    fn spent(&self) -> MutexGuard<'_, Spent<K>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq + Clone> Spent<K> {
    /// The time until which the tries of `key` are used.
    fn of(&mut self, key: &K, now: Duration) -> &mut Duration {
        if self.by_key.len() >= MOST_KEYS && !self.by_key.contains_key(key) {
            self.forget_idle_keys(now);
            if self.by_key.len() >= MOST_KEYS {
                return self.by_others.get_or_insert(now);
            }
        }
        self.by_key.entry(key.clone()).or_insert(now)
    }

    fn forget_idle_keys(&mut self, now: Duration) {
        let is_soon = |forgot: Duration| now.saturating_sub(forgot) < FORGET_EVERY;
        if !self.forgot.is_some_and(is_soon) {
            self.forgot = Some(now);
            self.by_key.retain(|_, spent| *spent > now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    const START: Duration = Duration::from_secs(1000);

    fn throttle<K: Hash + Eq + Clone>(at_once: u32) -> Throttle<K> {
        Throttle::new(NonZeroU32::new(at_once).unwrap(), MINUTE)
    }

    #[test]
    fn each_key_has_its_own_bound_and_one_more_after_each_pause() {
        let (throttle, now) = (throttle(2), START);
        assert_eq!(throttle.one_at(&"a", now), Ok(()));
        assert_eq!((throttle.may_at(&"a", now), throttle.one_at(&"a", now)), (Ok(()), Ok(())));
        assert_eq!(throttle.may_at(&"a", now), Err(MINUTE), "known before the next try");
        let later = now + MINUTE - Duration::from_millis(1);
        assert_eq!(throttle.one_at(&"a", later), Err(Duration::from_millis(1)));
        assert_eq!(throttle.one_at(&"b", later), Ok(()));
        assert_eq!(throttle.one_at(&"a", now + MINUTE), Ok(()), "what was refused did not count");
        assert_eq!(throttle.one_at(&"a", now + MINUTE), Err(MINUTE));
        let refilled = now + 10 * MINUTE;
        for turn in [Ok(()), Ok(()), Err(MINUTE)] {
            assert_eq!(throttle.one_at(&"a", refilled), turn);
        }
    }

    #[test]
    fn a_returned_attempt_may_be_used_once_more() {
        let (throttle, now) = (throttle(2), START);
        for _ in 0..5 {
            assert_eq!(throttle.one_at(&"a", now), Ok(()));
            throttle.give_back(&"a");
        }
        assert_eq!((throttle.one_at(&"a", now), throttle.one_at(&"a", now)), (Ok(()), Ok(())));
        throttle.give_back(&"b");
        assert_eq!(throttle.one_at(&"a", now), Err(MINUTE));
        throttle.give_back(&"a");
        assert_eq!((throttle.one_at(&"a", now), throttle.one_at(&"a", now)), (Ok(()), Err(MINUTE)));
    }

    #[test]
    fn the_number_of_keys_is_bounded_and_known_keys_stay() {
        let (throttle, now) = (throttle(1), START);
        for key in 0..MOST_KEYS {
            assert_eq!(throttle.one_at(&key, now), Ok(()));
        }
        assert_eq!(throttle.one_at(&MOST_KEYS, now), Ok(()), "the first of the others");
        assert!(throttle.one_at(&(MOST_KEYS + 1), now).is_err(), "who share one bound");
        assert_eq!(throttle.may_at(&(MOST_KEYS + 1), now), Ok(()));
        assert!(throttle.one_at(&0, now).is_err());
        assert_eq!(throttle.spent().by_key.len(), MOST_KEYS);
        let later = now + 2 * MINUTE;
        assert_eq!(throttle.one_at(&(MOST_KEYS + 1), later), Ok(()));
        assert_eq!(throttle.spent().by_key.len(), 1, "those at rest are forgotten");
    }
}
