//! A map that readers share: a clone costs nothing, and a change copies a small part. Pure.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, LazyLock};

/// How many parts a map has. A change after a clone copies one part. No event depends on it.
const PARTS: usize = 128;

/// All maps hash alike, so that a clone finds each key in the same part.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

type MapPart<K, V> = Arc<HashMap<K, V>>;

/// A map in parts that are copied on write. Its order is random: sort where order matters.
#[derive(Clone, Debug)]
pub(in crate::access) struct SharedMap<K, V> {
    parts: Arc<Vec<MapPart<K, V>>>,
    len: usize,
}

impl<K, V> Default for SharedMap<K, V> {
    fn default() -> Self {
        SharedMap { parts: Arc::new((0..PARTS).map(|_| Arc::default()).collect()), len: 0 }
    }
}

fn part_of<Q: Hash + ?Sized>(key: &Q) -> usize {
    // Less than PARTS, so it fits.
    (HASHER.hash_one(key) % PARTS as u64) as usize
}

impl<K: Hash + Eq + Clone, V: Clone> SharedMap<K, V> {
    pub(in crate::access) fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.parts.get(part_of(key))?.get(key)
    }

    pub(in crate::access) fn len(&self) -> usize {
        self.len
    }

    pub(in crate::access) fn values(&self) -> impl Iterator<Item = &V> {
        self.parts.iter().flat_map(|part| part.values())
    }

    /// Replaces the value of the key. Returns the former one.
    pub(in crate::access) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let number = part_of(&key);
        let part = Arc::make_mut(&mut self.parts).get_mut(number)?;
        let former = Arc::make_mut(part).insert(key, value);
        self.len += usize::from(former.is_none());
        former
    }

    /// Removes the key. Returns its value.
    pub(in crate::access) fn remove<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.get(key)?;
        let part = Arc::make_mut(&mut self.parts).get_mut(part_of(key))?;
        let former = Arc::make_mut(part).remove(key);
        self.len -= usize::from(former.is_some());
        former
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_stays_as_it_was() {
        let mut map = SharedMap::default();
        for number in 0..1000 {
            assert_eq!(map.insert(number, number), None);
        }
        let before = map.clone();
        assert_eq!(map.insert(7, 0), Some(7));
        assert_eq!((map.remove(&8), map.remove(&8)), (Some(8), None));
        assert_eq!((map.get(&7), map.get(&8), map.len()), (Some(&0), None, 999));
        assert_eq!((before.get(&7), before.get(&8), before.len()), (Some(&7), Some(&8), 1000));
        assert_eq!(before.values().sum::<i32>(), 999 * 500);
    }

    #[test]
    fn a_change_after_a_clone_copies_one_part() {
        let mut map = SharedMap::default();
        for number in 0..1000 {
            map.insert(number, number);
        }
        let before = map.clone();
        map.insert(5000, 1);
        let pairs = map.parts.iter().zip(before.parts.iter());
        assert_eq!(pairs.filter(|(now, then)| !Arc::ptr_eq(now, then)).count(), 1);
    }
}
