//! A map with a bounded number of keys: those without use for the longest time give way. Pure.

use std::collections::HashMap;
use std::hash::Hash;

/// Two maps. When the younger one is half of the whole, the older one is dropped. A use moves a key to the younger.
#[derive(Debug)]
pub(super) struct BoundedMap<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    most: usize,
}

impl<K: Hash + Eq + Copy, V: Copy> BoundedMap<K, V> {
    /// A map with at most `most` keys.
    pub(super) fn new(most: usize) -> Self {
        BoundedMap { young: HashMap::new(), old: HashMap::new(), most }
    }

    pub(super) fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    pub(super) fn insert(&mut self, key: K, value: V) {
        self.young.insert(key, value);
        if self.young.len() >= self.most / 2 {
            self.old = std::mem::take(&mut self.young);
        }
    }

    pub(super) fn remove(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.young.len() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_in_use_stay_and_others_give_way() {
        let mut map = BoundedMap::new(100);
        map.insert(0, 0);
        for number in 1..10_000 {
            map.insert(number, number);
            let own = map.get(&0).unwrap();
            map.insert(0, own + 1);
            assert!(map.len() <= 100, "{} keys", map.len());
        }
        assert_eq!((map.get(&0), map.get(&9999), map.get(&1)), (Some(9999), Some(9999), None));
        map.remove(&0);
        assert_eq!(map.get(&0), None);
    }
}
