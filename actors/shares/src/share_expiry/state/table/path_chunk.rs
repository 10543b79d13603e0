//! Sorted chunks of shares, and the search for a share in one. Pure.
//!
//! For each share a chunk keeps the position where its key begins to differ from the previous key, and the
//! byte there. With these a search reads only one share. A tree of shares would read twenty paths, which
//! are spread over the memory. (Ferguson's bit-tree, by bytes.)

use std::sync::Arc;

use super::path_key::{PathKey, PathKeyDelta};
use crate::share_expiry::state::table::share::Share;

/// How many shares a chunk has at most. No event depends on it.
pub(in crate::share_expiry) const MOST: usize = 128;

/// The number of shares in a chunk that is built from sorted shares. No event depends on it.
pub(in crate::share_expiry) const WELL_FILLED: usize = 96;

/// A full chunk gets memory for this many more shares at a time. No event depends on it.
const GROWS_BY: usize = 16;

/// Shares in the order of their keys.
///
/// **Invariants:** keys only grow. For each share except the first, `steps` says how it differs from the
/// previous one.
#[derive(Default)]
pub(in crate::share_expiry) struct Chunk {
    shares: Vec<Arc<Share>>,
    steps: Vec<PathKeyDelta>,
}

impl Chunk {
    /// A chunk of sorted shares, at least one.
    pub(in crate::share_expiry) fn of(shares: Vec<Arc<Share>>) -> Self {
        let steps = shares.windows(2).map(|pair| PathKeyDelta::between(&pair[0], &pair[1]));
        let steps = std::iter::once(PathKeyDelta::default()).chain(steps).collect();
        Chunk { shares, steps }
    }

    /// The shares, in key order.
    pub(in crate::share_expiry) fn shares(&self) -> &[Arc<Share>] {
        &self.shares
    }

    /// The first share. Must not be called for an empty chunk, like `last`.
    pub(in crate::share_expiry) fn first(&self) -> &Share {
        &self.shares[0]
    }

    /// The last share.
    pub(in crate::share_expiry) fn last(&self) -> &Share {
        &self.shares[self.shares.len() - 1]
    }

    /// The position of this record, if it is here. With a known chunk this is faster than a search by its
    /// key.
    pub(in crate::share_expiry) fn place_of(&self, share: &Share) -> Option<usize> {
        self.shares.iter().position(|other| std::ptr::eq(Arc::as_ptr(other), share))
    }

    /// A share whose key has the longest common prefix with `key`.
    fn nearest(&self, key: &PathKey<'_>) -> usize {
        let (mut nearest, mut at) = (0, 1);
        while let Some(step) = self.steps.get(at) {
            at += 1;
            if key.byte(step.same()) >= step.byte {
                nearest = at - 1;
            } else {
                // Keys that begin with this one also come after it.
                let others = &self.steps[at..];
                at += others.iter().take_while(|other| other.same > step.same).count();
            }
        }
        nearest
    }

    /// The position of a share, or the position where it would be inserted. The insertion point has the
    /// lengths of the common prefixes of its key with the keys before and after it.
    pub(in crate::share_expiry) fn find(&self, key: &PathKey<'_>) -> Result<usize, InsertPoint> {
        let nearest = self.nearest(key);
        let Some(same) = key.same_as(&self.shares[nearest]) else { return Ok(nearest) };
        let like_it = |step: &&PathKeyDelta| step.same() > same;
        let byte = PathKey::of(&self.shares[nearest]).byte(same);
        if key.byte(same) > byte {
            let behind = self.steps[nearest + 1..].iter().take_while(like_it).count();
            return Err(InsertPoint { at: nearest + 1 + behind, before: true, same, byte });
        }
        let ahead = self.steps[1..=nearest].iter().rev().take_while(like_it).count();
        Err(InsertPoint { at: nearest - ahead, before: false, same, byte })
    }

    /// Adds a share, or replaces the one with its key. Returns its index.
    pub(in crate::share_expiry) fn insert(
        &mut self,
        key: &PathKey<'_>,
        share: Arc<Share>,
    ) -> usize {
        let gap = match self.find(key) {
            Ok(at) => {
                self.shares[at] = share;
                return at;
            }
            Err(gap) => gap,
        };
        if self.shares.len() == self.shares.capacity() {
            self.shares.reserve_exact(GROWS_BY);
            self.steps.reserve_exact(GROWS_BY);
        }
        let InsertPoint { at, before, same, byte } = gap;
        self.shares.insert(at, share);
        if before {
            // The next share differs from it as before from the removed one.
            self.steps.insert(at, PathKeyDelta::at(same, key.byte(same)));
        } else {
            let from_the_one_before = self.steps[at];
            let of_it =
                PathKeyDelta { byte: key.byte(from_the_one_before.same()), ..from_the_one_before };
            self.steps.insert(at, of_it);
            self.steps[at + 1] = PathKeyDelta::at(same, byte);
        }
        at
    }

    /// Removes the share at an index.
    pub(in crate::share_expiry) fn remove(&mut self, at: usize) {
        self.shares.remove(at);
        let gone = self.steps.remove(at);
        if let Some(next) = self.steps.get_mut(at).filter(|next| gone.same < next.same) {
            *next = gone;
        }
    }

    /// Removes and returns its second half.
    pub(in crate::share_expiry) fn split(&mut self) -> Chunk {
        let half = self.shares.len() / 2;
        let (shares, steps) = (self.shares.split_off(half), self.steps.split_off(half));
        let behind = Chunk { shares, steps };
        self.shares.shrink_to(half + GROWS_BY);
        self.steps.shrink_to(half + GROWS_BY);
        behind
    }

    /// Moves all shares of the next chunk into this one. Neither chunk is empty.
    pub(in crate::share_expiry) fn join(&mut self, mut behind: Chunk) {
        behind.steps[0] = PathKeyDelta::between(self.last(), behind.first());
        self.shares.append(&mut behind.shares);
        self.steps.append(&mut behind.steps);
    }
}

/// The position where a share must be inserted in a chunk.
pub(in crate::share_expiry) struct InsertPoint {
    at: usize,
    /// Whether it is the share before that shares the longer prefix.
    before: bool,
    /// The length of the common prefix in bytes.
    same: usize,
    /// The byte of the other key there.
    byte: u8,
}

#[cfg(test)]
impl Chunk {
    /// Checks the invariants of this chunk.
    pub(in crate::share_expiry) fn check(&self) {
        assert!(!self.shares.is_empty() && self.shares.len() <= MOST);
        assert_eq!(self.shares.len(), self.steps.len());
        let steps = self.shares.windows(2).map(|pair| PathKeyDelta::between(&pair[0], &pair[1]));
        assert!(steps.eq(self.steps[1..].iter().copied()));
    }
}
