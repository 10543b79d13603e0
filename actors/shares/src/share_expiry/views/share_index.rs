//! The shares as rows of a list. Lists are sorted, filtered and counted by them, without a look at the shares
//! themselves.
//!
//! The index keeps the rows of each shard until the shard changes, so a look at a million shares reads only what is
//! new. It is built at the first look.

use std::ops::{ControlFlow, Range};
use std::sync::{Arc, Weak};

use hashbrown::HashMap;
use memchr::memmem::Finder;
use reelyard_core::clock::Millis;
use reelyard_core::page_order::ItemNumber;

use super::share_state::ShareState;
use crate::share_expiry::state::table::shards::{Shard, Shards};
use crate::share_expiry::state::table::share::Share;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::value_types::Deadline;

/// Bits of a row's number that are its position in its shard. The other bits are the shard.
const ROW_BITS: u32 = 18;

/// All shares at one moment, in the order of their ids.
#[derive(Default)]
pub struct ShareIndex(Vec<Arc<IndexedShard>>);

/// The facts of a share that lists are sorted, filtered and counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexedShare {
    /// Finds the share itself.
    pub id: ShareId,
    /// When it ends without further changes.
    pub due: Deadline,
    /// Counted downloads; its uses if it has no limit. Uses are those of the last change of its shard, or of the last
    /// look that asked for them.
    pub downloads: u32,
    /// Whether its last download was counted.
    is_exhausted: bool,
    /// Where its text begins, and where its owner begins in it.
    text: u32,
    owner: u32,
}

/// The rows of a shard as it was at the last look.
struct IndexedShard {
    /// The shard may have been dropped. Its address is not used again before this is.
    of: Weak<Shard>,
    /// How often its shares had been used.
    uses: u32,
    rows: Vec<IndexedShare>,
    /// Of each row: root, a slash, path, NUL, owner, NUL. None of these contains NUL.
    texts: Vec<u8>,
}

impl IndexedShare {
    /// The state at `now`.
    pub fn state(&self, now: Millis) -> ShareState {
        match (self.due.is_after(now), self.is_exhausted) {
            (false, _) => ShareState::Due,
            (true, true) => ShareState::Exhausted,
            (true, false) => ShareState::Live,
        }
    }
}

impl IndexedShard {
    fn of(shard: &Arc<Shard>, uses: u32) -> Self {
        let mut shares: Vec<&Arc<Share>> = shard.shares().collect();
        shares.sort_unstable_by_key(|share| share.id());
        // A row has its place in the number of an item. No shard of random ids comes near.
        shares.truncate(1 << ROW_BITS);
        let mut texts = Vec::new();
        let rows = shares.iter().map(|share| row(share, &mut texts)).collect();
        IndexedShard { of: Arc::downgrade(shard), uses, rows, texts }
    }

    fn is_of(&self, shard: &Arc<Shard>) -> bool {
        std::ptr::eq(self.of.as_ptr(), Arc::as_ptr(shard))
    }

    /// The positions of the rows whose texts contain this one, until `found` breaks off.
    fn containing(
        &self,
        text: &Finder<'_>,
        mut found: impl FnMut(usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (mut from, mut next) = (0, 0);
        while let Some(offset) = self.texts.get(from..).and_then(|rest| text.find(rest)) {
            let at = from + offset;
            // Step by step: a short text is in most rows.
            while self.rows.get(next).is_some_and(|row| row.text as usize <= at) {
                next += 1;
            }
            found(next.saturating_sub(1))?;
            from = self.rows.get(next).map_or(self.texts.len(), |row| row.text as usize);
        }
        ControlFlow::Continue(())
    }
}

/// The row of a share, and its text.
fn row(share: &Share, texts: &mut Vec<u8>) -> IndexedShare {
    // A shard has at most 2^18 rows of a few kilobytes; its texts are far below 4 GiB.
    let text = texts.len() as u32;
    texts.extend_from_slice(share.root().as_str().as_bytes());
    texts.push(b'/');
    texts.extend_from_slice(share.path().as_str().as_bytes());
    texts.push(0);
    let owner = texts.len() as u32;
    let name = share.owner().map(|owner| owner.as_str()).unwrap_or_default();
    texts.extend_from_slice(name.as_bytes());
    texts.push(0);
    IndexedShare {
        id: share.id(),
        due: share.due(),
        downloads: share.downloads().map_or_else(|| share.uses(), |limit| limit.taken()),
        is_exhausted: share.exhausted().is_some(),
        text,
        owner,
    }
}

/// How new the uses of shares without a limit must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsesNeeded {
    /// The latest ones. The shards with new uses are read again.
    Latest,
    /// Those of the last look are good enough.
    Any,
}

/// A part of the text of a share, for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexedText {
    /// Root and path.
    Path,
    /// The owner; empty without one.
    Owner,
}

/// The changes of an index since an earlier one.
pub(super) struct IndexChanges {
    /// Of each shard that is not the same: the numbers of its earlier rows now. None for rows that are not there any more, or
    /// not in the same place of an order.
    moved: HashMap<u32, Vec<Option<ItemNumber>>>,
    /// All other rows.
    pub(super) added: Vec<ItemNumber>,
}

