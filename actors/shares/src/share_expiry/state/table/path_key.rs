//! The keys of shares, their differences, and positions among them. Pure.

use std::cmp::Ordering;

use crate::share_expiry::state::table::share::Share;
use crate::share_expiry::state::values::id::ShareId;

/// How many bytes of its first key a chunk keeps: usually enough to distinguish it from other chunks.
/// No event depends on it.
pub(in crate::share_expiry) const HEAD: usize = 32;

/// The sort key of a share: the path in the order of its components, then the id. No key is the beginning
/// of another.
///
/// As bytes it consists of the [ranks](rank) of the bytes of the path, 0, and the bytes of the id.
pub(in crate::share_expiry) struct PathKey<'a> {
    path: &'a [u8],
    id: [u8; size_of::<ShareId>()],
}

impl<'a> PathKey<'a> {
    pub(in crate::share_expiry) fn of(share: &'a Share) -> Self {
        PathKey { path: share.path().as_str().as_bytes(), id: share.id().0.to_be_bytes() }
    }

    /// The length of the common prefix of this key and that of `share`, in bytes. None if the keys are
    /// equal.
    pub(in crate::share_expiry) fn same_as(&self, share: &Share) -> Option<usize> {
        let other = PathKey::of(share);
        let same = alike(self.path, other.path);
        if same < self.path.len().max(other.path.len()) {
            return Some(same);
        }
        let same_of_id = alike(&self.id, &other.id);
        (same_of_id < self.id.len()).then_some(same + 1 + same_of_id)
    }

    /// The first bytes of the key.
    pub(in crate::share_expiry) fn head(&self) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        for (to, from) in head.iter_mut().zip(self.path) {
            *to = rank(*from);
        }
        for (to, from) in head.iter_mut().skip(self.path.len() + 1).zip(self.id) {
            *to = from;
        }
        head
    }

    /// Whether it is the key of `share`, or a later one.
    pub(in crate::share_expiry) fn is_from(&self, share: &Share) -> bool {
        self.same_as(share).is_none_or(|same| self.byte(same) > PathKey::of(share).byte(same))
    }

    /// The byte at an index. If two different keys have the same bytes before it, both have a byte there.
    pub(in crate::share_expiry) fn byte(&self, at: usize) -> u8 {
        match self.path.get(at) {
            Some(byte) => rank(*byte),
            None => {
                *at.checked_sub(self.path.len() + 1).and_then(|at| self.id.get(at)).unwrap_or(&0)
            }
        }
    }
}

/// The length of the common prefix in bytes.
fn alike(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// How the key of a share differs from the previous one: the length of their common prefix, and the byte
/// after it. It has no meaning for the first share of a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::share_expiry) struct PathKeyDelta {
    pub(in crate::share_expiry) same: u16,
    pub(in crate::share_expiry) byte: u8,
}

impl PathKeyDelta {
    /// From one share to the next.
    pub(in crate::share_expiry) fn between(before: &Share, share: &Share) -> Self {
        let key = PathKey::of(share);
        // Ids differ.
        let same = key.same_as(before).unwrap_or_default();
        PathKeyDelta::at(same, key.byte(same))
    }

    pub(in crate::share_expiry) fn at(same: usize, byte: u8) -> Self {
        // A path is at most 4096 bytes long.
        PathKeyDelta { same: u16::try_from(same).unwrap_or(u16::MAX), byte }
    }

    pub(in crate::share_expiry) fn same(self) -> usize {
        usize::from(self.same)
    }
}

/// The order of bytes in paths: first the end of a path, then `/`, then the others. So everything below a
/// directory directly follows it.
fn rank(byte: u8) -> u8 {
    match byte {
        b'/' => 1,
        // There is no byte 0 in paths.
        below if below < b'/' => below + 1,
        above => above,
    }
}

/// A position among the shares of one root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::share_expiry) struct PathPosition<'a> {
    pub(in crate::share_expiry) path: &'a str,
    pub(in crate::share_expiry) at: PositionInPath,
}

/// A position among the shares of one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::share_expiry) enum PositionInPath {
    /// Before all shares.
    First,
    /// At the share of this id.
    Share(ShareId),
    /// After all of them, and after everything below the path.
    BehindAllBelow,
}

pub(in crate::share_expiry) fn place_of(share: &Share) -> PathPosition<'_> {
    PathPosition { path: share.path().as_str(), at: PositionInPath::Share(share.id()) }
}

impl Ord for PathPosition<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match paths(self.path, other.path) {
            Ordering::Less
                if self.at == PositionInPath::BehindAllBelow && is_below(other.path, self.path) =>
            {
                Ordering::Greater
            }
            Ordering::Greater
                if other.at == PositionInPath::BehindAllBelow
                    && is_below(self.path, other.path) =>
            {
                Ordering::Less
            }
            Ordering::Equal => self.at.cmp(&other.at),
            order => order,
        }
    }
}

impl PartialOrd for PathPosition<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Paths by their components.
fn paths(a: &str, b: &str) -> Ordering {
    let same = alike(a.as_bytes(), b.as_bytes());
    match (a.as_bytes().get(same), b.as_bytes().get(same)) {
        (Some(x), Some(y)) => rank(*x).cmp(&rank(*y)),
        _ => a.len().cmp(&b.len()),
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| directory.is_empty() || rest.starts_with('/'))
}
