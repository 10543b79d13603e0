//! The shares of a table in the order of their paths: a directory and all below it is one range. Pure.
//!
//! They are in sorted chunks. Of each share a chunk keeps four bytes of its path, from where the
//! paths of the chunk begin to differ: to find a place among a million, few paths are looked at,
//! which are strewn all over memory.
//!
//! **Invariants:** no chunk is empty; within chunks and from one to the next places only grow; all
//! paths of a chunk begin with the same `prefix` bytes, and `marks` are theirs behind it.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::id::ShareId;
use super::path::{RootName, SharePath};
use super::share::Share;

/// How many shares a chunk has at most.
const MOST: usize = 512;

/// How many it has when it is made of shares that are already in order.
const WELL_FILLED: usize = 384;

/// With fewer it is joined with the next, if that makes no more than a well filled one.
const LEAST: usize = 64;

/// For how many more a full chunk gets memory at a time.
const GROWS_BY: usize = 64;

/// The shares of each root.
#[derive(Default)]
pub(super) struct PathOrder(BTreeMap<RootName, Vec<Chunk>>);

struct Chunk {
    shares: Vec<Arc<Share>>,
    marks: Vec<u32>,
    prefix: usize,
}

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

/// `/` comes before every other byte, so that all that is below a directory directly follows it.
fn rank(byte: u8) -> u8 {
    if byte == b'/' { 0 } else { byte }
}

/// Paths by their components.
fn paths(a: &str, b: &str) -> Ordering {
    let common = common(a, b);
    match (a.as_bytes().get(common), b.as_bytes().get(common)) {
        (Some(x), Some(y)) => rank(*x).cmp(&rank(*y)),
        _ => a.len().cmp(&b.len()),
    }
}

/// With how many bytes both begin.
fn common(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count()
}

fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| directory.is_empty() || rest.starts_with('/'))
}

/// Four bytes of a path behind its first ones, in the order of paths. Paths of the same mark may
/// have any order.
fn mark(path: &str, prefix: usize) -> u32 {
    let rest = path.as_bytes().get(prefix..).unwrap_or_default();
    let mut mark = [0; 4];
    for (place, byte) in mark.iter_mut().zip(rest) {
        *place = rank(*byte);
    }
    u32::from_be_bytes(mark)
}

impl Chunk {
    /// A chunk of shares that are in order already, at least one.
    fn of(shares: Vec<Arc<Share>>) -> Self {
        let mut chunk = Chunk { marks: Vec::with_capacity(shares.len()), shares, prefix: 0 };
        chunk.mark_anew();
        chunk
    }

    fn first(&self) -> &Share {
        // No chunk is empty.
        &self.shares[0]
    }

    fn last(&self) -> &Share {
        &self.shares[self.shares.len() - 1]
    }

    fn mark_anew(&mut self) {
        // What the first and the last begin with all between them do.
        self.prefix = common(self.first().path().as_str(), self.last().path().as_str());
        self.marks.clear();
        self.marks.extend(self.shares.iter().map(|share| mark(share.path().as_str(), self.prefix)));
    }

    /// Where a place is, or would be. Its path begins as all here do.
    fn find(&self, place: &Place<'_>) -> Result<usize, usize> {
        let mark = mark(place.path, self.prefix);
        let from = self.marks.partition_point(|other| *other < mark);
        let alike = self.marks[from..].partition_point(|other| *other == mark);
        let alike = &self.shares[from..from + alike];
        let found = alike.binary_search_by(|share| place_of(share).cmp(place));
        found.map(|at| from + at).map_err(|at| from + at)
    }

    fn put(&mut self, share: Arc<Share>) {
        let path = share.path().as_str();
        let common = common(self.first().path().as_str(), path);
        if common < self.prefix {
            self.prefix = common;
            let marks = self.shares.iter().map(|share| mark(share.path().as_str(), common));
            self.marks = marks.collect();
        }
        let of_it = mark(path, self.prefix);
        match self.find(&place_of(&share)) {
            Ok(at) => self.shares[at] = share,
            Err(at) => {
                if self.shares.len() == self.shares.capacity() {
                    self.shares.reserve_exact(GROWS_BY);
                    self.marks.reserve_exact(GROWS_BY);
                }
                self.shares.insert(at, share);
                self.marks.insert(at, of_it);
            }
        }
    }

    /// Its second half, which leaves it.
    fn split(&mut self) -> Chunk {
        let behind = Chunk::of(self.shares.split_off(self.shares.len() / 2));
        self.shares.shrink_to(self.shares.len() + GROWS_BY);
        self.mark_anew();
        self.marks.shrink_to(self.shares.len() + GROWS_BY);
        behind
    }
}

/// The chunk that has a place, or would have it.
fn chunk_of(chunks: &[Chunk], place: &Place<'_>) -> usize {
    chunks.partition_point(|chunk| place_of(chunk.first()) <= *place).saturating_sub(1)
}

impl PathOrder {
    /// Takes a share in, or puts it in the place of the one of the same path and id.
    pub(super) fn put(&mut self, share: Arc<Share>) {
        let Some(chunks) = self.0.get_mut(share.root()) else {
            self.0.insert(share.root().clone(), vec![Chunk::of(vec![share])]);
            return;
        };
        let at = chunk_of(chunks, &place_of(&share));
        let chunk = &mut chunks[at];
        chunk.put(share);
        if chunk.shares.len() > MOST {
            let behind = chunk.split();
            chunks.insert(at + 1, behind);
        }
    }

    pub(super) fn remove(&mut self, share: &Share) {
        let Some(chunks) = self.0.get_mut(share.root()) else { return };
        let place = place_of(share);
        let at = chunk_of(chunks, &place);
        let chunk = &mut chunks[at];
        let Ok(found) = chunk.find(&place) else { return };
        chunk.shares.remove(found);
        chunk.marks.remove(found);
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
            let mut next = chunks.remove(at + 1);
            chunks[at].shares.append(&mut next.shares);
            chunks[at].mark_anew();
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
                let marks = chunk.shares.iter().map(|share| {
                    let path = share.path().as_str();
                    assert!(common(path, chunk.first().path().as_str()) >= chunk.prefix);
                    mark(path, chunk.prefix)
                });
                assert_eq!(marks.collect::<Vec<_>>(), chunk.marks);
                assert!(chunk.marks.is_sorted());
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
