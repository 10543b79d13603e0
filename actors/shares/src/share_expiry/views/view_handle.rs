//! The readers' access to shares: they read the table itself, without a mailbox and without a published
//! copy.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::kept_order::KeptOrder;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::kept_index::KeptShareIndex;
use super::revocation_set::RevocationSet;
use super::share_expiry_view::ShareView;
use super::share_index::{ShareIndex, UsesNeeded};
use super::share_orders::ShareColumn;
use super::share_state::ShareState;
use crate::share_expiry::policy::time::{ShareMoment, ShareTime};
use crate::share_expiry::state::moves::pending_move::{
    PendingMove, PendingMoves, ResolvedLocation,
};
use crate::share_expiry::state::notification::LARGEST_PAGE;
use crate::share_expiry::state::table::shards::{Shards, ShareLookup};
use crate::share_expiry::state::table::share::Share;
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::{RootName, SharePath};
use crate::share_expiry::state::values::value_types::ShareOwner;

/// How many shares a list reads before it returns a page: one or two milliseconds.
const LOOKED_AT: usize = 20_000;

/// How many missing files are remembered for the check of the disk.
const MOST_MISSING: usize = 10_000;

/// The readers' handle on the shares. Clones share it, and it outlives a restart of the actor.
#[derive(Clone, Default)]
pub struct ShareViewHandle(Arc<ShareViewShared>);

struct ShareViewShared {
    shards: ArcSwap<Shards>,
    moves: ArcSwap<PendingMoves>,
    /// Moves whose outcome on disk is unknown, while this node decides.
    unsettled: watch::Sender<Vec<Arc<PendingMove>>>,
    /// Shares whose files readers did not find.
    missing: Mutex<BTreeSet<ShareId>>,
    missing_reported: Notify,
    /// Shares that were revoked hard a moment ago.
    revocations: RwLock<RevocationSet>,
    is_up: AtomicBool,
    time: Mutex<ShareTime>,
    view: ViewHandle<ShareView>,
    refused_by_time: AtomicU64,
    /// The index of lists.
    index: KeptShareIndex,
    /// The number of the next notification.
    notifications: watch::Sender<u64>,
}

impl Default for ShareViewShared {
    fn default() -> Self {
        ShareViewShared {
            shards: ArcSwap::default(),
            moves: ArcSwap::default(),
            unsettled: watch::Sender::default(),
            missing: Mutex::default(),
            missing_reported: Notify::default(),
            revocations: RwLock::default(),
            is_up: AtomicBool::default(),
            time: Mutex::default(),
            view: ViewHandle::default(),
            refused_by_time: AtomicU64::default(),
            index: KeptShareIndex::default(),
            notifications: watch::Sender::new(0),
        }
    }
}

/// Selects shares of a list. A field without a value selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShareFilter {
    /// Only shares of this owner.
    pub owner: Option<ShareOwner>,
    /// Shares of this path or below it.
    pub within: Option<(RootName, SharePath)>,
    /// Text within the path, with its root, or within the owner.
    pub contains: Option<String>,
    /// Only shares in this state.
    pub state: Option<ShareState>,
    /// Shares that are due before this instant.
    pub due_before: Option<Millis>,
    /// Shares that are due at this instant or later.
    pub due_after: Option<Millis>,
}

impl ShareFilter {
    /// Whether the filter selects this share.
    pub fn takes(&self, share: &Share, now: Millis) -> bool {
        let is_due = |when: &dyn Fn(Millis) -> bool| share.due().instant().is_some_and(when);
        self.owner.as_ref().is_none_or(|owner| share.owner() == Some(owner))
            && self.state.is_none_or(|state| share.state(now) == state)
            && self.due_before.is_none_or(|before| is_due(&|at| at < before))
            && self.due_after.is_none_or(|after| is_due(&|at| at >= after))
            && self
                .within
                .as_ref()
                .is_none_or(|(root, path)| share.root() == root && share.path().is_within(path))
            && self.contains.as_ref().is_none_or(|part| {
                share.owner().is_some_and(|owner| owner.as_str().contains(part.as_str()))
                    || format!("{}/{}", share.root(), share.path()).contains(part.as_str())
            })
    }
}

