//! Hits on names that the process does not know: neither graded, nor listed by a source directory or a
//! host. Viewers choose such names, so they are counted separately and in bounded memory. Pure.
//!
//! If a name becomes known later, it keeps its hits. If there is no room for more names, the oldest name
//! with only one hit is removed. So a flood of different names removes only names of the flood.

use std::collections::VecDeque;
use std::sync::Arc;

use hashbrown::HashMap;
use reelyard_core::names::{FileId, NameLookup, NameTable};

/// The largest number of counted names.
pub const MOST_NAMES: usize = 32 * 1024;

/// The largest number of seconds that are kept for one name. Beyond that, two seconds are merged into the
/// earlier one. So a hit leaves the window too early rather than too late.
const MOST_SECONDS: usize = 32;

/// How many names that were hit again are spared when room is needed.
const SPARED: usize = 64;

/// The hits on unknown names within the window.
#[derive(Debug, Default)]
pub struct UnknownHits {
    by_name: HashMap<Arc<[u8]>, Vec<HitsInSecond>>,
    /// The names in order of arrival; names that were spared are at the end again.
    queue: VecDeque<Arc<[u8]>>,
    /// Hits of all names.
    hits: usize,
    /// How many ids existed at the last search for known names.
    looked_at: u32,
}

/// Hits of one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitsInSecond {
    /// The second, in Unix time.
    pub second: i64,
    /// Number of hits in this second.
    pub count: u32,
}

impl UnknownHits {
    /// Takes a hit on `name` in `second`.
    pub fn hit(&mut self, name: &[u8], second: i64) {
        self.hits += 1;
        if let Some(seconds) = self.by_name.get_mut(name) {
            add(seconds, second);
            return;
        }
        if self.by_name.len() >= MOST_NAMES {
            self.make_room();
        }
        let name: Arc<[u8]> = name.into();
        self.queue.push_back(Arc::clone(&name));
        self.by_name.insert(name, vec![HitsInSecond { second, count: 1 }]);
    }

    fn make_room(&mut self) {
        for tries in 0..=SPARED {
            let Some(first) = self.queue.pop_front() else { return };
            let hits = self.by_name.get(&first).map_or(0, |seconds| total(seconds));
            if hits > 1 && tries < SPARED {
                self.queue.push_back(first);
                continue;
            }
            self.by_name.remove(&first);
            self.hits -= hits as usize;
            return;
        }
    }

    /// Drops the hits before the second `start`.
    pub fn expire(&mut self, start: i64) {
        let before = self.by_name.len();
        let mut left = 0;
        self.by_name.retain(|_, seconds| {
            seconds.retain(|hits| hits.second >= start);
            left += total(seconds) as usize;
            !seconds.is_empty()
        });
        self.hits = left;
        if self.by_name.len() < before {
            self.forget_queued();
        }
    }

    /// Removes the names that are now known, with their hits.
    pub fn take_known(&mut self, names: &NameTable) -> Vec<(FileId, Vec<HitsInSecond>)> {
        let given = names.ids_given();
        if std::mem::replace(&mut self.looked_at, given) == given {
            return Vec::new();
        }
        let reading: NameLookup<'_> = names.lookup();
        let known: Vec<(FileId, Arc<[u8]>)> = self
            .by_name
            .keys()
            .filter_map(|name| Some((reading.find(name)?, Arc::clone(name))))
            .collect();
        drop(reading);
        let mut taken = Vec::with_capacity(known.len());
        for (file, name) in known {
            let hits = self.by_name.remove(&name).unwrap_or_default();
            self.hits -= total(&hits) as usize;
            taken.push((file, hits));
        }
        if !taken.is_empty() {
            self.forget_queued();
        }
        taken
    }

