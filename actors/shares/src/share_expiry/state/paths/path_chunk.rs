//! Sorted chunks of shares, and the search for a share in one. Pure.
//!
//! For each share a chunk keeps the place where its key begins to differ from the one before, and the byte
//! there. These alone lead to a position, with one look at a share. A tree of shares would look at twenty
//! paths, which are spread over the memory. (Ferguson's bit-tree, by bytes.)

use std::sync::Arc;

use super::path_key::{PathKey, PathKeyDelta};
use crate::share_expiry::state::table::share::Share;

/// How many shares a chunk has at most.
pub(in crate::share_expiry) const MOST: usize = 128;

/// How many it has when it is made of shares that are already in order.
pub(in crate::share_expiry) const WELL_FILLED: usize = 96;

/// For how many more a full chunk gets memory at a time.
const GROWS_BY: usize = 16;

/// Shares in the order of their keys.
///
/// **Invariants:** keys only grow; of each share but the first, `steps` says how it differs from the
/// one before.
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

    /// The first share. Not for an empty chunk, like the last.
    pub(in crate::share_expiry) fn first(&self) -> &Share {
        &self.shares[0]
    }

    /// The last share.
    pub(in crate::share_expiry) fn last(&self) -> &Share {
        &self.shares[self.shares.len() - 1]
    }

    /// Where this very record is, if it is here. The chunk being known that is faster than by its key.
    pub(in crate::share_expiry) fn place_of(&self, share: &Share) -> Option<usize> {
        self.shares.iter().position(|other| std::ptr::eq(Arc::as_ptr(other), share))
    }

    /// The share whose key shares the longest beginning with `key`; one of them, if there are several.
    fn nearest(&self, key: &PathKey<'_>) -> usize {
        let (mut nearest, mut at) = (0, 1);
        while let Some(step) = self.steps.get(at) {
            at += 1;
            if key.byte(step.same()) >= step.byte {
                nearest = at - 1;
            } else {
                // Keys that begin with this one are behind the key too.
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

    /// Adds a share, or replaces the one of its key. Returns its index.
    pub(in crate::share_expiry) fn put(&mut self, key: &PathKey<'_>, share: Arc<Share>) -> usize {
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
            // The next one differs from it as it did from the one before.
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

    /// Its second half, which leaves it.
    pub(in crate::share_expiry) fn split(&mut self) -> Chunk {
        let half = self.shares.len() / 2;
        let (shares, steps) = (self.shares.split_off(half), self.steps.split_off(half));
        let behind = Chunk { shares, steps };
        self.shares.shrink_to(half + GROWS_BY);
        self.steps.shrink_to(half + GROWS_BY);
        behind
    }

    /// Takes all of the chunk behind. Neither chunk is empty.
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
    /// With how many bytes both begin.
    same: usize,
    /// The byte of the other then.
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