/// A part of a list, in the order of the ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharePage {
    /// The shares of this page.
    pub shares: Vec<Arc<Share>>,
    /// The start of the next part; none after the last one. More may follow even if this page is short
    /// or empty, because a list reads only a bounded number of shares at a time.
    pub next: Option<ShareId>,
}

impl ShareViewHandle {
    /// The share or tombstone of `id`, as applied. [`Share::is_live`] decides whether a share is live
    /// *now*: a reader that refuses a share by that counts it by [`ShareViewHandle::refused_by_time`].
    ///
    /// Before [`ShareViewHandle::is_up`] everything is unknown.
    pub fn find(&self, id: ShareId) -> ShareLookup {
        self.0.shards.load().find(id)
    }

    /// Whether the table has every entry that this node had recorded when it started. Before that no
    /// answer about a share is possible.
    pub fn is_up(&self) -> bool {
        self.0.is_up.load(Ordering::Acquire)
    }

    /// Whether running downloads of `id` are cut, because it was revoked hard, before or after its end.
    pub fn is_cut(&self, id: ShareId) -> bool {
        let is_revoked = self.0.revocations.read().unwrap_or_else(PoisonError::into_inner).has(id);
        is_revoked || matches!(self.find(id), ShareLookup::Ended(tombstone) if tombstone.cut)
    }

    /// Running downloads of these shares are cut from now on.
    pub(in crate::share_expiry) fn cut(&self, ids: &[ShareId], now: Instant) {
        let mut revocations = self.0.revocations.write().unwrap_or_else(PoisonError::into_inner);
        revocations.add(ids, now);
    }

    /// Forgets shares that were cut long ago.
    pub(in crate::share_expiry) fn prune_revocations(&self, now: Instant) {
        let mut revocations = self.0.revocations.write().unwrap_or_else(PoisonError::into_inner);
        revocations.prune(now);
    }

    /// The shares that match `filter`, from `from` on, at most `most`.
    pub fn list(
        &self,
        filter: &ShareFilter,
        from: Option<ShareId>,
        most: usize,
        now: Millis,
    ) -> SharePage {
        let from = from.unwrap_or(ShareId(0));
        let most = most.clamp(1, LARGEST_PAGE);
        let mut page = SharePage::default();
        let mut looked_at = 0;
        for shard in self.0.shards.load().from(from) {
            let mut shares: Vec<&Arc<Share>> =
                shard.shares().filter(|share| share.id() >= from).collect();
            shares.sort_unstable_by_key(|share| share.id());
            for share in shares {
                if page.shares.len() == most || looked_at == LOOKED_AT {
                    page.next = Some(share.id());
                    return page;
                }
                looked_at += 1;
                if filter.takes(share, now) {
                    page.shares.push(Arc::clone(share));
                }
            }
        }
        page
    }

    /// All shares as rows of a list. The first look after a long time reads all shares; later ones only those that
    /// changed.
    pub fn index(&self, uses_needed: UsesNeeded, now: Instant) -> Arc<ShareIndex> {
        self.0.index.refresh(&self.0.shards.load(), uses_needed, now)
    }

    /// The shares of an index in the order of a column. The order of the last look is repaired.
    pub fn order(&self, column: ShareColumn, index: &Arc<ShareIndex>) -> Arc<KeptOrder> {
        self.0.index.orders.order(column, index)
    }

    /// Forgets the index if nobody has looked for a while.
    pub(in crate::share_expiry) fn prune_index(&self, now: Instant) {
        self.0.index.prune(now);
    }

    /// A share was used at `now`: its bytes or its page were requested.
    pub fn record_use(&self, share: &Share, now: Millis) {
        // The share in the table, because the record at hand may have been replaced meanwhile.
        self.0.shards.load().record_use(share.id(), now);
    }

