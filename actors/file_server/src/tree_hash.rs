//! BLAKE3 of a file that arrives in parts over days. The hash is a tree, so a few chaining values stand for
//! all bytes up to a group's end. They can be stored, and hashing continues from them later. Pure.
//!
//! A group is a complete subtree of 1024 chunks. The stored values are those of the largest complete
//! subtrees, left to right: one for each set bit of the number of groups.

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use reelyard_protocol::worker::ContentHash;
use serde::{Deserialize, Serialize};

/// Bytes of one group: a power of two of BLAKE3's chunks.
pub const GROUP: usize = 1 << 20;

/// The chaining values of the groups hashed so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trunk {
    groups: u64,
    /// Chaining values of complete subtrees, the largest first.
    subtrees: Vec<[u8; 32]>,
}

impl Trunk {
    /// How many bytes it covers.
    pub fn length(&self) -> u64 {
        self.groups.saturating_mul(GROUP as u64)
    }

    /// Whether it is valid. This is checked before a stored one is used.
    pub fn is_sound(&self) -> bool {
        self.subtrees.len() == self.groups.count_ones() as usize
            && self.groups < u64::MAX / GROUP as u64
    }

    fn push(&mut self, mut value: [u8; 32]) {
        self.groups += 1;
        let mut complete = self.groups;
        // Two subtrees of one size make one of twice the size, as in binary counting. This subtree is never
        // the root, because at least one more byte follows.
        while complete.is_multiple_of(2)
            && let Some(left) = self.subtrees.pop()
        {
            value = merge_subtrees_non_root(&left, &value, Mode::Hash);
            complete /= 2;
        }
        self.subtrees.push(value);
    }
}

/// Hashes a file from its beginning, or from the position of an earlier hasher.
#[derive(Clone, Debug)]
pub struct TreeHasher {
    trunk: Trunk,
    group: blake3::Hasher,
    in_group: usize,
}

impl TreeHasher {
    /// A hasher that has hashed the bytes that `trunk` covers. If these are not 0, at least one more
    /// byte must follow before the hash is read.
    pub fn resume(trunk: Trunk) -> Self {
        let group = group_at(trunk.length());
        TreeHasher { trunk, group, in_group: 0 }
    }

    /// The number of hashed bytes.
    pub fn position(&self) -> u64 {
        self.trunk.length() + self.in_group as u64
    }

    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.in_group == GROUP {
                self.trunk.push(self.group.finalize_non_root());
                self.group = group_at(self.trunk.length());
                self.in_group = 0;
            }
            let (now, later) = bytes.split_at(bytes.len().min(GROUP - self.in_group));
            self.group.update(now);
            self.in_group += now.len();
            bytes = later;
        }
    }

    /// The state of a file of `size` bytes at the end of the last complete group that is not the last of
    /// the file.
    pub fn trunk(&self, size: u64) -> Trunk {
        let mut trunk = self.trunk.clone();
        if self.in_group == GROUP && self.position() < size {
            trunk.push(self.group.finalize_non_root());
        }
        trunk
    }

    /// The hash of all bytes so far.
    pub fn finalize(&self) -> ContentHash {
        let Some((first, others)) = self.trunk.subtrees.split_first() else {
            return ContentHash(*self.group.finalize().as_bytes());
        };
        if self.in_group == 0 {
            // No byte followed the resumed state. The result is then no valid hash, and no caller uses it.
            return ContentHash(*first);
        }
        let last = self.group.finalize_non_root();
        let right = others
            .iter()
            .rev()
            .fold(last, |right, left| merge_subtrees_non_root(left, &right, Mode::Hash));
        ContentHash(*merge_subtrees_root(first, &right, Mode::Hash).as_bytes())
    }
}

fn group_at(position: u64) -> blake3::Hasher {
    let mut group = blake3::Hasher::new();
    group.set_input_offset(position);
    group
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(bytes: &[u8]) -> ContentHash {
        ContentHash(*blake3::hash(bytes).as_bytes())
    }

    #[test]
    fn an_interrupted_hash_equals_an_uninterrupted_one() {
        let mut bytes = vec![0; 9 * GROUP + 7];
        fastrand::Rng::with_seed(1).fill(&mut bytes);
        let lengths = [0, 1, 1024, GROUP - 1, GROUP, GROUP + 1, 2 * GROUP, 3 * GROUP + 5];
        for length in lengths.into_iter().chain([4 * GROUP, 7 * GROUP, 8 * GROUP, bytes.len()]) {
            let bytes = &bytes[..length];
            let mut whole = TreeHasher::resume(Trunk::default());
            // Pieces that never end where a group does.
            bytes.chunks(333_333).for_each(|piece| whole.update(piece));
            assert_eq!(whole.finalize(), plain(bytes), "{length}");

            for stop in (0..length).step_by(GROUP) {
                let mut first = TreeHasher::resume(Trunk::default());
                first.update(&bytes[..stop]);
                let kept = first.trunk(length as u64);
                assert_eq!(kept.length(), stop as u64);
                assert!(kept.is_sound());
                let mut second = TreeHasher::resume(kept);
                second.update(&bytes[stop..]);
                assert_eq!(second.position(), length as u64);
                assert_eq!(second.finalize(), plain(bytes), "{length}, interrupted at {stop}");
            }
        }
    }

    #[test]
    fn an_impossible_trunk_is_recognised() {
        assert!(Trunk::default().is_sound());
        assert!(!Trunk { groups: 3, subtrees: vec![[0; 32]] }.is_sound());
        assert!(!Trunk { groups: 0, subtrees: vec![[0; 32]] }.is_sound());
    }
}
