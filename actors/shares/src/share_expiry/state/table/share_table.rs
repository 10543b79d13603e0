//! The piece: shares, tombstones of ended shares, and notifications for hooks. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_core::history::BoundedLog;

use super::order::{InternedTexts, ShareDueKey};
use super::shards::{Shards, ShareLookup};
use super::share::{ClientKey, Share};
use crate::share_expiry::state::download_cache::DownloadIdempotencyCache;
use crate::share_expiry::state::event::ShareRefusal;
use crate::share_expiry::state::moves::pending_move::{PendingMove, PendingMoves};
use crate::share_expiry::state::notification::LARGEST_PAGE;
use crate::share_expiry::state::notification::{
    ShareNotification, ShareNotificationKind, ShareNotifications,
};
use crate::share_expiry::state::table::path_order::PathOrder;
use crate::share_expiry::state::table::totals::Totals;
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::{RootName, SharePath};
use crate::share_expiry::state::values::root_id::RootId;
use crate::share_expiry::state::values::text::SharedText;
use crate::share_expiry::state::values::value_types::{ShareOwner, Tombstone};

/// The durable state of the ShareExpiryActor.
///
/// **Invariants:** every order holds exactly the shares of `shards`, and `by_due` those with a deadline.
/// `tombstone_index` holds exactly the tombstones. An id is never reused.
#[derive(Default)]
pub struct ShareTable {
    pub(in crate::share_expiry) shards: Arc<Shards>,
    pub(in crate::share_expiry) by_path: PathOrder,
    pub(in crate::share_expiry) by_due: BTreeSet<ShareDueKey>,
    pub(in crate::share_expiry) roots: InternedTexts,
    pub(in crate::share_expiry) owners: InternedTexts,
    pub(in crate::share_expiry) live: u64,
    pub(in crate::share_expiry) totals: Totals,
    /// The latest confirmed time of any applied event, or the time that an operator has set.
    pub(in crate::share_expiry) time: Option<Millis>,
    /// The caller that paused reclaim, while it is paused.
    pub(in crate::share_expiry) paused: Option<String>,
    /// Notifications that are kept for hooks.
    pub(in crate::share_expiry) notification_log: BoundedLog<NotificationRecord>,
    /// The shares with tombstones. The number of a tombstone is how many shares ended before it, not its
    /// index in here.
    pub(in crate::share_expiry) tombstone_index: BoundedLog<TombstoneKey>,
    /// The cursor of each hook: the number of the first notification that it did not get.
    pub(in crate::share_expiry) cursors: BTreeMap<String, u64>,
    /// The ids of roots that are on record.
    pub(in crate::share_expiry) root_ids: Arc<BTreeMap<RootName, RootId>>,
    /// Downloads that were counted a moment ago.
    pub(in crate::share_expiry) download_cache: DownloadIdempotencyCache,
    /// The moves under way.
    pub(in crate::share_expiry) moves: Arc<PendingMoves>,
    /// The number of the next move.
    pub(in crate::share_expiry) next_move: u64,
    /// The last moves that ended, for the feed of changes. It is not stored in snapshots.
    pub(in crate::share_expiry) moves_ended: VecDeque<Arc<PendingMove>>,
    /// Shares that are read from a snapshot, not yet in any order.
    pub(in crate::share_expiry) thawing: Vec<Arc<Share>>,
    /// The clients of their downloads that began with a part, during a restore.
    pub(in crate::share_expiry) thawing_parts: HashMap<ShareId, Vec<ClientKey>>,
}

/// The place of a tombstone, and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TombstoneKey {
    /// When the share ended, in milliseconds.
    pub ended: Millis,
    /// The id of the ended share.
    pub id: ShareId,
}

/// One line of the notification log.
#[derive(Clone, Debug)]
pub(in crate::share_expiry) struct NotificationRecord {
    pub(in crate::share_expiry) at: Millis,
    pub(in crate::share_expiry) share: Arc<Share>,
    pub(in crate::share_expiry) by: Option<SharedText>,
    pub(in crate::share_expiry) what: ShareNotificationKind,
}

