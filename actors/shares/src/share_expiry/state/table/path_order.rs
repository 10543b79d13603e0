//! The shares of a table in the order of their paths: a directory and everything below it is one
//! range. Pure.
//!
//! The shares are in sorted [chunks](Chunk). Each share stores its chunk, so it is removed without a
//! search.
//!
//! **Invariants:** no chunk in use is empty. Within a root, keys only grow from one chunk to the next.
//! Keys before a slot begin with at most its head, and keys from the slot on with at least its head.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::path_chunk::{Chunk, MOST, WELL_FILLED};
use super::path_key::{HEAD, PathKey, PathPosition, PositionInPath, place_of};
use crate::share_expiry::state::table::share::{ChunkNumber, Share};
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::{RootName, SharePath};

/// A chunk with fewer shares is joined with the next, if both fit into one well filled chunk.
/// No event depends on it.
const LEAST: usize = 16;

/// The shares of each root, by path.
#[derive(Default)]
pub(in crate::share_expiry) struct PathOrder {
    /// The chunks of each root, in their order.
    roots: BTreeMap<RootName, Vec<ChunkSlot>>,
    /// The chunks by their numbers, including free ones.
    chunks: Vec<Chunk>,
    free: Vec<ChunkNumber>,
}

/// The position of a chunk among those of its root.
struct ChunkSlot {
    /// The lower bound of the keys from here on. Usually enough to find a chunk without reading it.
    head: [u8; HEAD],
    chunk: ChunkNumber,
}

impl PathOrder {
    /// Adds a share, or replaces the one with the same path and id.
    pub(in crate::share_expiry) fn insert(&mut self, share: Arc<Share>) {
        let root = share.root().clone();
        let Some(slots) = self.roots.get(&root) else {
            let slot = self.insert_chunk(Chunk::of(vec![share]));
            self.roots.insert(root, vec![slot]);
            return;
        };
        let of_it = Arc::clone(&share);
        let key = PathKey::of(&of_it);
        let at = self.chunk_slot_of(slots, &key);
        let number = slots[at].chunk;
        let chunk = &mut self.chunks[number as usize];
        share.set_chunk(number);
        let place = chunk.insert(&key, share);
        let behind = (chunk.shares().len() > MOST).then(|| chunk.split());
        let behind = behind.map(|chunk| self.insert_chunk(chunk));
        let Some(slots) = self.roots.get_mut(&root) else { return };
        if place == 0 {
            let head = &mut slots[at].head;
            *head = key.head().min(*head);
        }
        slots.splice(at + 1..at + 1, behind);
    }

    /// Removes a share: this record or, if it is not here, the record with its path and id.
    pub(in crate::share_expiry) fn remove(&mut self, share: &Share) {
        let Some(slots) = self.roots.get(share.root()) else { return };
        let (number, place) = match self.place_of_record(share) {
            Some(found) => found,
            None => {
                let key = PathKey::of(share);
                let number = slots[self.chunk_slot_of(slots, &key)].chunk;
                let Ok(place) = self.chunks[number as usize].find(&key) else { return };
                (number, place)
            }
        };
        let is_small = self.chunks[number as usize].shares().len() <= LEAST;
        // It exists as long as the share: no chunk that is searched is empty.
        let slot = is_small.then(|| self.chunk_slot_of(slots, &PathKey::of(share)));
        self.chunks[number as usize].remove(place);
        if let Some(slot) = slot {
            self.tidy(share.root(), slot);
        }
    }

    fn place_of_record(&self, share: &Share) -> Option<(ChunkNumber, usize)> {
        let number = share.chunk();
        Some((number, self.chunks.get(number as usize)?.place_of(share)?))
    }

    /// Frees an empty chunk, or joins a small one with the next.
    fn tidy(&mut self, root: &RootName, at: usize) {
        let Some(slots) = self.roots.get_mut(root) else { return };
        let number = slots[at].chunk;
        let left = self.chunks[number as usize].shares().len();
        if left == 0 {
            self.free.push(number);
            slots.remove(at);
            if slots.is_empty() {
                self.roots.remove(root);
            }
            return;
        }
        let Some(ChunkSlot { chunk: next, .. }) = slots.get(at + 1) else { return };
        if left + self.chunks[*next as usize].shares().len() <= WELL_FILLED {
            let behind = std::mem::take(&mut self.chunks[*next as usize]);
            behind.shares().iter().for_each(|share| share.set_chunk(number));
            self.free.push(*next);
            slots.remove(at + 1);
            self.chunks[number as usize].join(behind);
        }
    }

