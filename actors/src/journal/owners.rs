//! The owners of the pieces: bringing each to the present, and telling it what is committed.
//!
//! **Invariant:** an owner sees every entry of its piece once and in order: it is first rebuilt
//! from the snapshot and the log with application paused, and joins only then.
//!
//! **Invariant:** no entry is passed over because an owner is missing: application waits for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::Recipient;
use tokio::sync::{Notify, oneshot};

use crate::event::{Commit, Epoch, PieceId};
use crate::journal::messages::{Apply, CommitAnswer, Order};
use crate::journal::piece::FrozenPiece;
use crate::journal::store::{SnapshotManifest, Store, StoreError};

/// How long a missing owner is waited for before the log says so (and again each time).
const MISSED_AFTER: Duration = Duration::from_secs(10);
/// How many log entries are read at once to rebuild a piece.
const REPLAY_CHUNK: u64 = 256;

/// Why committed state cannot be brought to an owner. There is no going on from here.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum OwnersError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("log entry {index} cannot be read: {why}")]
    Entry { index: u64, why: String },
    #[error("log entry {index} belongs to piece {piece:?}, which no actor of this process owns")]
    NoOwner { index: u64, piece: PieceId },
    #[error("the snapshot of piece {piece:?} cannot be read: {why}")]
    Part { piece: PieceId, why: String },
}

/// One committed entry.
pub(crate) struct Entry {
    pub(crate) index: u64,
    pub(crate) term: Epoch,
    pub(crate) commits: Vec<Arc<Commit>>,
}

/// Reads an entry of the log as the raft layer stored it; none for its own entries.
pub(crate) type ReadEntry = fn(index: u64, stored: &[u8]) -> Result<Option<Entry>, OwnersError>;

/// All owners of this node.
pub(crate) struct Owners {
    pieces: BTreeSet<PieceId>,
    roster: Mutex<Roster>,
    /// Held while anything is applied, frozen, installed or rebuilt.
    gate: tokio::sync::Mutex<Position>,
    /// Somebody joined.
    joined: Notify,
    tickets: AtomicU64,
    read_entry: ReadEntry,
}

/// Who is there, and whether this node leads.
#[derive(Default)]
struct Roster {
    seats: BTreeMap<PieceId, Owner>,
    /// The newest registration of each piece: an older one that is still being rebuilt is dropped.
    newest: BTreeMap<PieceId, u64>,
    leading: Option<Epoch>,
}

#[derive(Clone)]
struct Owner {
    recipient: Recipient<Order>,
    /// Tells incarnations of the same owner apart.
    ticket: u64,
}

/// How far this node has applied.
struct Position {
    /// None once the journal has stopped.
    store: Option<Arc<Store>>,
    snapshot: Option<SnapshotManifest>,
    applied: u64,
}

impl Owners {
    /// The owners of `pieces`, none of which is there yet.
    pub(crate) fn new(
        pieces: &[PieceId],
        store: Arc<Store>,
        snapshot: Option<SnapshotManifest>,
        read_entry: ReadEntry,
    ) -> Self {
        let applied = snapshot.as_ref().map_or(0, |snapshot| snapshot.index);
        Owners {
            pieces: pieces.iter().copied().collect(),
            roster: Mutex::default(),
            gate: tokio::sync::Mutex::new(Position { store: Some(store), snapshot, applied }),
            joined: Notify::new(),
            tickets: AtomicU64::new(0),
            read_entry,
        }
    }

    /// Notes a registration, to be followed by [`Owners::join`] with the returned ticket.
    pub(crate) fn announce(&self, piece: PieceId) -> u64 {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        self.roster().newest.insert(piece, ticket);
        ticket
    }

    /// Brings `owner` to the present and seats it. Nothing happens if it was replaced meanwhile or
    /// dies on the way: whoever restarts it registers it again.
    pub(crate) async fn join(
        &self,
        piece: PieceId,
        recipient: Recipient<Order>,
        ticket: u64,
    ) -> Result<(), OwnersError> {
        let position = self.gate.lock().await;
        if self.roster().newest.get(&piece) != Some(&ticket) {
            return Ok(());
        }
        self.roster().seats.remove(&piece);
        if !self.rebuild(&position, piece, &recipient).await? {
            tracing::warn!(?piece, "an owner died while its piece was rebuilt");
            return Ok(());
        }
        let mut roster = self.roster();
        if let Some(epoch) = roster.leading {
            recipient.do_send(Order::LeaderStarted { epoch });
        }
        roster.seats.insert(piece, Owner { recipient, ticket });
        drop(roster);
        drop(position);
        self.joined.notify_waiters();
        tracing::debug!(?piece, "an owner has its piece");
        Ok(())
    }

