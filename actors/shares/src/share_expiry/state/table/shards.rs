//! Shares by their ids, in shards. Readers use one shard while the owner changes another. A frozen table
//! shares all shards until they change.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use hashbrown::HashTable;
use reelyard_core::clock::Millis;

use super::share::Share;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::value_types::Tombstone;

/// The number of shards. If a share changes while a frozen table holds its shard, the shard is copied. So
/// a single change waits less with smaller shards. With a million shares each shard has a hundred, so its
/// table is well filled. No event depends on it.
const SHARDS: usize = 10_000;

/// The share or tombstone of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShareLookup {
    /// A live share, as applied. [`Share::is_live`] says whether it is live now.
    Live(Arc<Share>),
    /// The share has ended.
    Ended(Tombstone),
    /// No such share, or it ended too long ago.
    Unknown,
}

/// One shard of the table.
#[derive(Clone, Default)]
pub(in crate::share_expiry) struct Shard {
    shares: HashTable<Arc<Share>>,
    tombstones: HashTable<(ShareId, Tombstone)>,
}

/// All of them, in the order of the ids.
pub(in crate::share_expiry) struct Shards {
    shards: Box<[RwLock<Arc<Shard>>]>,
    /// How often shares of each shard were used in this process. Readers notice changes by it; it may begin again at 0.
    uses: Box<[AtomicU32]>,
}

impl Default for Shards {
    fn default() -> Self {
        Shards {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            uses: (0..SHARDS).map(|_| AtomicU32::default()).collect(),
        }
    }
}

/// Ids are random, except in tests.
fn hash(id: ShareId) -> u64 {
    (id.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26)
}

fn hash_of(share: &Arc<Share>) -> u64 {
    hash(share.id())
}

impl Shard {
    fn live(&self, id: ShareId) -> Option<&Arc<Share>> {
        self.shares.find(hash(id), |share| share.id() == id)
    }

    fn tombstone(&self, id: ShareId) -> Option<&Tombstone> {
        self.tombstones.find(hash(id), |(ended, _)| *ended == id).map(|(_, tombstone)| tombstone)
    }

    /// Its shares, in no particular order.
    pub(in crate::share_expiry) fn shares(&self) -> impl ExactSizeIterator<Item = &Arc<Share>> {
        self.shares.iter()
    }

    /// Its tombstones, in no particular order.
    pub(in crate::share_expiry) fn tombstones(
        &self,
    ) -> impl ExactSizeIterator<Item = &(ShareId, Tombstone)> {
        self.tombstones.iter()
    }
}

impl Shards {
    /// The share or tombstone of `id`.
    pub(in crate::share_expiry) fn find(&self, id: ShareId) -> ShareLookup {
        let shard = self.read(self.place(id));
        match (shard.live(id), shard.tombstone(id)) {
            (Some(share), _) => ShareLookup::Live(Arc::clone(share)),
            (None, Some(tombstone)) => ShareLookup::Ended(*tombstone),
            (None, None) => ShareLookup::Unknown,
        }
    }

    /// Reads one part of the share of this id.
    pub(in crate::share_expiry) fn look<T>(
        &self,
        id: ShareId,
        look: impl FnOnce(&Share) -> T,
    ) -> Option<T> {
        self.read(self.place(id)).live(id).map(|share| look(share))
    }

    /// Adds a share, or replaces the one with its id.
    pub(in crate::share_expiry) fn insert(&self, share: Arc<Share>) {
        let mut shard = self.write(self.place(share.id()));
        let shares = &mut Arc::make_mut(&mut shard).shares;
        let id = share.id();
        match shares.find_mut(hash(id), |other| other.id() == id) {
            Some(other) => *other = share,
            None => {
                shares.insert_unique(hash(id), share, hash_of);
            }
        }
    }

    /// Replaces a share by its tombstone, if `ends` says so. Returns the share and its tombstone.
    pub(in crate::share_expiry) fn replace_with_tombstone(
        &self,
        id: ShareId,
        ends: impl FnOnce(&Share) -> Option<Tombstone>,
    ) -> Option<(Arc<Share>, Tombstone)> {
        let mut shard = self.write(self.place(id));
        let tombstone = ends(shard.live(id)?)?;
        let Shard { shares, tombstones } = Arc::make_mut(&mut shard);
        let (share, _) = shares.find_entry(hash(id), |share| share.id() == id).ok()?.remove();
        tombstones.insert_unique(hash(id), (id, tombstone), |(id, _)| hash(*id));
        Some((share, tombstone))
    }

    /// Reserves room for this many shares.
    pub(in crate::share_expiry) fn expect(&self, shares: usize) {
        let of_one = shares / SHARDS + 1;
        for place in 0..self.shards.len() {
            Arc::make_mut(&mut self.write(place)).shares.reserve(of_one, hash_of);
        }
    }