impl ShareTable {
    /// The share or tombstone of `id`.
    pub fn find(&self, id: ShareId) -> ShareLookup {
        self.shards.find(id)
    }

    /// Reads one part of a share.
    pub fn look<T>(&self, id: ShareId, look: impl FnOnce(&Share) -> T) -> Option<T> {
        self.shards.look(id, look)
    }

    /// A share that is live at `now`, or why it is not.
    pub fn live_at(&self, id: ShareId, now: Millis) -> Result<Arc<Share>, ShareRefusal> {
        match self.find(id) {
            ShareLookup::Live(share) if share.is_live(now) => Ok(share),
            ShareLookup::Live(share) => Err(ShareRefusal::Ended { why: share.why_due() }),
            ShareLookup::Ended(Tombstone { why, .. }) => Err(ShareRefusal::Ended { why }),
            ShareLookup::Unknown => Err(ShareRefusal::Unknown),
        }
    }

    /// How many downloads were left when the download of this request was counted, if that was a moment
    /// ago.
    pub fn taken_before(&self, request: RequestId) -> Option<u32> {
        self.download_cache.left(request)
    }

    /// The number of shares, live or due.
    pub fn len(&self) -> u64 {
        self.live
    }

    /// Whether the table has no shares.
    pub fn is_empty(&self) -> bool {
        self.live == 0
    }

    /// Totals of all shares by their end.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The latest confirmed time that was recorded; none before the first.
    pub fn time(&self) -> Option<Millis> {
        self.time
    }

    /// The latest time in a table that is read from a snapshot. For a snapshot from before the time was
    /// recorded.
    pub(in crate::share_expiry) fn latest_recorded_time(&self) -> Option<Millis> {
        let created = self.thawing.iter().map(|share| share.created());
        let downloads = self.thawing.iter().filter_map(|share| share.downloads());
        let taken =
            downloads.flat_map(|downloads| downloads.counts.takers.iter().map(|taker| taker.at));
        let ended = self.tombstone_index.newest_first().map(|(_, tombstone)| tombstone.ended);
        let notified = self.notification_log.newest_first().map(|(_, record)| record.at);
        created.chain(taken).chain(ended).chain(notified).max()
    }

    /// Whether a share has become due by `now` since the recorded time.
    pub fn has_come_due(&self, now: Millis) -> bool {
        let since = self.time.unwrap_or(Millis(i64::MIN));
        self.next_due_after(since).is_some_and(|due| due <= now)
    }

    /// The caller that paused reclaim, while it is paused.
    pub fn paused(&self) -> Option<&str> {
        self.paused.as_deref()
    }

    /// How many shares `owner` has.
    pub fn of_owner(&self, owner: &ShareOwner) -> u64 {
        self.owners.count(&owner.0)
    }

    /// The roots that have shares.
    pub fn roots(&self) -> impl Iterator<Item = RootName> {
        self.roots.all().cloned().map(RootName)
    }

    /// The shares with a deadline, from `from` on.
    pub fn due_from(&self, from: ShareDueKey) -> impl Iterator<Item = ShareDueKey> {
        self.by_due.range(from..).copied()
    }

    /// When the next share becomes due after `now`.
    pub fn next_due_after(&self, now: Millis) -> Option<Millis> {
        let after = ShareDueKey::from(Millis(now.0.saturating_add(1)));
        self.due_from(after).next().map(ShareDueKey::instant)
    }

    /// How many are due at `now`, counted up to `most`.
    pub fn backlog(&self, now: Millis, most: usize) -> u64 {
        self.by_due.iter().take(most).take_while(|due| due.instant() <= now).count() as u64
    }