    /// Removes names from the queue that are no longer counted: all at once, because there may be many.
    /// Gives back the memory of a flood that has ended.
    fn forget_queued(&mut self) {
        let by_name = &self.by_name;
        self.queue.retain(|name| by_name.contains_key(name));
        let names = self.by_name.len();
        if self.by_name.capacity() / 4 > names {
            self.by_name.shrink_to(names * 2);
            self.queue.shrink_to(names * 2);
        }
    }

    /// The `most` names with the most hits of those with `base` or more.
    pub fn hottest(&self, base: u32, most: usize) -> Vec<Arc<[u8]>> {
        let hot = self.by_name.iter().map(|(name, seconds)| (total(seconds), name));
        let mut hot: Vec<(u64, &Arc<[u8]>)> =
            hot.filter(|(hits, _)| *hits >= u64::from(base)).collect();
        hot.sort_unstable_by(|a, b| b.cmp(a));
        hot.into_iter().take(most).map(|(_, name)| Arc::clone(name)).collect()
    }

    /// Hits of all names.
    pub fn hits(&self) -> usize {
        self.hits
    }

    /// How many names there are.
    pub fn names(&self) -> usize {
        self.by_name.len()
    }
}

fn total(seconds: &[HitsInSecond]) -> u64 {
    seconds.iter().map(|hits| u64::from(hits.count)).sum()
}

fn add(seconds: &mut Vec<HitsInSecond>, second: i64) {
    match seconds.binary_search_by_key(&second, |hits| hits.second) {
        Ok(index) => seconds[index].count = seconds[index].count.saturating_add(1),
        Err(index) => seconds.insert(index, HitsInSecond { second, count: 1 }),
    }
    if seconds.len() > MOST_SECONDS {
        let pair = |pair: &[HitsInSecond]| {
            let count = pair.iter().fold(0_u32, |sum, hits| sum.saturating_add(hits.count));
            HitsInSecond { second: pair[0].second, count }
        };
        *seconds = seconds.chunks(2).map(pair).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_million_random_names_are_counted_in_bounded_memory() {
        let mut unknown = UnknownHits::default();
        unknown.hit(b"hot.mpg", 0);
        unknown.hit(b"hot.mpg", 1);
        // As many as make every bound hold many times over.
        for number in 0..20 * MOST_NAMES as u64 {
            let name = blake3::hash(&number.to_le_bytes()).to_hex();
            unknown.hit(name.as_bytes(), (number / 100_000) as i64);
        }
        assert_eq!((unknown.names(), unknown.queue.len()), (MOST_NAMES, MOST_NAMES));
        assert_eq!(unknown.hits(), MOST_NAMES + 1);
        // A name that was hit again is kept.
        assert_eq!(unknown.hottest(2, 9), [Arc::from(&b"hot.mpg"[..])]);
        for second in 0..10_000 {
            unknown.hit(b"hot.mpg", second);
        }
        let seconds = &unknown.by_name[&b"hot.mpg"[..]];
        assert!(seconds.len() <= MOST_SECONDS && total(seconds) == 10_002);
        unknown.expire(i64::MAX);
        assert_eq!((unknown.names(), unknown.queue.len(), unknown.hits()), (0, 0, 0));
        assert_eq!((unknown.by_name.capacity(), unknown.queue.capacity()), (0, 0));
    }

    #[test]
    fn a_name_that_is_known_later_takes_its_hits_along() {
        let (mut unknown, names) = (UnknownHits::default(), NameTable::new());
        for second in [5, 5, 9] {
            unknown.hit(b"a.mpg", second);
        }
        unknown.hit(b"b.mpg", 5);
        assert_eq!(unknown.take_known(&names), []);
        let file = names.intern_all([&b"a.mpg"[..]])[0].unwrap();
        let hits = vec![HitsInSecond { second: 5, count: 2 }, HitsInSecond { second: 9, count: 1 }];
        assert_eq!(unknown.take_known(&names), [(file, hits)]);
        assert_eq!((unknown.names(), unknown.hits(), unknown.queue.len()), (1, 1, 1));
    }
}
