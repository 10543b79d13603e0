//! The piece as rows of a snapshot. Pure.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use hashbrown::HashMap;
use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_core::history::BoundedLog;
use reelyard_replication::{FrozenPiece, UnreadableEvent};
use serde::{Deserialize, Serialize};

use super::download_cache::CountedDownload;
use super::moves::pending_move::PendingMove;
use super::order::ShareDueKey;
use super::paths::path::{RootName, SharePath};
use super::paths::path_order::PathOrder;
use super::shards::Shard;
use super::share::{
    ClientKey, ColdShareFields, DownloadClient, DownloadLimit, Exhausted, Share, ShareInit,
};
use super::share_table::{NotificationRecord, ShareTable, TombstoneKey};
use super::values::id::ShareId;
use super::values::text::SharedText;
use super::values::value_types::{
    Deadline, PasswordHash, ShareKind, ShareNote, ShareOwner, Tombstone,
};
use crate::share_expiry::state::notification::ShareNotificationKind;
use crate::share_expiry::state::totals::Totals;

/// The first byte of each row.
const ROW_VERSION: u8 = 1;

/// How many shares one row holds at most.
const SHARES_A_ROW: usize = 256;

/// How many bytes of them: a row stays far below 1 MiB, however long their texts are.
const SHARE_BYTES_A_ROW: usize = 256 << 10;

/// How many tombstones one row holds.
const TOMBSTONES_PER_ROW: usize = 1024;

/// One row of the snapshot. Postcard numbers the variants in this order: new ones go to the end.
#[derive(Serialize, Deserialize)]
enum ShareSnapshotRow<'a> {
    /// The counters of the piece. This row comes first.
    Head {
        totals: Totals,
        paused: Option<String>,
        cursors: BTreeMap<String, u64>,
        /// How many shares follow.
        shares: u64,
        /// The number of the first notification that follows.
        happenings_from: u64,
    },
    /// Shares, in the order of their paths.
    Shares(#[serde(borrow)] Vec<StoredShare<'a>>),
    /// Tombstones, the oldest first.
    Tombstones(Vec<(ShareId, Tombstone)>),
    /// Notifications, oldest first.
    Happenings(#[serde(borrow)] Vec<StoredNotification<'a>>),
    /// The end of the snapshot.
    End,
    /// The moves under way, before the end row.
    Moves { next: u64, moves: Vec<PendingMove> },
    /// Downloads that were counted a moment ago, the oldest first; before the end row, too.
    Recent(Vec<CountedDownload>),
    /// The latest confirmed time on record; before the end row, too.
    Time(Millis),
    /// Clients whose downloads began with a part, by share; before the shares.
    InPart(Vec<(ShareId, Vec<ClientKey>)>),
}

#[derive(Serialize, Deserialize)]
struct StoredShare<'a> {
    id: ShareId,
    root: &'a str,
    path: &'a str,
    kind: ShareKind,
    owner: Option<&'a str>,
    created: Millis,
    deadline: Deadline,
    generation: u32,
    noticed: bool,
    #[serde(borrow)]
    rare: Option<StoredColdFields<'a>>,
}

#[derive(Serialize, Deserialize)]
struct StoredColdFields<'a> {
    note: Option<&'a str>,
    password: Option<&'a str>,
    downloads: Option<StoredDownloads>,
}

#[derive(Serialize, Deserialize)]
struct StoredDownloads {
    most: std::num::NonZeroU32,
    taken: u32,
    takers: Vec<DownloadClient>,
    exhausted: Option<Exhausted>,
}

#[derive(Serialize, Deserialize)]
struct StoredNotification<'a> {
    at: Millis,
    what: ShareNotificationKind,
    by: Option<&'a str>,
    #[serde(borrow)]
    share: StoredShare<'a>,
}

/// How many counted downloads one row holds.
const RECENT_A_ROW: usize = 4096;

/// The piece at one index: shared shards.
pub(in crate::share_expiry) struct FrozenShareTable {
    shards: Vec<Arc<Shard>>,
    tombstone_index: BoundedLog<TombstoneKey>,
    chronicle: BoundedLog<NotificationRecord>,
    totals: Totals,
    paused: Option<String>,
    cursors: BTreeMap<String, u64>,
    moves: Arc<Vec<Arc<PendingMove>>>,
    next_move: u64,
    recent: Vec<CountedDownload>,
    time: Option<Millis>,
}

impl FrozenShareTable {
    pub(in crate::share_expiry) fn of(table: &ShareTable) -> Self {
        FrozenShareTable {
            shards: table.shards.freeze(),
            tombstone_index: table.tombstone_index.clone(),
            chronicle: table.chronicle.clone(),
            totals: table.totals,
            paused: table.paused.clone(),
            cursors: table.cursors.clone(),
            moves: table.moves(),
            next_move: table.next_move,
            recent: table.recent.all(),
            time: table.time,
        }
    }
}

