//! The piece as rows of a snapshot. Pure.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use super::facts::{Deadline, Note, Owner, PasswordHash, ShareKind, Tombstone};
use super::id::ShareId;
use super::messages::What;
use super::moves::Moving;
use super::order::Due;
use super::path::{RootName, SharePath};
use super::path_order::PathOrder;
use super::recent::Recent;
use super::shards::Shard;
use super::share::{Birth, ClientKey, Downloads, Exhausted, Rare, Share, Taker};
use super::state::{Grave, Happened, ShareTable};
use super::text::Text;
use super::views::Totals;
use crate::clock::Millis;
use crate::event::PieceId;
use crate::history::Chronicle;
use crate::journal::{FrozenPiece, UnreadableEvent};

/// The first byte of each row.
const ROW_VERSION: u8 = 1;

/// How many shares stand in one row at most.
const SHARES_A_ROW: usize = 256;

/// How many bytes of them: a row stays far below 1 MiB, however long their texts are.
const SHARE_BYTES_A_ROW: usize = 256 << 10;

/// How many tombstones stand in one row.
const GRAVES_A_ROW: usize = 1024;

/// One row. Postcard numbers the variants in this order: new ones go to the end.
#[derive(Serialize, Deserialize)]
enum Row<'a> {
    /// What there is one of. It comes first.
    Head {
        totals: Totals,
        paused: Option<String>,
        cursors: BTreeMap<String, u64>,
        /// How many shares follow.
        shares: u64,
        /// The number of the first happening that follows.
        happenings_from: u64,
    },
    /// Shares, in the order of their paths.
    Shares(#[serde(borrow)] Vec<StoredShare<'a>>),
    /// Tombstones, the oldest first.
    Graves(Vec<(ShareId, Tombstone)>),
    /// What happened, oldest first.
    Happenings(#[serde(borrow)] Vec<StoredHappening<'a>>),
    /// That was all.
    End,
    /// The moves under way, before what was all.
    Moves { next: u64, moves: Vec<Moving> },
    /// Downloads that were counted a moment ago, the oldest first; before what was all, too.
    Recent(Vec<Recent>),
    /// The latest confirmed time on record; before what was all, too.
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
    rare: Option<StoredRare<'a>>,
}

#[derive(Serialize, Deserialize)]
struct StoredRare<'a> {
    note: Option<&'a str>,
    password: Option<&'a str>,
    downloads: Option<StoredDownloads>,
}

#[derive(Serialize, Deserialize)]
struct StoredDownloads {
    most: std::num::NonZeroU32,
    taken: u32,
    takers: Vec<Taker>,
    exhausted: Option<Exhausted>,
}

#[derive(Serialize, Deserialize)]
struct StoredHappening<'a> {
    at: Millis,
    what: What,
    by: Option<&'a str>,
    #[serde(borrow)]
    share: StoredShare<'a>,
}

/// How many counted downloads stand in one row.
const RECENT_A_ROW: usize = 4096;

/// The piece at one index: shared shards.
pub(super) struct FrozenTable {
    shards: Vec<Arc<Shard>>,
    graves: Chronicle<Grave>,
    chronicle: Chronicle<Happened>,
    totals: Totals,
    paused: Option<String>,
    cursors: BTreeMap<String, u64>,
    moves: Arc<Vec<Arc<Moving>>>,
    next_move: u64,
    recent: Vec<Recent>,
    time: Option<Millis>,
}

