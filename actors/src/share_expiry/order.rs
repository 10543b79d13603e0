//! The orders in which the table keeps its shares besides their ids. Pure.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use super::facts::Deadline;
use super::id::ShareId;
use super::path::{RootName, SharePath};
use super::share::Share;
use super::text::Text;
use crate::clock::Millis;

/// When a share is due, and which. Small, so that an order of millions of them is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Due {
    at: i64,
    /// The two halves of the id.
    id: (u64, u64),
}

impl Due {
    /// Before every share that is due at `at` or later.
    pub fn from(at: Millis) -> Self {
        Due { at: at.0, id: (0, 0) }
    }

    /// The place of a share; none if it is never due.
    pub fn of(share: &Share) -> Option<Self> {
        Due::at(share.due(), share.id())
    }

    /// The place of a share that is due then.
    pub fn at(due: Deadline, ShareId(id): ShareId) -> Option<Self> {
        // The halves of the id.
        due.instant().map(|Millis(at)| Due { at, id: ((id >> 64) as u64, id as u64) })
    }

    /// When.
    pub fn instant(self) -> Millis {
        Millis(self.at)
    }

    /// Which share.
    pub fn id(self) -> ShareId {
        ShareId(u128::from(self.id.0) << 64 | u128::from(self.id.1))
    }
}

/// A share in the order of paths.
struct ByPath(Arc<Share>);

/// A place in the order of paths.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place<'a> {
    root: &'a str,
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

trait Placed {
    fn place(&self) -> Place<'_>;
}

fn place_of(share: &Share) -> Place<'_> {
    Place { root: share.root().as_str(), path: share.path().as_str(), at: At::Share(share.id()) }
}

impl Placed for ByPath {
    fn place(&self) -> Place<'_> {
        place_of(&self.0)
    }
}

impl Placed for Place<'_> {
    fn place(&self) -> Place<'_> {
        *self
    }
}

impl<'a> Borrow<dyn Placed + 'a> for ByPath {
    fn borrow(&self) -> &(dyn Placed + 'a) {
        self
    }
}

impl Ord for dyn Placed + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for dyn Placed + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn Placed + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for dyn Placed + '_ {}

impl Ord for ByPath {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for ByPath {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByPath {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for ByPath {}

impl Ord for Place<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let roots = self.root.cmp(other.root);
        roots.then_with(|| match paths(self.path, other.path) {
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
        })
    }
}

impl PartialOrd for Place<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Paths by their components: `/` comes before every other byte, so that all that is below a
/// directory directly follows it.
fn paths(a: &str, b: &str) -> Ordering {
    let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
    let (a, b) = (a.as_bytes(), b.as_bytes());
    match a.iter().zip(b).find(|(x, y)| x != y) {
        Some((x, y)) => rank(*x).cmp(&rank(*y)),
        None => a.len().cmp(&b.len()),
    }
}

fn is_below(path: &str, directory: &str) -> bool {
    let rest = path.strip_prefix(directory);
    rest.is_some_and(|rest| directory.is_empty() || rest.starts_with('/'))
}

/// The shares in the order of their roots and paths.
#[derive(Default)]
pub(super) struct PathOrder(BTreeSet<ByPath>);

impl PathOrder {
    /// Takes a share in, or puts it in the place of the one of the same path and id.
    pub(super) fn put(&mut self, share: Arc<Share>) {
        self.0.replace(ByPath(share));
    }

    pub(super) fn remove(&mut self, share: &Share) {
        self.0.remove(&place_of(share) as &dyn Placed);
    }

    /// The shares of `path` and of all below it, behind `after`.
    pub(super) fn within<'a>(
        &'a self,
        root: &'a RootName,
        path: &'a SharePath,
        after: Option<&'a (SharePath, ShareId)>,
    ) -> impl Iterator<Item = &'a Arc<Share>> {
        let place = |at| Place { root: root.as_str(), path: path.as_str(), at };
        let last = place(At::BehindAllBelow);
        let first = after.map_or(place(At::First), |(path, id)| Place {
            root: root.as_str(),
            path: path.as_str(),
            at: At::Share(*id),
        });
        // Someone may go on from a place that is not within the path at all.
        let first = first.max(place(At::First));
        let range = (first < last).then(|| {
            self.0.range::<dyn Placed, _>((
                Bound::Excluded(&first as &dyn Placed),
                Bound::Excluded(&last as &dyn Placed),
            ))
        });
        range.into_iter().flatten().map(|ByPath(share)| share)
    }

    /// The order of these shares, made at once.
    pub(super) fn of(shares: Vec<Arc<Share>>) -> Self {
        PathOrder(shares.into_iter().map(ByPath).collect())
    }

    /// Sorts shares by it.
    pub(super) fn sort(shares: &mut [Arc<Share>]) {
        shares.sort_unstable_by(|a, b| place_of(a).cmp(&place_of(b)));
    }
}

/// Texts that shares have in common, with how many have each.
#[derive(Default)]
pub(super) struct Common(HashMap<Text, u64>);

impl Common {
    /// One more has `text`: answers the one they share.
    pub(super) fn join(&mut self, text: &str) -> Text {
        let known = self.0.get_key_value(text).map(|(known, _)| known.clone());
        let common = known.unwrap_or_else(|| Text::new(text));
        *self.0.entry(common.clone()).or_default() += 1;
        common
    }

    /// One less has it.
    pub(super) fn leave(&mut self, text: &Text) {
        match self.0.get_mut(text) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.0.remove(text)),
        }
    }

    /// How many have it.
    pub(super) fn count(&self, text: &Text) -> u64 {
        self.0.get(text).copied().unwrap_or_default()
    }

    /// Every text that is in use.
    pub(super) fn all(&self) -> impl Iterator<Item = &Text> {
        self.0.keys()
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn due_places_are_in_the_order_of_time_then_of_id() {
        let due = |at, id| Due::at(Deadline::at(Millis(at)), ShareId(id)).unwrap();
        let big = u128::from(u64::MAX) + 7;
        let places = [due(-1, 9), due(0, 1), due(0, 2), due(0, big), due(1, 0)];
        assert!(places.is_sorted() && Due::from(Millis(0)) < places[1]);
        assert_eq!(places[3].id(), ShareId(big));
        assert_eq!(size_of::<Due>(), 24);
        assert_eq!(Due::at(Deadline::NEVER, ShareId(1)), None);
    }

    #[test]
    fn common_texts_are_counted() {
        let mut common = Common::default();
        let first = common.join("me");
        common.join("me");
        assert_eq!(common.count(&first), 2);
        common.leave(&first);
        common.leave(&first);
        assert_eq!((common.count(&first), common.all().count()), (0, 0));
    }
}
