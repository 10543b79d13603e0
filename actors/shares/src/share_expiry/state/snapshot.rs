//! The piece as rows of a snapshot. Pure.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use hashbrown::HashMap;
use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_core::history::BoundedLog;
use reelyard_replication::stored::{RowVersions, encode_row, read_row};
use reelyard_replication::{FrozenPiece, UnreadableEvent};
use serde::{Deserialize, Serialize};

use super::download_cache::CountedDownload;
use super::moves::pending_move::PendingMove;
use super::moves::stored_move::StoredMove;
use super::stored::{
    StoredCountedDownload, StoredNotification, StoredNotificationV2, StoredShare,
    StoredShareTotals, StoredShareV2, StoredTombstone,
};
use super::table::order::ShareDueKey;
use super::table::path_order::PathOrder;
use super::table::shards::Shard;
use super::table::share::{ClientKey, Share};
use super::table::share_table::{NotificationRecord, ShareTable, TombstoneKey};
use super::table::totals::Totals;
use super::values::id::ShareId;
use super::values::path::RootName;
use super::values::root_id::RootId;
use super::values::text::SharedText;
use super::values::value_types::Tombstone;

/// The first byte of each row.
const ROW_VERSIONS: RowVersions = 1..=2;

/// The largest number of shares in one row.
const SHARES_A_ROW: usize = 256;

/// The largest number of bytes of these shares, so that a row stays far below 1 MiB, however
/// long their texts are.
const SHARE_BYTES_A_ROW: usize = 256 << 10;

/// How many tombstones one row holds.
const TOMBSTONES_PER_ROW: usize = 1024;