impl IndexChanges {
    /// The number of an earlier row now.
    pub(super) fn number_now(&self, earlier: ItemNumber) -> Option<ItemNumber> {
        let (place, position) = (earlier >> ROW_BITS, place_of(earlier).1);
        match self.moved.get(&place) {
            None => Some(earlier),
            Some(numbers) => numbers.get(position).copied().flatten(),
        }
    }
}

impl ShareIndex {
    /// The same index with the shards that changed since.
    pub(in crate::share_expiry) fn refreshed(
        &self,
        shards: &Shards,
        uses_needed: UsesNeeded,
    ) -> Self {
        let mut rows = Vec::with_capacity(self.0.len());
        // The uses before the shard: after a use in between, the shard is read once more.
        for (place, (uses, shard)) in shards.uses().zip(shards.from(ShareId(0))).enumerate() {
            let has_uses =
                |known: &IndexedShard| uses_needed == UsesNeeded::Any || known.uses == uses;
            let known = self.0.get(place).filter(|known| known.is_of(&shard) && has_uses(known));
            rows.push(match known {
                Some(known) => Arc::clone(known),
                None => Arc::new(IndexedShard::of(&shard, uses)),
            });
        }
        ShareIndex(rows)
    }

    /// Whether all rows are those of another index.
    pub fn is_same(&self, other: &ShareIndex) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(one, other)| Arc::ptr_eq(one, other))
    }

    /// Shows every share, in the order of the ids.
    pub fn visit(&self, mut visit: impl FnMut(ItemNumber, &IndexedShare)) {
        for (place, shard) in (0..).zip(&self.0) {
            for (position, row) in (0..).zip(&shard.rows) {
                visit(number(place, position), row);
            }
        }
    }

    /// Shows every share whose root and path, or whose owner, contains a text.
    pub fn visit_containing(&self, text: &str, mut visit: impl FnMut(ItemNumber, &IndexedShare)) {
        // Without a break it never ends early.
        let _ = self.visit_containing_until(text, |item, row| {
            visit(item, row);
            ControlFlow::Continue(())
        });
    }

    /// The same until the visitor breaks off.
    pub fn visit_containing_until(
        &self,
        text: &str,
        mut visit: impl FnMut(ItemNumber, &IndexedShare) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if text.contains('\0') {
            return ControlFlow::Continue(());
        }
        let finder = Finder::new(text.as_bytes());
        for (place, shard) in (0..).zip(&self.0) {
            shard.containing(&finder, |position| match shard.rows.get(position) {
                Some(row) => visit(number(place, position as u32), row),
                None => ControlFlow::Continue(()),
            })?;
        }
        ControlFlow::Continue(())
    }

    /// The share of this number. The number is of the same index.
    pub fn share(&self, item: ItemNumber) -> Option<&IndexedShare> {
        let (place, position) = place_of(item);
        self.0.get(place)?.rows.get(position)
    }

    /// A text of a share. The number is of the same index.
    pub(super) fn text(&self, text: IndexedText, item: ItemNumber) -> &[u8] {
        let (place, position) = place_of(item);
        self.0.get(place).map_or(&[], |shard| shard.text(position, text))
    }

    /// How many shares there are.
    pub fn len(&self) -> usize {
        self.0.iter().map(|shard| shard.rows.len()).sum()
    }

    /// Whether there is no share.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many shares are in each shard, in the order of their numbers.
    pub(super) fn shard_lengths(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|shard| shard.rows.len())
    }

    /// The rows that are not the same as in an earlier index.
    pub(super) fn changes_since(&self, earlier: &ShareIndex) -> IndexChanges {
        let mut changes = IndexChanges { moved: HashMap::new(), added: Vec::new() };
        for (place, shard) in (0..).zip(&self.0) {
            let before = earlier.0.get(place as usize);
            if before.is_some_and(|before| Arc::ptr_eq(before, shard)) {
                continue;
            }
            let mut now = vec![None; before.map_or(0, |before| before.rows.len())];
            for (position, row) in shard.rows.iter().enumerate() {
                let item = number(place, position as u32);
                match before.and_then(|before| before.same_row(row.id, shard, position)) {
                    Some(earlier) => now[earlier] = Some(item),
                    None => changes.added.push(item),
                }
            }
            if before.is_some() {
                changes.moved.insert(place, now);
            }
        }
        changes
    }
}

impl IndexedShard {
    /// The position of the share that a later shard has here, if it has the same place in all orders.
    fn same_row(&self, id: ShareId, later: &IndexedShard, position: usize) -> Option<usize> {
        let earlier = self.rows.binary_search_by_key(&id, |row| row.id).ok()?;
        let places = |shard: &IndexedShard, position: usize| {
            shard.rows.get(position).map(|row| (row.due, row.downloads))
        };
        let is_same = places(self, earlier) == places(later, position)
            && [IndexedText::Path, IndexedText::Owner]
                .into_iter()
                .all(|text| self.text(earlier, text) == later.text(position, text));
        is_same.then_some(earlier)
    }

