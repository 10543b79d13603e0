//! Looking whether what shares stand for is there. Blocks on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::dirs::{Looked, SharedDirs};
use crate::clock::Millis;
use crate::share_expiry::{
    Found, RootName, Share, ShareBoard, ShareFilter, ShareId, SharePlace, Whereabouts,
};

/// How many shares are looked at in one go.
pub(super) const IN_ONE_GO: usize = 100;

/// What one go came to.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// Shares that stand for nothing, with where that was looked for.
    pub(super) missing: Vec<(ShareId, SharePlace)>,
    /// Shares that do so too, of roots that have become other directories only lately.
    pub(super) early: Vec<ShareId>,
    /// How many were looked at.
    pub(super) looked: u64,
    /// The roots that they are of.
    pub(super) roots: BTreeSet<RootName>,
    /// Where the next go begins; none after the last one.
    pub(super) next: Option<ShareId>,
    /// Which roots cannot be reached: of these nothing is missing.
    pub(super) unreachable: BTreeMap<RootName, String>,
}

fn is_missing(dirs: &SharedDirs, board: &ShareBoard, share: &Share) -> bool {
    // What is being moved is where it is looked for by whoever moves it.
    board.whereabouts(share) == Whereabouts::AsSaid
        && dirs.look(share.root(), share.path()) == Looked::Missing
}

fn place_of(share: &Share) -> SharePlace {
    SharePlace { root: share.root().clone(), path: share.path().clone() }
}

impl Gone {
    /// Leaves out what may be missing only because its root cannot be reached: that is looked at
    /// last, so that nothing was unmounted in between.
    fn sure(mut self, dirs: &SharedDirs, board: &ShareBoard, shared: &BTreeSet<RootName>) -> Self {
        let why = |name: &RootName| {
            let was_something = shared.contains(name) || self.roots.contains(name);
            dirs.unreachable(name, was_something).map(|why| (name.clone(), why))
        };
        self.unreachable = dirs.names().iter().filter_map(why).collect();
        self.missing.retain(|(id, place)| {
            matches!(board.find(*id), Found::Live(_)) && !self.unreachable.contains_key(&place.root)
        });
        self
    }
}

/// Looks at the next shares from `from` on. There are shares of the roots in `shared`.
pub(super) fn go(
    dirs: &SharedDirs,
    board: &ShareBoard,
    shared: &BTreeSet<RootName>,
    from: Option<ShareId>,
    now: Millis,
) -> Gone {
    let page = board.list(&ShareFilter::default(), from, IN_ONE_GO, now);
    let missing = page.shares.iter().filter(|share| is_missing(dirs, board, share));
    let missing = missing.map(|share| (share.id(), place_of(share))).collect();
    let roots = page.shares.iter().map(|share| share.root().clone()).collect();
    let looked = page.shares.len() as u64;
    let gone = Gone { missing, looked, roots, next: page.next, ..Gone::default() };
    gone.sure(dirs, board, shared)
}

/// Looks at these once more: they are missing only where their roots were what they are for at least
/// `patience`.
pub(super) fn again(
    dirs: &SharedDirs,
    board: &ShareBoard,
    (shared, ids): (&BTreeSet<RootName>, &[ShareId]),
    patience: Duration,
) -> Gone {
    let mut gone = Gone { looked: ids.len() as u64, ..Gone::default() };
    for id in ids {
        if let Found::Live(share) = board.find(*id)
            && is_missing(dirs, board, &share)
        {
            gone.missing.push((*id, place_of(&share)));
            gone.roots.insert(share.root().clone());
        }
    }
    let mut gone = gone.sure(dirs, board, shared);
    // Asked last, as one that becomes another directory meanwhile is new from then on.
    let is_early = |(_, place): &mut (ShareId, SharePlace)| dirs.is_new(&place.root, patience);
    gone.early = gone.missing.extract_if(.., is_early).map(|(id, _)| id).collect();
    gone
}