    /// Assigns a number and a slot to a chunk that is not empty.
    fn insert_chunk(&mut self, chunk: Chunk) -> ChunkSlot {
        let head = PathKey::of(chunk.first()).head();
        let number = self.free.pop().unwrap_or_else(|| {
            self.chunks.push(Chunk::default());
            // Memory cannot hold as many chunks as there are numbers.
            ChunkNumber::try_from(self.chunks.len() - 1).unwrap_or(ChunkNumber::MAX)
        });
        chunk.shares().iter().for_each(|share| share.set_chunk(number));
        self.chunks[number as usize] = chunk;
        ChunkSlot { head, chunk: number }
    }

    fn chunk(&self, slot: &ChunkSlot) -> &Chunk {
        &self.chunks[slot.chunk as usize]
    }

    /// The slot of the chunk that has a share with this key, or would have it.
    fn chunk_slot_of(&self, slots: &[ChunkSlot], key: &PathKey<'_>) -> usize {
        let head = key.head();
        let begins_before = |slot: &ChunkSlot| match slot.head.cmp(&head) {
            Ordering::Less => true,
            Ordering::Equal => key.is_from(self.chunk(slot).first()),
            Ordering::Greater => false,
        };
        slots.partition_point(begins_before).saturating_sub(1)
    }