    /// The current time for shares: refusals use its `latest`, decisions its `now`.
    pub fn moment(&self, clock: &Clock) -> ShareMoment {
        self.with_time(clock, ShareTime::look)
    }

    /// Sets the latest recorded time; none before the first.
    pub(in crate::share_expiry) fn start_time(&self, record: Option<Millis>, clock: &Clock) {
        self.with_time(clock, |time, wall, uptime| time.start(record, wall, uptime));
    }

    /// An operator confirms the wall clock.
    pub(in crate::share_expiry) fn set_time(&self, clock: &Clock) {
        self.with_time(clock, ShareTime::set);
    }

    /// How long a wall clock that is far ahead must hold until it is confirmed.
    pub(in crate::share_expiry) fn hold_clock_for(&self, hold: Duration) {
        self.0.time.lock().unwrap_or_else(PoisonError::into_inner).set_hold(hold);
    }

    fn with_time<T>(
        &self,
        clock: &Clock,
        then: impl FnOnce(&mut ShareTime, Millis, Duration) -> T,
    ) -> T {
        let mut time = self.0.time.lock().unwrap_or_else(PoisonError::into_inner);
        // Read under the lock, so that later reads see later times.
        then(&mut time, clock.reading().wall, clock.uptime())
    }

    /// A share was refused because its due time has passed.
    pub fn refused_by_time(&self) {
        self.0.refused_by_time.fetch_add(1, Ordering::Relaxed);
    }

    /// How many were refused for this reason by this process.
    pub fn refusals_by_time(&self) -> u64 {
        self.0.refused_by_time.load(Ordering::Relaxed)
    }

    /// The current view of the actor: counts, lags, and whether reclaim runs.
    pub fn view(&self) -> Arc<ShareView> {
        self.0.view.load()
    }

    /// The number of the next notification, for hooks to watch.
    pub fn notifications(&self) -> watch::Receiver<u64> {
        self.0.notifications.subscribe()
    }

    /// How many moves have begun so far, for callers that check the disk before they share. None while
    /// this path is being moved.
    pub fn moves_begun(&self, root: &RootName, path: &SharePath) -> Option<u64> {
        // In this order, because a move that begins in between has a higher number than the returned
        // one.
        let begun = self.view().moves_begun;
        let location = self.0.moves.load().resolve_location(root, path);
        matches!(location, ResolvedLocation::AsRecorded).then_some(begun)
    }

    /// Where the file of a share must be searched: at its path, unless it is being moved.
    pub fn resolve_location(&self, share: &Share) -> ResolvedLocation {
        self.0.moves.load().resolve_location(share.root(), share.path())
    }

    /// The moves whose outcome only the disk knows, for the ShareFilesActor. None while another node
    /// decides.
    pub fn unsettled(&self) -> watch::Receiver<Vec<Arc<PendingMove>>> {
        self.0.unsettled.subscribe()
    }

    /// Reports that the file of a share is missing: the ShareFilesActor checks it.
    pub fn report_missing(&self, id: ShareId) {
        let mut missing = self.missing();
        if missing.len() < MOST_MISSING && missing.insert(id) {
            self.0.missing_reported.notify_one();
        }
    }

    /// Waits until a file was reported missing.
    pub async fn missing_reported(&self) {
        self.0.missing_reported.notified().await;
    }

    /// The files that were reported missing since the last call.
    pub fn take_missing(&self) -> Vec<ShareId> {
        std::mem::take(&mut *self.missing()).into_iter().collect()
    }

    fn missing(&self) -> MutexGuard<'_, BTreeSet<ShareId>> {
        // No code under this lock can panic during a change.
        self.0.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These are unsettled from now on.
    pub(in crate::share_expiry) fn publish_unsettled(&self, moves: Vec<Arc<PendingMove>>) {
        self.0.unsettled.send_if_modified(|seen| {
            let is_news = *seen != moves;
            *seen = moves;
            is_news
        });
    }

    /// Lets readers read `table` from now on.
    pub fn attach(&self, table: &ShareTable) {
        self.attach_table(Arc::clone(&table.shards), Arc::clone(&table.moves));
    }

