//! The shares of a table in the order of their paths: a directory and all below it is one range. Pure.
//!
//! They are in sorted chunks. Of each share a chunk keeps where its key begins to differ from the one
//! before, and the byte there. By these alone a place is found, but for one look at a share: a tree
//! of shares would look at twenty paths, which are strewn all over memory. (Ferguson's bit-tree, by
//! bytes.)
//!
//! **Invariants:** no chunk is empty; within chunks and from one to the next keys only grow; of each
//! share but a chunk's first, `steps` says how it differs from the one before.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::id::ShareId;
use super::path::{RootName, SharePath};
use super::share::Share;

/// How many shares a chunk has at most.
const MOST: usize = 256;

/// How many it has when it is made of shares that are already in order.
const WELL_FILLED: usize = 192;

/// With fewer it is joined with the next, if that makes no more than a well filled one.
const LEAST: usize = 32;

/// For how many more a full chunk gets memory at a time.
const GROWS_BY: usize = 32;

/// How many bytes of its first key a chunk keeps: mostly enough to tell it from other chunks'.
const HEAD: usize = 32;

/// The shares of each root.
#[derive(Default)]
pub(super) struct PathOrder(BTreeMap<RootName, Vec<Chunk>>);

struct Chunk {
    shares: Vec<Arc<Share>>,
    steps: Vec<Step>,
    /// What the key of the first begins with.
    head: [u8; HEAD],
}

/// How the key of a share differs from that of the share before: with so many bytes both begin, and
/// then comes this one. Of a chunk's first it means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Step {
    same: u16,
    byte: u8,
}

/// What shares are ordered by: the path in the order of its components, then the id. No key is the
/// beginning of another.
struct Key(Vec<u8>);

/// A place among the shares of one root.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place<'a> {
    path: &'a str,
    at: At,
}

/// Where a place is among the shares of one path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// Before all of them.
    First,
    /// At one.
    Share(ShareId),
    /// Behind all of them, and behind all that is below the path.
    BehindAllBelow,
}

fn place_of(share: &Share) -> Place<'_> {
    Place { path: share.path().as_str(), at: At::Share(share.id()) }
}

impl Ord for Place<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match paths(self.path, other.path) {
            Ordering::Less if self.at == At::BehindAllBelow && is_below(other.path, self.path) => {
                Ordering::Greater
            }
            Ordering::Greater
                if other.at == At::BehindAllBelow && is_below(self.path, other.path) =>
            {
                Ordering::Less
            }
            Ordering::Equal => self.at.cmp(&other.at),
            order => order,
        }
    }
}

impl PartialOrd for Place<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The order of bytes in paths: first the end of one, then `/`, so that all that is below a directory
/// directly follows it, then the others.
fn rank(byte: u8) -> u8 {
    match byte {
        b'/' => 1,
        // There is no byte 0 in paths.
        below if below < b'/' => below + 1,
        above => above,
    }
}

/// Paths by their components.
fn paths(a: &str, b: &str) -> Ordering {
    let same = a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    match (a.as_bytes().get(same), b.as_bytes().get(same)) {
        (Some(x), Some(y)) => rank(*x).cmp(&rank(*y)),
        _ => a.len().cmp(&b.len()),
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| directory.is_empty() || rest.starts_with('/'))
}

impl Key {
    fn of(share: &Share) -> Self {
        let path = share.path().as_str().as_bytes();
        let mut key = Vec::with_capacity(path.len() + 1 + size_of::<ShareId>());
        key.extend(path.iter().copied().map(rank));
        key.push(0);
        key.extend(share.id().0.to_be_bytes());
        Key(key)
    }

    /// With how many bytes this key and that of `share` begin. None if it is the same key.
    fn same_as(&self, share: &Share) -> Option<usize> {
        let path = share.path().as_str().bytes().map(rank);
        let id = share.id().0.to_be_bytes();
        let other = path.chain([0]).chain(id);
        let same = self.0.iter().copied().zip(other).take_while(|(x, y)| x == y).count();
        (same < self.0.len()).then_some(same)
    }

    /// What it begins with.
    fn head(&self) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        for (byte, of_key) in head.iter_mut().zip(&self.0) {
            *byte = *of_key;
        }
        head
    }

    /// Whether it is that of `share`, or comes behind it.
    fn is_from(&self, share: &Share) -> bool {
        self.same_as(share).is_none_or(|same| self.byte(same) > Key::of(share).byte(same))
    }

    /// The byte there. Of two keys that begin with the same bytes up to there, each has one.
    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or_default()
    }
}

impl Step {
    /// From one share to the next.
    fn between(before: &Share, share: &Share) -> Self {
        let key = Key::of(share);
        // Ids differ.
        let same = key.same_as(before).unwrap_or_default();
        Step::at(same, key.byte(same))
    }