    /// The shares of `path` and everything below it, after `after`.
    pub(in crate::share_expiry) fn within<'a>(
        &'a self,
        root: &'a RootName,
        path: &'a SharePath,
        after: Option<&'a (SharePath, ShareId)>,
    ) -> impl Iterator<Item = &'a Arc<Share>> {
        let place = |at| PathPosition { path: path.as_str(), at };
        let last = place(PositionInPath::BehindAllBelow);
        let after = after
            .map(|(path, id)| PathPosition { path: path.as_str(), at: PositionInPath::Share(*id) });
        // A caller may continue from a position outside of the path.
        let first = after.unwrap_or(place(PositionInPath::First)).max(place(PositionInPath::First));
        let slots = self.roots.get(root).map(Vec::as_slice).unwrap_or_default();
        let from = slots.partition_point(|slot| place_of(self.chunk(slot).last()) <= first);
        let shares = slots[from..].iter().enumerate().flat_map(move |(number, slot)| {
            let shares = self.chunk(slot).shares();
            let behind = |share: &Arc<Share>| place_of(share) <= first;
            let from = if number == 0 { shares.partition_point(behind) } else { 0 };
            &shares[from..]
        });
        shares.take_while(move |share| place_of(share) < last)
    }

    /// Sorts shares by it, root by root.
    pub(in crate::share_expiry) fn sort(shares: &mut [Arc<Share>]) {
        shares.sort_unstable_by(|a, b| {
            a.root().cmp(b.root()).then_with(|| place_of(a).cmp(&place_of(b)))
        });
    }

    /// The order of these shares, built at once.
    pub(in crate::share_expiry) fn of(mut shares: Vec<Arc<Share>>) -> Self {
        PathOrder::sort(&mut shares);
        let mut order = PathOrder::default();
        for of_root in shares.chunk_by(|a, b| a.root() == b.root()) {
            let chunks = of_root.chunks(WELL_FILLED).map(|shares| Chunk::of(shares.to_vec()));
            let slots = chunks.map(|chunk| order.insert_chunk(chunk)).collect();
            order.roots.insert(of_root[0].root().clone(), slots);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::share_expiry::samples::{path, root, share};

    fn within(order: &PathOrder, at: &str, after: Option<(&str, u128)>) -> Vec<String> {
        let (root, at) = (root(), path(at));
        let after = after.map(|(text, id)| (path(text), ShareId(id)));
        let found = order.within(&root, &at, after.as_ref());
        found.map(|share| format!("{}#{}", share.path(), share.id().0)).collect()
    }

    #[test]
    fn a_directory_and_all_below_it_is_one_range() {
        let mut order = PathOrder::default();
        let all = ["a", "a/b", "a/b/c", "a/b.txt", "a!", "a/b!x/y", "b", "", "a/\u{1}", "a\u{1}"];
        for (id, at) in all.iter().enumerate() {
            order.insert(share(id as u128, at, 9));
        }
        order.insert(share(77, "a/b", 9));
        assert_eq!(within(&order, "a/b", None), ["a/b#1", "a/b#77", "a/b/c#2"]);
        assert_eq!(within(&order, "a/b", Some(("a/b", 1))), ["a/b#77", "a/b/c#2"]);
        assert_eq!(within(&order, "a/b", Some(("a", 0))), ["a/b#1", "a/b#77", "a/b/c#2"]);
        assert!(within(&order, "a/b", Some(("b", 6))).is_empty());
        assert_eq!(
            within(&order, "a", None),
            ["a#0", "a/\u{1}#8", "a/b#1", "a/b#77", "a/b/c#2", "a/b!x/y#5", "a/b.txt#3"]
        );
        assert_eq!(within(&order, "", None).len(), 11);
        assert!(within(&order, "c", None).is_empty());
        order.remove(&share(1, "a/b", 9));
        assert_eq!(within(&order, "a/b", None), ["a/b#77", "a/b/c#2"]);
    }

    #[test]
    fn a_share_takes_the_place_of_its_former_record() {
        let mut order = PathOrder::default();
        order.insert(share(1, "a", 9));
        order.insert(share(1, "a", 10));
        let root = root();
        let at = path("a");
        let found: Vec<_> = order.within(&root, &at, None).collect();
        assert_eq!(found, [&share(1, "a", 10)]);
    }

    /// Checks the invariants of the order.
    fn check(order: &PathOrder) {
        let in_use: usize = order.roots.values().map(Vec::len).sum();
        assert_eq!(in_use + order.free.len(), order.chunks.len());
        for slots in order.roots.values() {
            assert!(!slots.is_empty());
            assert!(slots.is_sorted_by_key(|slot| slot.head));
            for (number, slot) in slots.iter().enumerate() {
                let chunk = order.chunk(slot);
                chunk.check();
                let before = number.checked_sub(1).map(|before| order.chunk(&slots[before]).last());
                assert!(before.is_none_or(|last| PathKey::of(last).head() <= slot.head));
                assert!(slot.head <= PathKey::of(chunk.first()).head());
                assert!(chunk.shares().iter().all(|share| share.chunk() == slot.chunk));
            }
            let all: Vec<_> = slots.iter().flat_map(|slot| order.chunk(slot).shares()).collect();
            assert!(all.is_sorted_by(|a, b| place_of(a) < place_of(b)));
        }
    }

    #[test]
    fn the_path_order_compares_components_after_any_changes() {
        for seed in 0..12 {
            let mut random = fastrand::Rng::with_seed(seed);
            let names = ["a", "a.b", "ab", "film", "film-01", "film-02", "z\u{1}", "\u{e9}t\u{e9}"];
            let mut text = || {
                let depth = random.usize(0..4);
                let parts: Vec<String> = (0..=depth)
                    .map(|_| format!("{}{}", names[random.usize(..names.len())], random.u8(..6)))
                    .collect();
                parts.join("/")
            };
            // Components compared one by one.
            let key =
                |text: &str, id: u128| (text.split('/').map(str::to_owned).collect::<Vec<_>>(), id);
            let (mut order, mut model) = (PathOrder::default(), BTreeSet::new());
            let mut all: Vec<(String, u128)> = (0..4000).map(|id| (text(), id)).collect();
            let mut records = BTreeMap::new();
            for (text, id) in &all {
                let record = share(*id, text, 9);
                records.insert(*id, Arc::clone(&record));
                order.insert(record);
                model.insert(key(text, *id));
            }
            check(&order);
            fastrand::Rng::with_seed(seed).shuffle(&mut all);
            let made_at_once =
                PathOrder::of(all.iter().map(|(text, id)| share(*id, text, 9)).collect());
            check(&made_at_once);
            for (round, gone) in all.chunks(500).enumerate() {
                let expected: Vec<String> =
                    model.iter().map(|(parts, id)| format!("{}#{id}", parts.join("/"))).collect();
                assert!(within(&order, "", None) == expected, "seed {seed}, round {round}");
                if round == 0 {
                    assert!(within(&made_at_once, "", None) == expected, "seed {seed}");
                }
                let at = &gone[0].0;
                let below = format!("{at}/");
                let of_it = |place: &&String| {
                    place.starts_with(&below) || place.starts_with(&format!("{at}#"))
                };
                let inside: Vec<&String> = expected.iter().filter(of_it).collect();
                assert!(within(&order, at, None).iter().eq(inside), "seed {seed}, at {at}");
                for (text, id) in gone {
                    // By the very record, or by its key.
                    match records.remove(id).filter(|_| id % 3 > 0) {
                        Some(record) => order.remove(&record),
                        None => order.remove(&share(*id, text, 9)),
                    }
                    model.remove(&key(text, *id));
                }
                check(&order);
            }
            assert!(order.roots.is_empty() && order.free.len() == order.chunks.len());
        }
    }
}