    fn text(&self, position: usize, text: IndexedText) -> &[u8] {
        let span = self.rows.get(position).map(|row| self.span(row, position, text));
        span.and_then(|span| self.texts.get(span)).unwrap_or_default()
    }

    /// Where a text of this row is, without the NUL behind it.
    fn span(&self, row: &IndexedShare, position: usize, text: IndexedText) -> Range<usize> {
        match text {
            IndexedText::Path => row.text as usize..row.owner as usize - 1,
            IndexedText::Owner => {
                let next = self.rows.get(position + 1).map(|next| next.text as usize);
                row.owner as usize..next.unwrap_or(self.texts.len()) - 1
            }
        }
    }
}

const fn number(place: u32, position: u32) -> ItemNumber {
    place << ROW_BITS | position
}

pub(super) const fn place_of(item: ItemNumber) -> (usize, usize) {
    ((item >> ROW_BITS) as usize, (item & ((1 << ROW_BITS) - 1)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share_expiry::samples::share;

    /// An id in a shard of its own.
    fn id(number: u32) -> u128 {
        u128::from(number) << 108
    }

    fn shards(paths: &[&str]) -> Shards {
        let shards = Shards::default();
        for (number, path) in (1..).zip(paths) {
            shards.insert(share(id(number), path, i64::from(number)));
        }
        shards
    }

    fn containing(index: &ShareIndex, text: &str) -> Vec<u128> {
        let mut found = Vec::new();
        index.visit_containing(text, |item, row| {
            assert_eq!(index.share(item), Some(row));
            found.push(row.id.0);
        });
        found
    }

    #[test]
    fn only_changed_shards_are_read_again() {
        let shards = shards(&["a", "b", "c"]);
        let index = ShareIndex::default().refreshed(&shards, UsesNeeded::Any);
        assert!(index.refreshed(&shards, UsesNeeded::Any).is_same(&index));
        shards.insert(share(id(2), "other", 9));
        let next = index.refreshed(&shards, UsesNeeded::Any);
        assert!(!next.is_same(&index));
        let read_again = index.0.iter().zip(&next.0).filter(|(old, new)| !Arc::ptr_eq(old, new));
        assert_eq!(read_again.count(), 1);
        let seen = |index: &ShareIndex| {
            let mut seen = Vec::new();
            index.visit(|_, row| seen.push((row.id.0, row.due)));
            seen
        };
        let due = |at| Deadline::at(Millis(at));
        assert_eq!(seen(&index), [(id(1), due(1)), (id(2), due(2)), (id(3), due(3))]);
        assert_eq!(seen(&next), [(id(1), due(1)), (id(2), due(9)), (id(3), due(3))]);
    }

    #[test]
    fn uses_are_read_again_only_on_demand() {
        let shards = shards(&["a"]);
        let index = ShareIndex::default().refreshed(&shards, UsesNeeded::Latest);
        shards.record_use(ShareId(id(1)), Millis(5));
        let downloads = |index: &ShareIndex| {
            let mut downloads = 0;
            index.visit(|_, row| downloads = row.downloads);
            downloads
        };
        let of_any = index.refreshed(&shards, UsesNeeded::Any);
        let latest = index.refreshed(&shards, UsesNeeded::Latest);
        assert_eq!([&index, &of_any, &latest].map(downloads), [0, 0, 1]);
    }

    #[test]
    fn a_text_is_found_in_one_share_only() {
        let index = ShareIndex::default()
            .refreshed(&shards(&["film/a", "film/b", "b/film"]), UsesNeeded::Any);
        let root = crate::share_expiry::samples::root();
        assert_eq!(containing(&index, "film"), [1, 2, 3].map(id));
        assert_eq!(containing(&index, "/b"), [2, 3].map(id));
        assert_eq!(containing(&index, &format!("{}/b", root.as_str())), [id(3)]);
        assert!(containing(&index, "a\0").is_empty());
        assert!(containing(&index, "absent").is_empty());
    }

    #[test]
    fn several_shares_of_a_shard_have_texts_of_their_own() {
        let shards = Shards::default();
        for (number, path) in [(3, "c"), (1, "b"), (2, "a")] {
            shards.insert(share(number, path, 9));
        }
        let index = ShareIndex::default().refreshed(&shards, UsesNeeded::Any);
        let mut texts = Vec::new();
        index.visit(|item, row| {
            let text = |text| String::from_utf8_lossy(index.text(text, item)).into_owned();
            texts.push((row.id.0, text(IndexedText::Path), text(IndexedText::Owner)));
        });
        let root = crate::share_expiry::samples::root();
        let expected = [(1, "b"), (2, "a"), (3, "c")];
        let owner = texts[0].2.clone();
        assert_eq!(
            texts,
            expected.map(|(id, path)| (id, format!("{}/{path}", root.as_str()), owner.clone()))
        );
        assert_eq!(containing(&index, "c"), [3]);
    }
}
