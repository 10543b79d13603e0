//! A set of the shares of an index.

use reelyard_core::page_order::ItemNumber;

use super::share_index::{ShareIndex, place_of};

/// Some shares of one index. It takes a bit for each share of the index.
pub struct ShareSet {
    /// The bit of the first share of each shard.
    begins: Vec<u32>,
    bits: Vec<u64>,
    len: usize,
}

impl ShareSet {
    /// No share of this index yet.
    pub fn of(index: &ShareIndex) -> Self {
        let mut all = 0;
        let begin = |length: usize| {
            let begin = all;
            all += length as u32;
            begin
        };
        let begins = index.shard_lengths().map(begin).collect();
        ShareSet { begins, bits: vec![0; (all as usize).div_ceil(64)], len: 0 }
    }

    /// Adds a share that is not in the set. The number is of the same index.
    pub fn add(&mut self, item: ItemNumber) {
        let bit = self.bit(item);
        if let Some(bits) = self.bits.get_mut(bit / 64) {
            *bits |= 1 << (bit % 64);
            self.len += 1;
        }
    }

    /// Whether the share is in the set. The number is of the same index.
    pub fn contains(&self, item: ItemNumber) -> bool {
        let bit = self.bit(item);
        self.bits.get(bit / 64).is_some_and(|bits| bits >> (bit % 64) & 1 == 1)
    }

    /// How many shares are in the set.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether no share is in the set.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn bit(&self, item: ItemNumber) -> usize {
        let (place, position) = place_of(item);
        self.begins.get(place).map_or(usize::MAX, |begin| *begin as usize + position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share_expiry::samples::share;
    use crate::share_expiry::state::table::shards::Shards;
    use crate::share_expiry::views::share_index::UsesNeeded;

    #[test]
    fn a_set_of_shares_has_those_that_were_added() {
        let shards = Shards::default();
        for number in 0..300_u128 {
            shards.insert(share(((number % 100) << 110) | number, "a", 9));
        }
        let index = ShareIndex::default().refreshed(&shards, UsesNeeded::Any);
        let mut set = ShareSet::of(&index);
        assert!(set.is_empty());
        index.visit(|item, row| {
            if row.id.0.is_multiple_of(3) {
                set.add(item);
            }
        });
        assert_eq!(set.len(), 100);
        index.visit(|item, row| assert_eq!(set.contains(item), row.id.0.is_multiple_of(3)));
    }
}