impl FrozenPiece for FrozenShareTable {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: &ShareSnapshotRow<'_>| row(&encode(content));
        let mut shares = Vec::new();
        let mut tombstones = HashMap::new();
        // The live table copies the changed part of a shard until this one has released it.
        for shard in self.shards {
            shares.extend(shard.shares().cloned());
            tombstones.extend(shard.tombstones().copied());
        }
        put(&ShareSnapshotRow::Head {
            totals: self.totals,
            paused: self.paused.clone(),
            cursors: self.cursors.clone(),
            shares: shares.len() as u64,
            happenings_from: self.chronicle.first(),
        });
        // A row each: few shares have any, and one may have 10,000.
        for parts in shares.iter().filter_map(|share| share.in_part()) {
            put(&ShareSnapshotRow::InPart(vec![parts]));
        }
        PathOrder::sort(&mut shares);
        let mut filling = SnapshotRowBuffer::default();
        for share in &shares {
            filling
                .put(StoredShare::of(share), share, &mut |row| put(&ShareSnapshotRow::Shares(row)));
        }
        filling.end(&mut |row| put(&ShareSnapshotRow::Shares(row)));
        let tombstone_index: Vec<(ShareId, Tombstone)> = self
            .tombstone_index
            .oldest_first()
            .filter_map(|(_, tombstone)| Some((tombstone.id, *tombstones.get(&tombstone.id)?)))
            .collect();
        for some in tombstone_index.chunks(TOMBSTONES_PER_ROW) {
            put(&ShareSnapshotRow::Tombstones(some.to_vec()));
        }
        let mut filling = SnapshotRowBuffer::default();
        for (_, happened) in self.chronicle.oldest_first() {
            let stored = StoredNotification::of(happened);
            filling
                .put(stored, &happened.share, &mut |row| put(&ShareSnapshotRow::Happenings(row)));
        }
        filling.end(&mut |row| put(&ShareSnapshotRow::Happenings(row)));
        let moves = self.moves.iter().map(|moving| PendingMove::clone(moving)).collect();
        put(&ShareSnapshotRow::Moves { next: self.next_move, moves });
        for some in self.recent.chunks(RECENT_A_ROW) {
            put(&ShareSnapshotRow::Recent(some.to_vec()));
        }
        if let Some(time) = self.time {
            put(&ShareSnapshotRow::Time(time));
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
    /// Adds the record of `share`; a full row is written.
    fn put(&mut self, item: T, share: &Share, row: &mut dyn FnMut(Vec<T>)) {
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
        let takers = &self.downloads()?.takers;
        let clients: Vec<ClientKey> =
            takers.iter().filter(|taker| taker.in_part).map(|taker| taker.client).collect();
        (!clients.is_empty()).then_some((self.id(), clients))
    }

    /// The downloads of these clients began with a part.
    fn begun_in_part(&mut self, clients: &[ClientKey]) {
        let clients: HashSet<&ClientKey> = clients.iter().collect();
        self.change_cold_fields(|rare| {
            let takers = rare.downloads.iter_mut().flat_map(|downloads| &mut downloads.takers);
            takers.for_each(|taker| taker.in_part = clients.contains(&taker.client));
        });
    }

    /// Its approximate size in a row, in bytes.
    fn stored_bytes(&self) -> usize {
        let rare = self.rare.as_ref().map_or(0, |rare| {
            let note = rare.note.as_ref().map_or(0, |note| note.as_str().len());
            note + rare.downloads.as_ref().map_or(0, |downloads| downloads.takers.len() * 20)
        });
        512 + self.path().as_str().len() + rare
    }
}

impl<'a> StoredShare<'a> {
    fn of(share: &'a Share) -> Self {
        StoredShare {
            id: share.id(),
            root: share.root().as_str(),
            path: share.path().as_str(),
            kind: share.kind(),
            owner: share.owner().map(ShareOwner::as_str),
            created: share.created(),
            deadline: share.deadline(),
            generation: share.generation(),
            noticed: share.is_noticed(),
            rare: share.rare.as_deref().map(|rare| StoredColdFields {
                note: rare.note.as_ref().map(ShareNote::as_str),
                password: rare.password.as_ref().map(PasswordHash::reveal),
                downloads: rare.downloads.clone().map(StoredDownloads::of),
            }),
        }
    }

    /// The share; its root and owner are among the common texts.
    fn thaw(self, root: SharedText, owner: Option<SharedText>) -> Result<Share, String> {
        let said = |error: &dyn std::error::Error| error.to_string();
        let rare = self.rare.map(StoredColdFields::thaw).transpose()?.unwrap_or_default();
        Ok(Share::born(ShareInit {
            id: self.id,
            root: RootName(root),
            path: SharePath::new(self.path).map_err(|error| said(&error))?,
            kind: self.kind,
            owner: owner.map(ShareOwner),
            created: self.created,
            deadline: self.deadline,
            rare,
            generation: self.generation,
            noticed: self.noticed,
        }))
    }
}

impl StoredColdFields<'_> {
    fn thaw(self) -> Result<ColdShareFields, String> {
        let said = |error: super::values::value_types::BadShareText| error.to_string();
        Ok(ColdShareFields {
            note: self.note.map(ShareNote::new).transpose().map_err(said)?,
            password: self.password.map(PasswordHash::new).transpose().map_err(said)?,
            downloads: self.downloads.map(StoredDownloads::thaw),
        })
    }
}