    /// Adds a tombstone. Answers whether none had this id.
    pub(in crate::share_expiry) fn insert_tombstone(
        &self,
        id: ShareId,
        tombstone: Tombstone,
    ) -> bool {
        let mut shard = self.write(self.place(id));
        let is_new = shard.tombstone(id).is_none() && shard.live(id).is_none();
        if is_new {
            let tombstones = &mut Arc::make_mut(&mut shard).tombstones;
            tombstones.insert_unique(hash(id), (id, tombstone), |(id, _)| hash(*id));
        }
        is_new
    }

    /// Cuts running downloads of an ended share. Answers whether this changed anything.
    pub(in crate::share_expiry) fn cut(&self, id: ShareId) -> bool {
        let mut shard = self.write(self.place(id));
        if shard.tombstone(id).is_none_or(|tombstone| tombstone.cut) {
            return false;
        }
        let tombstones = &mut Arc::make_mut(&mut shard).tombstones;
        if let Some((_, tombstone)) = tombstones.find_mut(hash(id), |(ended, _)| *ended == id) {
            tombstone.cut = true;
        }
        true
    }

    /// Removes a tombstone.
    pub(in crate::share_expiry) fn forget(&self, id: ShareId) {
        let mut shard = self.write(self.place(id));
        let tombstones = &mut Arc::make_mut(&mut shard).tombstones;
        if let Ok(entry) = tombstones.find_entry(hash(id), |(ended, _)| *ended == id) {
            entry.remove();
        }
    }

    /// The shards as they are now.
    pub(in crate::share_expiry) fn freeze(&self) -> Vec<Arc<Shard>> {
        (0..self.shards.len()).map(|place| Arc::clone(&self.read(place))).collect()
    }

    /// The shards from that of `id` on, each in its state at the time of the read.
    pub(in crate::share_expiry) fn from(&self, id: ShareId) -> impl Iterator<Item = Arc<Shard>> {
        (self.place(id)..self.shards.len()).map(|place| Arc::clone(&self.read(place)))
    }

    /// Records a use of a share at `now`, if it is there.
    pub(in crate::share_expiry) fn record_use(&self, id: ShareId, now: Millis) {
        self.look(id, |share| share.use_at(now));
        self.uses[self.place(id)].fetch_add(1, Ordering::Relaxed);
    }

    /// How often shares of each shard were used, in the order of [`Shards::from`] the least id.
    pub(in crate::share_expiry) fn uses(&self) -> impl Iterator<Item = u32> {
        self.uses.iter().map(|uses| uses.load(Ordering::Relaxed))
    }

    fn place(&self, id: ShareId) -> usize {
        // The first 32 bits of the id, scaled to the number of shards: always below it.
        (((id.0 >> 96) * SHARDS as u128) >> 32) as usize
    }

    fn read(&self, place: usize) -> RwLockReadGuard<'_, Arc<Shard>> {
        // No code under a lock can panic during a change.
        self.shards[place].read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, place: usize) -> RwLockWriteGuard<'_, Arc<Shard>> {
        self.shards[place].write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share_expiry::samples::share;
    use crate::share_expiry::state::values::value_types::{Deadline, ShareEnding};

    fn tombstone() -> Tombstone {
        let deadline = Deadline::at(Millis(9));
        Tombstone { ended: Millis(5), why: ShareEnding::Revoked, deadline, number: 3, cut: false }
    }

    #[test]
    fn a_share_is_found_until_it_ends_and_its_tombstone_until_forgotten() {
        let shards = Shards::default();
        let ids = [ShareId(1), ShareId(2), ShareId(u128::MAX), ShareId(u128::MAX - 1)];
        for id in ids {
            assert_eq!(shards.find(id), ShareLookup::Unknown);
            shards.insert(share(id.0, "a", 100));
            assert_eq!(shards.find(id), ShareLookup::Live(share(id.0, "a", 100)));
            shards.insert(share(id.0, "b", 100));
            assert_eq!(shards.find(id), ShareLookup::Live(share(id.0, "b", 100)));
        }
        assert!(shards.replace_with_tombstone(ids[0], |_| None).is_none());
        assert!(shards.replace_with_tombstone(ShareId(77), |_| Some(tombstone())).is_none());
        for id in ids {
            assert!(shards.replace_with_tombstone(id, |_| Some(tombstone())).is_some());
            assert_eq!(shards.find(id), ShareLookup::Ended(tombstone()));
            assert!(shards.cut(id) && !shards.cut(id));
            assert_eq!(shards.find(id), ShareLookup::Ended(Tombstone { cut: true, ..tombstone() }));
            shards.forget(id);
            assert_eq!(shards.find(id), ShareLookup::Unknown);
        }
    }

    #[test]
    fn frozen_shards_stay_as_they_were() {
        let shards = Shards::default();
        shards.insert(share(1, "a", 100));
        let frozen = shards.freeze();
        shards.replace_with_tombstone(ShareId(1), |_| Some(tombstone()));
        shards.insert(share(2, "b", 100));
        let held: Vec<_> = frozen.iter().flat_map(|shard| shard.shares()).collect();
        assert_eq!(held, [&share(1, "a", 100)]);
    }
}