    /// Lets readers read these tables from now on.
    fn attach_table(&self, shards: Arc<Shards>, moves: Arc<PendingMoves>) {
        self.0.moves.store(moves);
        self.0.shards.store(shards);
        self.0.is_up.store(true, Ordering::Release);
    }

    /// Where the actor publishes its view.
    pub(in crate::share_expiry) fn view_handle(&self) -> ViewHandle<ShareView> {
        self.0.view.clone()
    }

    /// Wakes the hooks if the published view has new notifications.
    pub(in crate::share_expiry) fn wake_hooks(&self) {
        let next = self.view().next_notification;
        self.0.notifications.send_if_modified(|seen| std::mem::replace(seen, next) != next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share_expiry::samples::{root, share};
    use crate::share_expiry::state::values::value_types::{Deadline, ShareEnding, Tombstone};

    fn views(count: u128) -> (ShareViewHandle, Arc<Shards>) {
        let (views, shards) = (ShareViewHandle::default(), Arc::new(Shards::default()));
        views.attach_table(Arc::clone(&shards), Arc::default());
        for n in 0..count {
            // Spread over the shards.
            let id = (n + 1) << 100;
            shards.insert(share(id, &format!("d{}/f{n}", n % 3), i64::try_from(n).unwrap()));
        }
        (views, shards)
    }

    #[test]
    fn a_list_comes_in_parts_that_together_are_all_of_it() {
        let (views, _) = views(100);
        let within = Some((root(), SharePath::new("d1").unwrap()));
        let filter = ShareFilter { within, ..ShareFilter::default() };
        for most in [1, 7, 1000] {
            let (mut from, mut listed) = (None, Vec::new());
            loop {
                let page = views.list(&filter, from, most, Millis(0));
                assert!(page.shares.len() <= most);
                listed.extend(page.shares.iter().map(|share| share.id()));
                from = page.next;
                if from.is_none() {
                    break;
                }
            }
            assert!(listed.is_sorted());
            assert_eq!(listed.len(), 33, "{most} a page");
        }
    }

    #[test]
    fn a_share_filter_requires_every_condition() {
        let (views, _) = views(10);
        let count = |filter: ShareFilter| views.list(&filter, None, 100, Millis(5)).shares.len();
        let all = ShareFilter::default();
        assert_eq!(count(all.clone()), 10);
        assert_eq!(count(ShareFilter { due_before: Some(Millis(3)), ..all.clone() }), 3);
        assert_eq!(count(ShareFilter { due_before: Some(Millis::LAST), ..all.clone() }), 10);
        assert_eq!(count(ShareFilter { due_after: Some(Millis(3)), ..all.clone() }), 7);
        let both =
            ShareFilter { due_before: Some(Millis(5)), due_after: Some(Millis(3)), ..all.clone() };
        assert_eq!(count(both), 2);
        assert_eq!(count(ShareFilter { state: Some(ShareState::Due), ..all.clone() }), 6);
        assert_eq!(count(ShareFilter { state: Some(ShareState::Live), ..all.clone() }), 4);
        let nobody = Some(ShareOwner::new("nobody").unwrap());
        assert_eq!(count(ShareFilter { owner: nobody, ..all }), 0);
    }

    #[test]
    fn a_hard_revoked_share_is_cut_and_its_uses_are_recorded() {
        let (views, shards) = views(1);
        let id = ShareId(1 << 100);
        let ShareLookup::Live(old) = views.find(id) else { panic!("it is there") };
        shards.insert(Arc::new(old.to_change()));
        views.record_use(&old, Millis(9000));
        assert_eq!(shards.look(id, Share::uses), Some(1));
        assert!(!views.is_cut(id));
        let deadline = Deadline::at(Millis(9));
        let why = ShareEnding::Revoked;
        shards.replace_with_tombstone(id, |_| {
            Some(Tombstone { ended: Millis(5), why, deadline, number: 3, cut: true })
        });
        assert!(views.is_cut(id));
    }
}