    /// Installs the piece and replays the log behind the snapshot; false if the owner died.
    async fn rebuild(
        &self,
        position: &Position,
        piece: PieceId,
        owner: &Recipient<Order>,
    ) -> Result<bool, OwnersError> {
        let Some(store) = position.store.clone() else {
            return Ok(false);
        };
        if !install(&store, position.snapshot.as_ref(), piece, owner).await? {
            return Ok(false);
        }
        let mut next = position.snapshot.as_ref().map_or(0, |snapshot| snapshot.index + 1);
        while next <= position.applied {
            let end = (next + REPLAY_CHUNK).min(position.applied + 1);
            let rows = blocking({
                let store = store.clone();
                move || store.trees().log.read(next..end)
            })
            .await?;
            for (index, stored) in rows {
                let Some(mut entry) = (self.read_entry)(index, &stored)? else {
                    continue;
                };
                entry.commits.retain(|commit| commit.piece == piece);
                if !entry.commits.is_empty() && apply_at(owner, &entry).await.is_none() {
                    return Ok(false);
                }
            }
            next = end;
        }
        Ok(true)
    }

    /// Applies one entry: answers one answer per commit, in order.
    pub(crate) async fn apply(&self, entry: Entry) -> Result<Vec<CommitAnswer>, OwnersError> {
        let parts = by_piece(&entry);
        if let Some(&piece) = parts.keys().find(|piece| !self.pieces.contains(piece)) {
            return Err(OwnersError::NoOwner { index: entry.index, piece });
        }
        // What each owner answered, and which incarnation: one that is rebuilt meanwhile has not
        // seen this entry.
        let mut answered: BTreeMap<PieceId, (u64, Vec<CommitAnswer>)> = BTreeMap::new();
        loop {
            let mut position = self.gate.lock().await;
            let missing = self.ask(&parts, &mut answered).await;
            match missing {
                None => {
                    position.applied = entry.index;
                    break;
                }
                Some(piece) => {
                    drop(position);
                    self.wait_for(piece).await;
                }
            }
        }
        let mut answers: BTreeMap<PieceId, _> = answered
            .into_iter()
            .map(|(piece, (_, answers))| (piece, answers.into_iter()))
            .collect();
        Ok(entry
            .commits
            .iter()
            .filter_map(|commit| answers.get_mut(&commit.piece).and_then(Iterator::next))
            .collect())
    }

    /// Asks every owner of the entry that has not answered yet; names one that is missing.
    async fn ask(
        &self,
        parts: &BTreeMap<PieceId, Entry>,
        answered: &mut BTreeMap<PieceId, (u64, Vec<CommitAnswer>)>,
    ) -> Option<PieceId> {
        for (&piece, part) in parts {
            let Some(owner) = self.owner(piece) else {
                return Some(piece);
            };
            if answered.get(&piece).is_some_and(|(ticket, _)| *ticket == owner.ticket) {
                continue;
            }
            let Some(answers) = apply_at(&owner.recipient, part).await else {
                self.dismiss(piece, owner.ticket);
                return Some(piece);
            };
            debug_assert_eq!(answers.len(), part.commits.len(), "one answer per commit");
            answered.insert(piece, (owner.ticket, answers));
        }
        None
    }

    /// An entry of the raft layer's own: nothing to apply.
    pub(crate) async fn pass(&self, index: u64) {
        self.gate.lock().await.applied = index;
    }