    fn at(same: usize, byte: u8) -> Self {
        // A path is at most 4096 bytes long.
        Step { same: u16::try_from(same).unwrap_or(u16::MAX), byte }
    }

    fn same(self) -> usize {
        usize::from(self.same)
    }
}

impl Chunk {
    /// A chunk of shares that are in order already, at least one.
    fn of(shares: Vec<Arc<Share>>) -> Self {
        let steps = shares.windows(2).map(|pair| Step::between(&pair[0], &pair[1]));
        let steps = std::iter::once(Step::default()).chain(steps).collect();
        Chunk::with(shares, steps)
    }

    fn with(shares: Vec<Arc<Share>>, steps: Vec<Step>) -> Self {
        let mut chunk = Chunk { shares, steps, head: [0; HEAD] };
        chunk.head = Key::of(chunk.first()).head();
        chunk
    }

    fn first(&self) -> &Share {
        // No chunk is empty.
        &self.shares[0]
    }

    fn last(&self) -> &Share {
        &self.shares[self.shares.len() - 1]
    }

    /// The share whose key begins with more of `key` than that of any other; one of them, if there are
    /// several.
    fn nearest(&self, key: &Key) -> usize {
        let (mut nearest, mut at) = (0, 1);
        while let Some(step) = self.steps.get(at) {
            at += 1;
            if key.byte(step.same()) >= step.byte {
                nearest = at - 1;
            } else {
                // What goes on like this one is behind the key too.
                let others = &self.steps[at..];
                at += others.iter().take_while(|other| other.same > step.same).count();
            }
        }
        nearest
    }

    /// Where a share is, or else where it would be and with how many bytes its key and that of the
    /// one before, or behind, then begin.
    fn find(&self, key: &Key) -> Result<usize, Gap> {
        let nearest = self.nearest(key);
        let Some(same) = key.same_as(&self.shares[nearest]) else { return Ok(nearest) };
        let like_it = |step: &&Step| step.same() > same;
        let byte = Key::of(&self.shares[nearest]).byte(same);
        if key.byte(same) > byte {
            let behind = self.steps[nearest + 1..].iter().take_while(like_it).count();
            return Err(Gap { at: nearest + 1 + behind, before: true, same, byte });
        }
        let ahead = self.steps[1..=nearest].iter().rev().take_while(like_it).count();
        Err(Gap { at: nearest - ahead, before: false, same, byte })
    }

    fn put(&mut self, key: &Key, share: Arc<Share>) {
        let gap = match self.find(key) {
            Ok(at) => {
                self.shares[at] = share;
                return;
            }
            Err(gap) => gap,
        };
        if self.shares.len() == self.shares.capacity() {
            self.shares.reserve_exact(GROWS_BY);
            self.steps.reserve_exact(GROWS_BY);
        }
        let Gap { at, before, same, byte } = gap;
        self.shares.insert(at, share);
        if at == 0 {
            self.head = key.head();
        }
        if before {
            // The next one differs from it as it did from the one before.
            self.steps.insert(at, Step::at(same, key.byte(same)));
        } else {
            let from_the_one_before = self.steps[at];
            let of_it = Step { byte: key.byte(from_the_one_before.same()), ..from_the_one_before };
            self.steps.insert(at, of_it);
            self.steps[at + 1] = Step::at(same, byte);
        }
    }

    /// Takes a share out.
    fn remove(&mut self, at: usize) {
        self.shares.remove(at);
        let gone = self.steps.remove(at);
        if let Some(next) = self.steps.get_mut(at).filter(|next| gone.same < next.same) {
            *next = gone;
        }
        if at == 0
            && let Some(first) = self.shares.first()
        {
            self.head = Key::of(first).head();
        }
    }

    /// Its second half, which leaves it.
    fn split(&mut self) -> Chunk {
        let half = self.shares.len() / 2;
        let behind = Chunk::with(self.shares.split_off(half), self.steps.split_off(half));
        self.shares.shrink_to(half + GROWS_BY);
        self.steps.shrink_to(half + GROWS_BY);
        behind
    }

    /// Takes all of the chunk behind.
    fn join(&mut self, mut behind: Chunk) {
        behind.steps[0] = Step::between(self.last(), behind.first());
        self.shares.append(&mut behind.shares);
        self.steps.append(&mut behind.steps);
    }
}

/// Where a share is to come in a chunk that has it not.
struct Gap {
    at: usize,
    /// Whether it is the share before with which its key begins alike.
    before: bool,
    /// With how many bytes both begin.
    same: usize,
    /// The byte of the other then.
    byte: u8,
}

/// The chunk that has a share of this key, or would have it.
fn chunk_of(chunks: &[Chunk], key: &Key) -> usize {
    let head = key.head();
    let begins_before = |chunk: &Chunk| match chunk.head.cmp(&head) {
        Ordering::Less => true,
        Ordering::Equal => key.is_from(chunk.first()),
        Ordering::Greater => false,
    };
    chunks.partition_point(begins_before).saturating_sub(1)
}