impl FrozenTable {
    pub(super) fn of(table: &ShareTable) -> Self {
        FrozenTable {
            shards: table.shards.freeze(),
            graves: table.graves.clone(),
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

impl FrozenPiece for FrozenTable {
    fn write(self: Box<Self>, row: &mut dyn FnMut(&[u8])) {
        let mut put = |content: &Row<'_>| row(&encode(content));
        let mut shares = Vec::new();
        let mut tombstones = HashMap::new();
        // The living table copies what it changes of a shard until this one has let go of it.
        for shard in self.shards {
            shares.extend(shard.shares().cloned());
            tombstones.extend(shard.tombstones().copied());
        }
        put(&Row::Head {
            totals: self.totals,
            paused: self.paused.clone(),
            cursors: self.cursors.clone(),
            shares: shares.len() as u64,
            happenings_from: self.chronicle.first(),
        });
        // A row each: few shares have any, and one may have 10,000.
        for parts in shares.iter().filter_map(|share| share.in_part()) {
            put(&Row::InPart(vec![parts]));
        }
        PathOrder::sort(&mut shares);
        let mut filling = Filling::default();
        for share in &shares {
            filling.put(StoredShare::of(share), share, &mut |row| put(&Row::Shares(row)));
        }
        filling.end(&mut |row| put(&Row::Shares(row)));
        let graves: Vec<(ShareId, Tombstone)> = self
            .graves
            .oldest_first()
            .filter_map(|(_, grave)| Some((grave.id, *tombstones.get(&grave.id)?)))
            .collect();
        for some in graves.chunks(GRAVES_A_ROW) {
            put(&Row::Graves(some.to_vec()));
        }
        let mut filling = Filling::default();
        for (_, happened) in self.chronicle.oldest_first() {
            let stored = StoredHappening::of(happened);
            filling.put(stored, &happened.share, &mut |row| put(&Row::Happenings(row)));
        }
        filling.end(&mut |row| put(&Row::Happenings(row)));
        let moves = self.moves.iter().map(|moving| Moving::clone(moving)).collect();
        put(&Row::Moves { next: self.next_move, moves });
        for some in self.recent.chunks(RECENT_A_ROW) {
            put(&Row::Recent(some.to_vec()));
        }
        if let Some(time) = self.time {
            put(&Row::Time(time));
        }
        put(&Row::End);
    }
}

/// A row that is being filled.
struct Filling<T> {
    items: Vec<T>,
    bytes: usize,
}

impl<T> Default for Filling<T> {
    fn default() -> Self {
        Filling { items: Vec::new(), bytes: 0 }
    }
}

impl<T> Filling<T> {
    /// Takes in what is said of `share`; a full row goes.
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
    /// Whose downloads of it began with a part, if any did.
    fn in_part(&self) -> Option<(ShareId, Vec<ClientKey>)> {
        let takers = &self.downloads()?.takers;
        let clients: Vec<ClientKey> =
            takers.iter().filter(|taker| taker.in_part).map(|taker| taker.client).collect();
        (!clients.is_empty()).then_some((self.id(), clients))
    }

    /// The downloads of these clients began with a part.
    fn begun_in_part(&mut self, clients: &[ClientKey]) {
        let clients: HashSet<&ClientKey> = clients.iter().collect();
        self.change_rare(|rare| {
            let takers = rare.downloads.iter_mut().flat_map(|downloads| &mut downloads.takers);
            takers.for_each(|taker| taker.in_part = clients.contains(&taker.client));
        });
    }

    /// How many bytes it takes in a row, roughly.
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
            owner: share.owner().map(Owner::as_str),
            created: share.created(),
            deadline: share.deadline(),
            generation: share.generation(),
            noticed: share.is_noticed(),
            rare: share.rare.as_deref().map(|rare| StoredRare {
                note: rare.note.as_ref().map(Note::as_str),
                password: rare.password.as_ref().map(PasswordHash::reveal),
                downloads: rare.downloads.clone().map(StoredDownloads::of),
            }),
        }
    }

    /// The share, whose root and owner are among the texts that shares have in common.
    fn thaw(self, root: Text, owner: Option<Text>) -> Result<Share, String> {
        let said = |error: &dyn std::error::Error| error.to_string();
        let rare = self.rare.map(StoredRare::thaw).transpose()?.unwrap_or_default();
        Ok(Share::born(Birth {
            id: self.id,
            root: RootName(root),
            path: SharePath::new(self.path).map_err(|error| said(&error))?,
            kind: self.kind,
            owner: owner.map(Owner),
            created: self.created,
            deadline: self.deadline,
            rare,
            generation: self.generation,
            noticed: self.noticed,
        }))
    }
}

impl StoredRare<'_> {
    fn thaw(self) -> Result<Rare, String> {
        let said = |error: super::facts::BadText| error.to_string();
        Ok(Rare {
            note: self.note.map(Note::new).transpose().map_err(said)?,
            password: self.password.map(PasswordHash::new).transpose().map_err(said)?,
            downloads: self.downloads.map(StoredDownloads::thaw),
        })
    }
}