    /// Freezes every piece at the present index.
    pub(crate) async fn freeze(&self) -> Vec<(PieceId, Box<dyn FrozenPiece>)> {
        'again: loop {
            let position = self.gate.lock().await;
            let mut frozen = Vec::with_capacity(self.pieces.len());
            for &piece in &self.pieces {
                let owner = self.owner(piece);
                let (reply, answer) = oneshot::channel();
                if let Some(owner) = &owner {
                    owner.recipient.do_send(Order::Freeze { reply });
                } else {
                    drop(reply);
                }
                let Ok(part) = answer.await else {
                    if let Some(owner) = owner {
                        self.dismiss(piece, owner.ticket);
                    }
                    drop(position);
                    self.wait_for(piece).await;
                    continue 'again;
                };
                frozen.push((piece, part));
            }
            return frozen;
        }
    }

    /// From now on `snapshot` is what pieces are rebuilt from: it was taken here.
    pub(crate) async fn rebuild_from(&self, snapshot: SnapshotManifest) {
        let mut position = self.gate.lock().await;
        if position.snapshot.as_ref().is_none_or(|present| present.index <= snapshot.index) {
            position.snapshot = Some(snapshot);
        }
    }

    /// Replaces every piece by what a snapshot from elsewhere holds.
    pub(crate) async fn install(&self, snapshot: SnapshotManifest) -> Result<(), OwnersError> {
        let mut position = self.gate.lock().await;
        let seats = self.roster().seats.clone();
        if let Some(store) = position.store.clone() {
            for (piece, owner) in seats {
                if !install(&store, Some(&snapshot), piece, &owner.recipient).await? {
                    self.dismiss(piece, owner.ticket);
                }
            }
        }
        position.applied = snapshot.index;
        position.snapshot = Some(snapshot);
        Ok(())
    }

    /// This node leads, or no longer does. Told to everybody at once.
    pub(crate) fn lead(&self, epoch: Option<Epoch>) {
        let mut roster = self.roster();
        if roster.leading == epoch {
            return;
        }
        if roster.leading.take().is_some() {
            for owner in roster.seats.values() {
                owner.recipient.do_send(Order::LeaderStopped);
            }
        }
        if let Some(epoch) = epoch {
            for owner in roster.seats.values() {
                owner.recipient.do_send(Order::LeaderStarted { epoch });
            }
        }
        roster.leading = epoch;
    }

    /// Lets go of the store, so that it can close.
    pub(crate) async fn close(&self) {
        self.gate.lock().await.store = None;
    }

    async fn wait_for(&self, piece: PieceId) {
        loop {
            let joined = self.joined.notified();
            tokio::pin!(joined);
            joined.as_mut().enable();
            if self.owner(piece).is_some() {
                return;
            }
            if tokio::time::timeout(MISSED_AFTER, joined).await.is_err() {
                tracing::warn!(?piece, "the journal waits for the owner of a piece");
            }
        }
    }

    fn owner(&self, piece: PieceId) -> Option<Owner> {
        self.roster().seats.get(&piece).cloned()
    }

    fn dismiss(&self, piece: PieceId, ticket: u64) {
        let mut roster = self.roster();
        if roster.seats.get(&piece).is_some_and(|owner| owner.ticket == ticket) {
            roster.seats.remove(&piece);
        }
    }

    fn roster(&self) -> MutexGuard<'_, Roster> {
        // Nothing in here can panic half-way through a change.
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn by_piece(entry: &Entry) -> BTreeMap<PieceId, Entry> {
    let mut parts: BTreeMap<PieceId, Entry> = BTreeMap::new();
    for commit in &entry.commits {
        parts
            .entry(commit.piece)
            .or_insert_with(|| Entry { index: entry.index, term: entry.term, commits: Vec::new() })
            .commits
            .push(commit.clone());
    }
    parts
}

/// Has an owner apply its part of an entry; none if it died.
async fn apply_at(owner: &Recipient<Order>, part: &Entry) -> Option<Vec<CommitAnswer>> {
    let (reply, answer) = oneshot::channel();
    owner.do_send(Order::Apply(Apply {
        index: part.index,
        term: part.term,
        commits: part.commits.clone(),
        reply,
    }));
    answer.await.ok()
}

/// Has an owner replace its piece; false if it died.
async fn install(
    store: &Arc<Store>,
    snapshot: Option<&SnapshotManifest>,
    piece: PieceId,
    owner: &Recipient<Order>,
) -> Result<bool, OwnersError> {
    let (index, rows) = match snapshot.cloned() {
        None => (0, Vec::new()),
        Some(snapshot) => {
            let store = store.clone();
            let index = snapshot.index;
            let rows = move || store.trees().snapshot_rows(&snapshot, piece.into());
            (index, blocking(rows).await?)
        }
    };
    let (reply, answer) = oneshot::channel();
    owner.do_send(Order::Install { index, rows, reply });
    match answer.await {
        Ok(Ok(())) => Ok(true),
        Ok(Err(error)) => Err(OwnersError::Part { piece, why: error.to_string() }),
        Err(_) => Ok(false),
    }
}

/// Reads from the store off the runtime's threads.
async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, OwnersError> {
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => Ok(read?),
        Err(error) => Err(OwnersError::Store(StoreError::Io(error.to_string()))),
    }
}
