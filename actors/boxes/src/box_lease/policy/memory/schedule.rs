//! Due work by its time. Pure; times are of the monotonic clock.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::time::Duration;

/// Keys with their due times, at most one for each key. Every operation takes logarithmic time.
#[derive(Clone, Debug)]
pub struct KeyedDeadlines<K> {
    by_time: BTreeSet<(Duration, K)>,
    times: HashMap<K, Duration>,
}

impl<K> Default for KeyedDeadlines<K> {
    fn default() -> Self {
        KeyedDeadlines { by_time: BTreeSet::new(), times: HashMap::new() }
    }
}

impl<K: Clone + Ord + Hash> KeyedDeadlines<K> {
    /// Sets the due time of `key`, and removes its earlier one.
    pub fn set(&mut self, key: K, at: Duration) {
        self.remove(&key);
        self.times.insert(key.clone(), at);
        self.by_time.insert((at, key));
    }

    /// Removes `key`.
    pub fn remove(&mut self, key: &K) {
        if let Some((key, at)) = self.times.remove_entry(key) {
            self.by_time.remove(&(at, key));
        }
    }

    /// Whether `key` has its turn some time.
    pub fn has(&self, key: &K) -> bool {
        self.times.contains_key(key)
    }

    /// The due time of `key`.
    pub fn at(&self, key: &K) -> Option<Duration> {
        self.times.get(key).copied()
    }

    /// Takes the first entry that is due at `now`.
    pub fn take_due(&mut self, now: Duration) -> Option<K> {
        let (at, _) = self.by_time.first().filter(|(at, _)| *at <= now)?;
        let at = *at;
        let (_, key) = self.by_time.pop_first()?;
        assert_eq!(self.times.get(&key), Some(&at));
        self.times.remove(&key);
        Some(key)
    }

    /// The time of the next due entry.
    pub fn next(&self) -> Option<Duration> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.by_time.clear();
        self.times.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_turn_once_at_the_instant_that_was_set_last() {
        let ms = Duration::from_millis;
        let mut schedule = KeyedDeadlines::default();
        for (key, at) in [("a", 5), ("b", 3), ("c", 3), ("a", 4), ("d", 1)] {
            schedule.set(key, ms(at));
        }
        schedule.remove(&"d");
        assert_eq!((schedule.len(), schedule.next()), (3, Some(ms(3))));
        assert_eq!(schedule.take_due(ms(2)), None);
        let due: Vec<_> = std::iter::from_fn(|| schedule.take_due(ms(4))).collect();
        assert_eq!(due, ["b", "c", "a"]);
        assert!(schedule.is_empty());
    }
}