impl PathOrder {
    /// Takes a share in, or puts it in the place of the one of the same path and id.
    pub(super) fn put(&mut self, share: Arc<Share>) {
        let Some(chunks) = self.0.get_mut(share.root()) else {
            self.0.insert(share.root().clone(), vec![Chunk::of(vec![share])]);
            return;
        };
        let key = Key::of(&share);
        let at = chunk_of(chunks, &key);
        let chunk = &mut chunks[at];
        chunk.put(&key, share);
        if chunk.shares.len() > MOST {
            let behind = chunk.split();
            chunks.insert(at + 1, behind);
        }
    }

    pub(super) fn remove(&mut self, share: &Share) {
        let Some(chunks) = self.0.get_mut(share.root()) else { return };
        let key = Key::of(share);
        let at = chunk_of(chunks, &key);
        let chunk = &mut chunks[at];
        let Ok(found) = chunk.find(&key) else { return };
        chunk.remove(found);
        let left = chunk.shares.len();
        if left == 0 {
            chunks.remove(at);
            if chunks.is_empty() {
                self.0.remove(share.root());
            }
        } else if left < LEAST
            && let Some(next) = chunks.get(at + 1)
            && left + next.shares.len() <= WELL_FILLED
        {
            let next = chunks.remove(at + 1);
            chunks[at].join(next);
        }
    }

    /// The shares of `path` and of all below it, behind `after`.
    pub(super) fn within<'a>(
        &'a self,
        root: &'a RootName,
        path: &'a SharePath,
        after: Option<&'a (SharePath, ShareId)>,
    ) -> impl Iterator<Item = &'a Arc<Share>> {
        let place = |at| Place { path: path.as_str(), at };
        let last = place(At::BehindAllBelow);
        let after = after.map(|(path, id)| Place { path: path.as_str(), at: At::Share(*id) });
        // Someone may go on from a place that is not within the path at all.
        let first = after.unwrap_or(place(At::First)).max(place(At::First));
        let chunks = self.0.get(root).map(Vec::as_slice).unwrap_or_default();
        let from = chunks.partition_point(|chunk| place_of(chunk.last()) <= first);
        let shares = chunks[from..].iter().enumerate().flat_map(move |(number, chunk)| {
            let behind = |share: &Arc<Share>| place_of(share) <= first;
            let from = if number == 0 { chunk.shares.partition_point(behind) } else { 0 };
            &chunk.shares[from..]
        });
        shares.take_while(move |share| place_of(share) < last)
    }

    /// Sorts shares by it, root by root.
    pub(super) fn sort(shares: &mut [Arc<Share>]) {
        shares.sort_unstable_by(|a, b| {
            a.root().cmp(b.root()).then_with(|| place_of(a).cmp(&place_of(b)))
        });
    }

    /// The order of these shares, made at once.
    pub(super) fn of(mut shares: Vec<Arc<Share>>) -> Self {
        PathOrder::sort(&mut shares);
        let mut order = PathOrder::default();
        for of_root in shares.chunk_by(|a, b| a.root() == b.root()) {
            let chunks = of_root.chunks(WELL_FILLED).map(|shares| Chunk::of(shares.to_vec()));
            order.0.insert(of_root[0].root().clone(), chunks.collect());
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
            order.put(share(id as u128, at, 9));
        }
        order.put(share(77, "a/b", 9));
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
        order.put(share(1, "a", 9));
        order.put(share(1, "a", 10));
        let root = root();
        let at = path("a");
        let found: Vec<_> = order.within(&root, &at, None).collect();
        assert_eq!(found, [&share(1, "a", 10)]);
    }

    /// Looks whether what is said of chunks is true of them.
    fn check(order: &PathOrder) {
        for chunks in order.0.values() {
            assert!(!chunks.is_empty());
            for chunk in chunks {
                assert!(!chunk.shares.is_empty() && chunk.shares.len() <= MOST);
                assert_eq!(chunk.shares.len(), chunk.steps.len());
                let steps = chunk.shares.windows(2).map(|pair| Step::between(&pair[0], &pair[1]));
                assert!(steps.eq(chunk.steps[1..].iter().copied()));
                assert_eq!(chunk.head, Key::of(chunk.first()).head());
            }
            let all = chunks.iter().flat_map(|chunk| &chunk.shares);
            let all: Vec<&Arc<Share>> = all.collect();
            assert!(all.is_sorted_by(|a, b| place_of(a) < place_of(b)));
        }
    }

    #[test]
    fn it_is_the_order_of_components_whatever_comes_and_goes() {
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
            for (text, id) in &all {
                order.put(share(*id, text, 9));
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
                    order.remove(&share(*id, text, 9));
                    model.remove(&key(text, *id));
                }
                check(&order);
            }
            assert!(order.0.is_empty());
        }
    }
}
