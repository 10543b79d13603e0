//! Checks whether the files of shares exist. Blocks on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::stream::{self, StreamExt};
use reelyard_core::clock::Millis;

use crate::share_expiry::{
    ResolvedLocation, RootName, Share, ShareFilter, ShareId, ShareLocation, ShareLookup,
    ShareViewHandle,
};
use crate::share_files::dirs::{PathPresence, SharedDirs};
use crate::share_files::elsewhere::FilesElsewhere;

/// How many shares are checked in one part.
pub(super) const IN_ONE_GO: usize = 100;

/// How many files the other nodes are asked for at a time.
const ASKED_AT_ONCE: usize = 16;

/// The result of one pass.
#[derive(Debug, Default)]
pub(super) struct SweepResult {
    /// Shares without a file, with the path that was checked.
    pub(super) missing: Vec<(ShareId, ShareLocation)>,
    /// Shares with missing files in roots that became other directories recently.
    pub(super) early: Vec<ShareId>,
    /// Shares whose files another node has, or may have.
    pub(super) elsewhere: Vec<ShareId>,
    /// How many shares were checked.
    pub(super) looked: u64,
    /// The roots that they are of.
    pub(super) roots: BTreeSet<RootName>,
    /// Where the next part begins; none after the last one.
    pub(super) next: Option<ShareId>,
    /// The reason for each root that cannot be reached. No file of such a root counts as missing.
    pub(super) unreachable: BTreeMap<RootName, String>,
}

fn is_missing(dirs: &SharedDirs, views: &ShareViewHandle, share: &Share) -> bool {
    // If a file is being moved, the move knows its path.
    views.resolve_location(share) == ResolvedLocation::AsRecorded
        && dirs.presence(share.root(), share.path()) == PathPresence::Missing
}

fn place_of(share: &Share) -> ShareLocation {
    ShareLocation { root: share.root().clone(), path: share.path().clone() }
}

impl SweepResult {
    /// Leaves out files that another node has, or may have.
    pub(super) async fn without_files_elsewhere(mut self, others: &dyn FilesElsewhere) -> Self {
        let asked = self.missing.drain(..).map(|(id, place)| async move {
            let lacks = others.all_lack(id).await;
            (lacks, id, place)
        });
        let answers: Vec<_> = stream::iter(asked).buffer_unordered(ASKED_AT_ONCE).collect().await;
        for (lacks, id, place) in answers {
            match lacks {
                true => self.missing.push((id, place)),
                false => self.elsewhere.push(id),
            }
        }
        if let Some(share) = self.elsewhere.first() {
            tracing::warn!(
                shares = self.elsewhere.len(),
                ?share,
                "files of shares are missing here, and another node has them or does not answer: these shares go on. \
                 Check the mirror or the storage of this node"
            );
        }
        self
    }

    /// Leaves out files that may be missing only because their root cannot be reached. This is checked
    /// last, so that an unmount in between is noticed.
    fn sure(
        mut self,
        dirs: &SharedDirs,
        views: &ShareViewHandle,
        shared: &BTreeSet<RootName>,
    ) -> Self {
        let why = |name: &RootName| {
            let was_something = shared.contains(name) || self.roots.contains(name);
            dirs.unreachable(name, was_something).map(|why| (name.clone(), why))
        };
        self.unreachable = dirs.names().iter().filter_map(why).collect();
        self.missing.retain(|(id, place)| {
            matches!(views.find(*id), ShareLookup::Live(_))
                && !self.unreachable.contains_key(&place.root)
        });
        self
    }
}

/// Checks the next shares from `from` on. The roots in `shared` have shares.
pub(super) fn sweep_next(
    dirs: &SharedDirs,
    views: &ShareViewHandle,
    shared: &BTreeSet<RootName>,
    from: Option<ShareId>,
    now: Millis,
) -> SweepResult {
    let page = views.list(&ShareFilter::default(), from, IN_ONE_GO, now);
    let missing = page.shares.iter().filter(|share| is_missing(dirs, views, share));
    let missing = missing.map(|share| (share.id(), place_of(share))).collect();
    let roots = page.shares.iter().map(|share| share.root().clone()).collect();
    let looked = page.shares.len() as u64;
    let gone = SweepResult { missing, looked, roots, next: page.next, ..SweepResult::default() };
    gone.sure(dirs, views, shared)
}

/// Checks these shares once more. Their files are missing only if their roots have been the same
/// directories for at least `patience`.
pub(super) fn again(
    dirs: &SharedDirs,
    views: &ShareViewHandle,
    (shared, ids): (&BTreeSet<RootName>, &[ShareId]),
    patience: Duration,
) -> SweepResult {
    let mut gone = SweepResult { looked: ids.len() as u64, ..SweepResult::default() };
    for id in ids {
        if let ShareLookup::Live(share) = views.find(*id)
            && is_missing(dirs, views, &share)
        {
            gone.missing.push((*id, place_of(&share)));
            gone.roots.insert(share.root().clone());
        }
    }
    let mut gone = gone.sure(dirs, views, shared);
    // This is read last, because a root that becomes another directory meanwhile is new from then on.
    let is_early = |(_, place): &mut (ShareId, ShareLocation)| dirs.is_new(&place.root, patience);
    gone.early = gone.missing.extract_if(.., is_early).map(|(id, _)| id).collect();
    gone
}