impl StoredDownloads {
    fn of(downloads: DownloadLimit) -> Self {
        let DownloadLimit { most, taken, takers, exhausted } = downloads;
        StoredDownloads { most, taken, takers, exhausted }
    }

    fn thaw(self) -> DownloadLimit {
        let StoredDownloads { most, taken, takers, exhausted } = self;
        DownloadLimit { most, taken, takers, exhausted }
    }
}

impl<'a> StoredNotification<'a> {
    fn of(happened: &'a NotificationRecord) -> Self {
        let NotificationRecord { at, share, by, what } = happened;
        let by = by.as_ref().map(SharedText::as_str);
        StoredNotification { at: *at, what: *what, by, share: StoredShare::of(share) }
    }
}

#[allow(clippy::expect_used)]
fn encode(row: &ShareSnapshotRow<'_>) -> Vec<u8> {
    // Postcard into a growing vector fails only for sequences of unknown length: rows hold none.
    postcard::to_extend(row, vec![ROW_VERSION]).expect("rows encode")
}

/// Takes back one row that a frozen table wrote.
pub(in crate::share_expiry) fn thaw_row(
    table: &mut ShareTable,
    row: &[u8],
) -> Result<(), UnreadableEvent> {
    let piece = PieceId::Shares;
    let unreadable = |error: String| UnreadableEvent::Body { piece, error };
    let row: ShareSnapshotRow<'_> = match row.split_first() {
        Some((&ROW_VERSION, body)) => {
            postcard::from_bytes(body).map_err(|error| unreadable(error.to_string()))?
        }
        Some((&version, _)) => return Err(UnreadableEvent::Version { piece, version }),
        None => return Err(unreadable("an empty row".to_owned())),
    };
    match row {
        ShareSnapshotRow::Head { totals, paused, cursors, shares, happenings_from } => {
            table.totals = totals;
            table.paused = paused;
            table.cursors = cursors;
            table.chronicle = BoundedLog::starting_at(happenings_from);
            let shares = usize::try_from(shares).unwrap_or(0);
            table.shards.expect(shares);
            // The figure is only a hint: memory is reserved for the rows that really follow.
            table.thawing.reserve(shares.min(1 << 20));
        }
        ShareSnapshotRow::InPart(parts) => table.thawing_parts.extend(parts),
        ShareSnapshotRow::Shares(stored) => {
            for stored in stored {
                let root = table.roots.join(stored.root);
                let owner = stored.owner.map(|owner| table.owners.join(owner));
                table.thaw_share(stored.thaw(root, owner).map_err(unreadable)?);
            }
        }
        ShareSnapshotRow::Tombstones(stored) => {
            for (id, tombstone) in stored {
                if table.shards.put_tombstone(id, tombstone) {
                    table.tombstone_index.push(TombstoneKey { ended: tombstone.ended, id });
                }
            }
        }
        ShareSnapshotRow::Happenings(stored) => {
            for StoredNotification { at, what, by, share } in stored {
                let root = table.roots.like(share.root);
                let owner = share.owner.map(|owner| table.owners.like(owner));
                let share = Arc::new(share.thaw(root, owner).map_err(unreadable)?);
                let by = by.map(SharedText::new);
                table.chronicle.push(NotificationRecord { at, share, by, what });
            }
        }
        ShareSnapshotRow::Moves { next, moves } => {
            table.next_move = next;
            for moving in moves {
                table.moves.put(moving);
            }
        }
        ShareSnapshotRow::Recent(recent) => {
            recent.into_iter().for_each(|recent| table.recent.note(recent))
        }
        ShareSnapshotRow::Time(time) => table.time = Some(time),
        ShareSnapshotRow::End => table.thawed(),
    }
    Ok(())
}

impl ShareTable {
    fn thaw_share(&mut self, mut share: Share) {
        if let Some(parts) = self.thawing_parts.remove(&share.id()) {
            share.begun_in_part(&parts);
        }
        let share = Arc::new(share);
        self.shards.put(Arc::clone(&share));
        self.thawing.push(share);
        self.live += 1;
    }

    /// Every share is loaded: the orders are built of all of them at once.
    fn thawed(&mut self) {
        // One that was written before the time went on record.
        self.time = self.time.or_else(|| self.latest_recorded_time());
        let shares = std::mem::take(&mut self.thawing);
        let mut due: Vec<ShareDueKey> =
            shares.iter().filter_map(|share| ShareDueKey::of(share)).collect();
        due.sort_unstable();
        self.by_due = due.into_iter().collect();
        self.by_path = PathOrder::of(shares);
    }
}