impl StoredDownloads {
    fn of(downloads: Downloads) -> Self {
        let Downloads { most, taken, takers, exhausted } = downloads;
        StoredDownloads { most, taken, takers, exhausted }
    }

    fn thaw(self) -> Downloads {
        let StoredDownloads { most, taken, takers, exhausted } = self;
        Downloads { most, taken, takers, exhausted }
    }
}

impl<'a> StoredHappening<'a> {
    fn of(happened: &'a Happened) -> Self {
        let Happened { at, share, by, what } = happened;
        let by = by.as_ref().map(Text::as_str);
        StoredHappening { at: *at, what: *what, by, share: StoredShare::of(share) }
    }
}

#[allow(clippy::expect_used)]
fn encode(row: &Row<'_>) -> Vec<u8> {
    // Postcard into a growing vector fails only for sequences of unknown length: rows hold none.
    postcard::to_extend(row, vec![ROW_VERSION]).expect("rows encode")
}

/// Takes back one row that a frozen table wrote.
pub(super) fn thaw_row(table: &mut ShareTable, row: &[u8]) -> Result<(), UnreadableEvent> {
    let piece = PieceId::Shares;
    let unreadable = |error: String| UnreadableEvent::Body { piece, error };
    let row: Row<'_> = match row.split_first() {
        Some((&ROW_VERSION, body)) => {
            postcard::from_bytes(body).map_err(|error| unreadable(error.to_string()))?
        }
        Some((&version, _)) => return Err(UnreadableEvent::Version { piece, version }),
        None => return Err(unreadable("an empty row".to_owned())),
    };
    match row {
        Row::Head { totals, paused, cursors, shares, happenings_from } => {
            table.totals = totals;
            table.paused = paused;
            table.cursors = cursors;
            table.chronicle = Chronicle::starting_at(happenings_from);
            let shares = usize::try_from(shares).unwrap_or(0);
            table.shards.expect(shares);
            // The figure is only a hint: memory is taken for what really comes.
            table.thawing.reserve(shares.min(1 << 20));
        }
        Row::InPart(parts) => table.thawing_parts.extend(parts),
        Row::Shares(stored) => {
            for stored in stored {
                let root = table.roots.join(stored.root);
                let owner = stored.owner.map(|owner| table.owners.join(owner));
                table.thaw_share(stored.thaw(root, owner).map_err(unreadable)?);
            }
        }
        Row::Graves(stored) => {
            for (id, tombstone) in stored {
                if table.shards.put_tombstone(id, tombstone) {
                    table.graves.push(Grave { ended: tombstone.ended, id });
                }
            }
        }
        Row::Happenings(stored) => {
            for StoredHappening { at, what, by, share } in stored {
                let root = table.roots.like(share.root);
                let owner = share.owner.map(|owner| table.owners.like(owner));
                let share = Arc::new(share.thaw(root, owner).map_err(unreadable)?);
                let by = by.map(Text::new);
                table.chronicle.push(Happened { at, share, by, what });
            }
        }
        Row::Moves { next, moves } => {
            table.next_move = next;
            for moving in moves {
                table.moves.put(moving);
            }
        }
        Row::Recent(recent) => recent.into_iter().for_each(|recent| table.recent.note(recent)),
        Row::Time(time) => table.time = Some(time),
        Row::End => table.thawed(),
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

    /// Every share is there: the orders are made of all of them at once.
    fn thawed(&mut self) {
        // One that was written before the time went on record.
        self.time = self.time.or_else(|| self.latest_told());
        let shares = std::mem::take(&mut self.thawing);
        let mut due: Vec<Due> = shares.iter().filter_map(|share| Due::of(share)).collect();
        due.sort_unstable();
        self.by_due = due.into_iter().collect();
        self.by_path = PathOrder::of(shares);
    }
}