    /// The shares of `path` and everything below it, in the order of their paths, after `after`.
    pub fn within<'a>(
        &'a self,
        root: &'a RootName,
        path: &'a SharePath,
        after: Option<&'a (SharePath, ShareId)>,
    ) -> impl Iterator<Item = &'a Arc<Share>> {
        self.by_path.within(root, path, after)
    }

    /// Every share, in no particular order.
    pub fn shares(&self) -> impl Iterator<Item = Arc<Share>> {
        let shards = self.shards.freeze().into_iter();
        shards.flat_map(|shard| shard.shares().cloned().collect::<Vec<_>>())
    }

    /// The remembered ended shares, the oldest first.
    pub fn tombstone_index(&self) -> &BoundedLog<TombstoneKey> {
        &self.tombstone_index
    }

    /// The number of the oldest tombstone: how many shares ended before it.
    pub fn first_tombstone_number(&self) -> u64 {
        self.totals.ended() - self.tombstone_index.len()
    }

    /// The number of the next notification.
    pub fn next_notification(&self) -> u64 {
        self.notification_log.next()
    }

    /// The number of the first notification that is kept.
    pub fn first_notification(&self) -> u64 {
        self.notification_log.first()
    }

    /// The time of the first kept notification with this number or a higher one.
    pub fn notification_time(&self, number: u64) -> Option<Millis> {
        self.notification_log.oldest_from(number).next().map(|(_, record)| record.at)
    }

    /// The ids of roots that are on record.
    pub fn root_ids(&self) -> &Arc<BTreeMap<RootName, RootId>> {
        &self.root_ids
    }

    /// The cursor of each hook: the number of the first notification that it did not get.
    pub fn cursors(&self) -> &BTreeMap<String, u64> {
        &self.cursors
    }

    /// The notifications from `from` on, oldest first, at most `most`.
    pub fn notifications(&self, from: u64, most: usize) -> ShareNotifications {
        let lines = self.notification_log.oldest_from(from).take(most.clamp(1, LARGEST_PAGE));
        let notifications: Vec<_> =
            lines.map(|(number, line)| line.to_notification(number)).collect();
        // Nothing is skipped, because later entries do not exist yet.
        let next = notifications
            .last()
            .map_or(from.max(self.first_notification()), |last| last.number + 1);
        ShareNotifications { notifications, next }
    }

    /// The shares in the notifications from `first` to before `next`, with their times.
    pub(in crate::share_expiry) fn notifications_between(
        &self,
        first: u64,
        next: u64,
    ) -> impl Iterator<Item = (u64, &NotificationRecord)> {
        self.notification_log.oldest_from(first).take_while(move |(number, _)| *number < next)
    }

    /// Adds a share, or replaces `former` by the new record.
    pub(in crate::share_expiry) fn insert(
        &mut self,
        mut share: Share,
        former: Option<&Share>,
    ) -> Arc<Share> {
        share.root = RootName(self.roots.join(share.root.as_str()));
        share.owner = share.owner.take().map(|owner| ShareOwner(self.owners.join(owner.as_str())));
        let share = Arc::new(share);
        match former {
            Some(former) => self.remove(former, Some(&share)),
            None => self.live += 1,
        }
        self.by_due.extend(ShareDueKey::of(&share));
        self.by_path.insert(Arc::clone(&share));
        self.shards.insert(Arc::clone(&share));
        share
    }

    /// Removes a share from every order, except those in which `successor` replaces it.
    pub(in crate::share_expiry) fn remove(&mut self, share: &Share, successor: Option<&Share>) {
        self.roots.leave(&share.root.0);
        if let Some(owner) = &share.owner {
            self.owners.leave(&owner.0);
        }
        let due = ShareDueKey::of(share);
        if let Some(place) =
            due.filter(|_| successor.is_none_or(|next| ShareDueKey::of(next) != due))
        {
            self.by_due.remove(&place);
        }
        let place = (share.root(), share.path());
        if successor.is_none_or(|next| (next.root(), next.path()) != place) {
            self.by_path.remove(share);
        }
    }
}

impl NotificationRecord {
    pub(in crate::share_expiry) fn to_notification(&self, number: u64) -> ShareNotification {
        let NotificationRecord { at, share, by, what } = self;
        ShareNotification {
            number,
            id: share.id(),
            at: *at,
            what: *what,
            root: share.root().clone(),
            path: share.path().clone(),
            owner: share.owner().cloned(),
            note: share.terms().note.clone(),
            deadline: share.deadline(),
            due: share.due(),
            by: by.as_ref().map(|by| by.as_str().to_owned()),
        }
    }
}