/// One row of the snapshot. Postcard numbers the variants in this order: add new ones at the
/// end.
#[derive(Serialize, Deserialize)]
pub(super) enum ShareSnapshotRow<'a> {
    /// The counters of the piece. This row comes first.
    Head {
        totals: StoredShareTotals,
        paused: Option<String>,
        cursors: BTreeMap<String, u64>,
        /// How many shares follow.
        shares: u64,
        /// The number of the first notification that follows.
        notifications_from: u64,
    },
    /// Shares of row version 1. Stores still hold it; `SharesV2` replaces it.
    Shares(#[serde(borrow)] Vec<StoredShare<'a>>),
    /// Tombstones, the oldest first.
    Tombstones(Vec<(ShareId, StoredTombstone)>),
    /// Notifications of row version 1. Stores still hold it; `NotificationsV2` replaces it.
    Notifications(#[serde(borrow)] Vec<StoredNotification<'a>>),
    /// The end of the snapshot.
    End,
    /// The running moves, before the end row.
    Moves { next: u64, moves: Vec<StoredMove> },
    /// Downloads that were counted a moment ago, the oldest first; before the end row, too.
    CountedDownloads(Vec<StoredCountedDownload>),
    /// The latest confirmed time that was recorded; before the end row, too.
    Time(Millis),
    /// Clients whose downloads began with a part, by share; before the shares.
    InPart(Vec<(ShareId, Vec<ClientKey>)>),
    /// Shares, in the order of their paths.
    SharesV2(#[serde(borrow)] Vec<StoredShareV2<'a>>),
    /// Notifications, oldest first.
    NotificationsV2(#[serde(borrow)] Vec<StoredNotificationV2<'a>>),
    /// The ids of roots; before the end row.
    RootIds(BTreeMap<RootName, RootId>),
}

/// How many counted downloads one row holds.
const DOWNLOADS_A_ROW: usize = 4096;

/// The piece at one index: shared shards.
pub(in crate::share_expiry) struct FrozenShareTable {
    shards: Vec<Arc<Shard>>,
    tombstone_index: BoundedLog<TombstoneKey>,
    notification_log: BoundedLog<NotificationRecord>,
    totals: Totals,
    paused: Option<String>,
    cursors: BTreeMap<String, u64>,
    moves: Arc<Vec<Arc<PendingMove>>>,
    next_move: u64,
    download_cache: Vec<CountedDownload>,
    time: Option<Millis>,
    root_ids: Arc<BTreeMap<RootName, RootId>>,
}

impl FrozenShareTable {
    pub(in crate::share_expiry) fn of(table: &ShareTable) -> Self {
        FrozenShareTable {
            shards: table.shards.freeze(),
            tombstone_index: table.tombstone_index.clone(),
            notification_log: table.notification_log.clone(),
            totals: table.totals,
            paused: table.paused.clone(),
            cursors: table.cursors.clone(),
            moves: table.moves(),
            next_move: table.next_move,
            download_cache: table.download_cache.all(),
            time: table.time,
            root_ids: Arc::clone(&table.root_ids),
        }
    }
}

impl FrozenPiece for FrozenShareTable {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: &ShareSnapshotRow<'_>| row(&encode_row(&ROW_VERSIONS, content));
        let mut shares = Vec::new();
        let mut tombstones = HashMap::new();
        // The live table copies the changed part of a shard until this one has released it.
        for shard in self.shards {
            shares.extend(shard.shares().cloned());
            tombstones.extend(shard.tombstones().copied());
        }
        put(&ShareSnapshotRow::Head {
            totals: self.totals.into(),
            paused: self.paused.clone(),
            cursors: self.cursors.clone(),
            shares: shares.len() as u64,
            notifications_from: self.notification_log.first(),
        });
        // One row each, because few shares have any, and one share may have 10,000.
        for parts in shares.iter().filter_map(|share| share.in_part()) {
            put(&ShareSnapshotRow::InPart(vec![parts]));
        }
        PathOrder::sort(&mut shares);
        let mut filling = SnapshotRowBuffer::default();
        for share in &shares {
            let stored = StoredShareV2::of(share);
            filling.push(stored, share, &mut |row| put(&ShareSnapshotRow::SharesV2(row)));
        }
        filling.end(&mut |row| put(&ShareSnapshotRow::SharesV2(row)));
        let tombstone_index: Vec<(ShareId, StoredTombstone)> = self
            .tombstone_index
            .oldest_first()
            .filter_map(|(_, key)| Some((key.id, (*tombstones.get(&key.id)?).into())))
            .collect();
        for some in tombstone_index.chunks(TOMBSTONES_PER_ROW) {
            put(&ShareSnapshotRow::Tombstones(some.to_vec()));
        }
        let mut filling = SnapshotRowBuffer::default();
        for (_, record) in self.notification_log.oldest_first() {
            let stored = StoredNotificationV2::of(record);
            filling.push(stored, &record.share, &mut |row| {
                put(&ShareSnapshotRow::NotificationsV2(row));
            });
        }
        filling.end(&mut |row| put(&ShareSnapshotRow::NotificationsV2(row)));
        let moves = self.moves.iter().map(|moving| PendingMove::clone(moving).into()).collect();
        put(&ShareSnapshotRow::Moves { next: self.next_move, moves });
        for some in self.download_cache.chunks(DOWNLOADS_A_ROW) {
            let downloads = some.iter().copied().map(StoredCountedDownload::from);
            put(&ShareSnapshotRow::CountedDownloads(downloads.collect()));
        }
        if let Some(time) = self.time {
            put(&ShareSnapshotRow::Time(time));
        }
        if !self.root_ids.is_empty() {
            put(&ShareSnapshotRow::RootIds(BTreeMap::clone(&self.root_ids)));
        }
        put(&ShareSnapshotRow::End);
    }
}

/// A row that is being filled.
struct SnapshotRowBuffer<T> {
    items: Vec<T>,
    bytes: usize,
}

impl<T> Default for SnapshotRowBuffer<T> {
    fn default() -> Self {
        SnapshotRowBuffer { items: Vec::new(), bytes: 0 }
    }
}

impl<T> SnapshotRowBuffer<T> {
    /// Adds the record of `share`. Writes the row if it is full.
    fn push(&mut self, item: T, share: &Share, row: &mut dyn FnMut(Vec<T>)) {
        self.items.push(item);
        self.bytes += share.stored_bytes();
        if self.items.len() == SHARES_A_ROW || self.bytes >= SHARE_BYTES_A_ROW {
            std::mem::take(self).end(row);
        }
    }

    fn end(self, row: &mut dyn FnMut(Vec<T>)) {
        if !self.items.is_empty() {
            row(self.items);
        }
    }
}

impl Share {
    /// The clients whose downloads of it began with a part, if any.
    fn in_part(&self) -> Option<(ShareId, Vec<ClientKey>)> {
        let takers = &self.downloads()?.counts.takers;
        let clients: Vec<ClientKey> =
            takers.iter().filter(|taker| taker.in_part).map(|taker| taker.client).collect();
        (!clients.is_empty()).then_some((self.id(), clients))
    }

    /// The downloads of these clients began with a part.
    fn begun_in_part(&mut self, clients: &[ClientKey]) {
        let clients: HashSet<&ClientKey> = clients.iter().collect();
        self.change_cold_fields(|cold| {
            let takers = cold.counts.takers.iter_mut();
            takers.for_each(|taker| taker.in_part = clients.contains(&taker.client));
        });
    }

    /// Its approximate size in a row, in bytes.
    fn stored_bytes(&self) -> usize {
        let cold = self
            .cold
            .as_ref()
            .map_or(0, |cold| cold.terms.stored_bytes() + cold.counts.takers.len() * 20);
        512 + self.path().as_str().len() + cold
    }
}

/// Restores one row that a frozen table wrote.
pub(in crate::share_expiry) fn thaw_row(
    table: &mut ShareTable,
    row: &[u8],
) -> Result<(), UnreadableEvent> {
    let unreadable = |error: String| UnreadableEvent::Body { piece: PieceId::Shares, error };
    match read_row(PieceId::Shares, &ROW_VERSIONS, row)? {
        ShareSnapshotRow::Head { totals, paused, cursors, shares, notifications_from } => {
            table.totals = totals.into();
            table.paused = paused;
            table.cursors = cursors;
            table.notification_log = BoundedLog::starting_at(notifications_from);
            let shares = usize::try_from(shares).unwrap_or(0);
            table.shards.expect(shares);
            // The figure is only a hint: memory is reserved for the rows that really follow.
            table.thawing.reserve(shares.min(1 << 20));
        }
        ShareSnapshotRow::InPart(parts) => table.thawing_parts.extend(parts),
        ShareSnapshotRow::Shares(stored) => {
            for stored in stored {
                let stored = stored.in_v2().map_err(unreadable)?;
                table.thaw_share(stored).map_err(unreadable)?;
            }
        }
        ShareSnapshotRow::SharesV2(stored) => {
            for stored in stored {
                table.thaw_share(stored).map_err(unreadable)?;
            }
        }
        ShareSnapshotRow::Tombstones(stored) => {
            for (id, tombstone) in stored {
                let tombstone = Tombstone::from(tombstone);
                if table.shards.insert_tombstone(id, tombstone) {
                    table.tombstone_index.push(TombstoneKey { ended: tombstone.ended, id });
                }
            }
        }
        ShareSnapshotRow::Notifications(stored) => {
            for stored in stored {
                let stored = stored.in_v2().map_err(unreadable)?;
                table.thaw_notification(stored).map_err(unreadable)?;
            }
        }
        ShareSnapshotRow::NotificationsV2(stored) => {
            for stored in stored {
                table.thaw_notification(stored).map_err(unreadable)?;
            }
        }
        ShareSnapshotRow::Moves { next, moves } => {
            table.next_move = next;
            for moving in moves {
                table.moves.insert(moving.into());
            }
        }
        ShareSnapshotRow::CountedDownloads(downloads) => {
            downloads.into_iter().for_each(|one| table.download_cache.insert(one.into()))
        }
        ShareSnapshotRow::Time(time) => table.time = Some(time),
        ShareSnapshotRow::RootIds(root_ids) => table.root_ids = Arc::new(root_ids),
        ShareSnapshotRow::End => table.thawed(),
    }
    Ok(())
}

impl ShareTable {
    fn thaw_share(&mut self, stored: StoredShareV2<'_>) -> Result<(), String> {
        let root = self.roots.join(stored.root);
        let owner = stored.owner.map(|owner| self.owners.join(owner));
        let mut share = stored.thaw(root, owner)?;
        if let Some(parts) = self.thawing_parts.remove(&share.id()) {
            share.begun_in_part(&parts);
        }
        let share = Arc::new(share);
        self.shards.insert(Arc::clone(&share));
        self.thawing.push(share);
        self.live += 1;
        Ok(())
    }

    fn thaw_notification(&mut self, stored: StoredNotificationV2<'_>) -> Result<(), String> {
        let StoredNotificationV2 { at, what, by, share } = stored;
        let root = self.roots.like(share.root);
        let owner = share.owner.map(|owner| self.owners.like(owner));
        let share = Arc::new(share.thaw(root, owner)?);
        self.notification_log.push(NotificationRecord {
            at,
            share,
            by: by.map(SharedText::new),
            what,
        });
        Ok(())
    }

    /// Every share is loaded, so the orders are built from all of them at once.
    fn thawed(&mut self) {
        // A snapshot from before the time was recorded.
        self.time = self.time.or_else(|| self.latest_recorded_time());
        let shares = std::mem::take(&mut self.thawing);
        let mut due: Vec<ShareDueKey> =
            shares.iter().filter_map(|share| ShareDueKey::of(share)).collect();
        due.sort_unstable();
        self.by_due = due.into_iter().collect();
        self.by_path = PathOrder::of(shares);
    }
}
