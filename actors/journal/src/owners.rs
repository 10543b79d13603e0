//! The owners of the pieces: brings each of them up to date, and sends it the committed entries.
//!
//! **Invariant:** an owner sees every entry of its piece once and in order. It is first rebuilt from the
//! snapshot and the log while application is paused, and joins only then.
//!
//! **Invariant:** if an owner is missing, application waits for it, so that no entry is skipped.

mod install;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use actix::Recipient;
use reelyard_core::event::{Epoch, PieceId};
use reelyard_replication::{CommitAnswer, FrozenPiece, JournalCommand};
use tokio::sync::Notify;

use crate::owner::{CommittedEntry, EntryRead, OwnersError, PieceOwner, ReadEntry};
use crate::shown_position::ShownPosition;
use crate::store::{JournalStore, SkippedEntries, SnapshotManifest, StoreError};
use crate::stream::StreamPart;

/// Time to wait for a missing owner before each warning in the log.
const MISSED_AFTER: Duration = Duration::from_secs(10);

/// All owners of this node.
pub(crate) struct PieceOwners {
    pieces: BTreeSet<PieceId>,
    roster: Mutex<Roster>,
    /// Held while a piece is applied, frozen, installed or rebuilt.
    apply_lock: tokio::sync::Mutex<AppliedPosition>,
    /// Wakes the state machine when an owner has joined.
    joined: Notify,
    tickets: AtomicU64,
    read_entry: ReadEntry,
    /// No owner gets the commits of these.
    skipped: SkippedEntries,
    position: Arc<ShownPosition>,
}

/// The current owners, and whether this node leads.
#[derive(Default)]
struct Roster {
    owners: BTreeMap<PieceId, RegisteredOwner>,
    /// The newest registration of each piece: an older one that is still being rebuilt is dropped.
    newest: BTreeMap<PieceId, u64>,
    leading: Option<Epoch>,
    /// The journal is stopping and no longer waits for owners.
    closing: bool,
}

#[derive(Clone)]
struct RegisteredOwner {
    owner: PieceOwner,
    /// Distinguishes incarnations of the same owner.
    ticket: u64,
    /// The last epoch for which the owner got `LeaderStarted`.
    leading: Option<Epoch>,
}

impl RegisteredOwner {
    fn set_leadership(&mut self, epoch: Option<Epoch>) {
        if self.leading == epoch {
            return;
        }
        if self.leading.take().is_some() {
            self.owner.recipient.do_send(JournalCommand::LeaderStopped);
        }
        if let Some(epoch) = epoch {
            self.owner.recipient.do_send(JournalCommand::LeaderStarted { epoch });
        }
        self.leading = epoch;
    }
}

/// How far this node has applied.
struct AppliedPosition {
    /// None once the journal has stopped.
    store: Option<Arc<JournalStore>>,
    snapshot: Option<SnapshotManifest>,
    /// One past the last applied entry; 0 before the first.
    end: u64,
}

impl PieceOwners {
    /// The owners of `pieces`; none has joined yet. A snapshot of other pieces is refused, because the next
    /// one would be without them.
    pub(crate) fn new(
        pieces: &[PieceId],
        store: Arc<JournalStore>,
        snapshot: Option<SnapshotManifest>,
        read_entry: ReadEntry,
    ) -> Result<Self, OwnersError> {
        let pieces: BTreeSet<PieceId> = pieces.iter().copied().collect();
        snapshot.as_ref().map_or(Ok(()), |snapshot| check_parts(&pieces, &snapshot.parts))?;
        let end = snapshot.as_ref().map_or(0, |snapshot| snapshot.index + 1);
        Ok(PieceOwners {
            position: Arc::new(ShownPosition::new(pieces.iter().copied(), end)),
            pieces,
            roster: Mutex::default(),
            apply_lock: tokio::sync::Mutex::new(AppliedPosition {
                store: Some(store),
                snapshot,
                end,
            }),
            joined: Notify::new(),
            tickets: AtomicU64::new(0),
            read_entry,
            skipped: SkippedEntries::default(),
        })
    }

    /// The same owners, without the commits of these entries.
    pub(crate) fn skipping(self, skipped: SkippedEntries) -> Self {
        PieceOwners { skipped, ..self }
    }

    /// The entries whose commits no owner gets.
    pub(crate) fn skipped_entries(&self) -> &SkippedEntries {
        &self.skipped
    }

    /// Whether no owner gets the commits of the entry with these stored bytes.
    pub(crate) fn skips(
        &self,
        index: u64,
        stored: impl FnOnce() -> Vec<u8>,
    ) -> Result<bool, OwnersError> {
        let skips = self.skipped.contains(index, stored);
        skips.map_err(|error| OwnersError::Entry { index, why: error.to_string() })
    }

    /// Reads an entry as it is stored; none if its owners skip it.
    fn read(&self, index: u64, stored: &[u8]) -> EntryRead {
        match self.skips(index, || stored.to_vec())? {
            true => Ok(None),
            false => (self.read_entry)(index, stored),
        }
    }

    /// Records a registration. [`PieceOwners::join`] follows, with the returned ticket.
    pub(crate) fn announce(&self, piece: PieceId) -> u64 {
        let ticket = self.tickets.fetch_add(1, Ordering::Relaxed);
        self.roster().newest.insert(piece, ticket);
        ticket
    }

    /// Brings `owner` up to date and joins it. Nothing happens if it was replaced or died meanwhile: its
    /// supervisor registers it again.
    pub(crate) async fn join(
        &self,
        piece: PieceId,
        recipient: Recipient<JournalCommand>,
        ticket: u64,
    ) -> Result<(), OwnersError> {
        if !self.pieces.contains(&piece) {
            return Err(OwnersError::Uninvited { piece });
        }
        let position = self.apply_lock.lock().await;
        if self.roster().newest.get(&piece) != Some(&ticket) {
            return Ok(());
        }
        self.roster().owners.remove(&piece);
        let owner = PieceOwner { piece, recipient };
        let Some(store) = &position.store else {
            return Ok(());
        };
        let snapshot = position.snapshot.as_ref();
        let read = |index, stored: &[u8]| self.read(index, stored);
        if !owner.rebuild(store, snapshot, position.end, read).await? {
            tracing::warn!(?piece, "the actor of a piece ended while its piece was rebuilt");
            return Ok(());
        }
        self.roster().owners.insert(piece, RegisteredOwner { owner, ticket, leading: None });
        drop(position);
        self.joined.notify_waiters();
        tracing::debug!(?piece, "an actor received its piece");
        Ok(())
    }

    /// Applies one entry: answers one answer per commit, in order.
    pub(crate) async fn apply(
        &self,
        entry: CommittedEntry,
    ) -> Result<Vec<CommitAnswer>, OwnersError> {
        let parts = entry.by_piece();
        if let Some(&piece) = parts.keys().find(|piece| !self.pieces.contains(piece)) {
            return Err(OwnersError::NoOwner { index: entry.index, piece });
        }
        self.position.give(parts.keys(), entry.index + 1);
        // The answers of each owner with the number of its incarnation. An owner that is rebuilt
        // meanwhile has not seen this entry.
        let mut answered: BTreeMap<PieceId, (u64, Vec<CommitAnswer>)> = BTreeMap::new();
        loop {
            let mut position = self.apply_lock.lock().await;
            let missing = self.ask(&parts, &mut answered).await;
            match missing {
                None => {
                    position.end = entry.index + 1;
                    self.position.apply(position.end);
                    break;
                }
                Some(piece) => {
                    drop(position);
                    self.wait_for(piece).await?;
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

    /// Asks every owner of the entry that has not answered yet. Returns a missing one.
    async fn ask(
        &self,
        parts: &BTreeMap<PieceId, CommittedEntry>,
        answered: &mut BTreeMap<PieceId, (u64, Vec<CommitAnswer>)>,
    ) -> Option<PieceId> {
        for (&piece, part) in parts {
            let Some(RegisteredOwner { owner, ticket, .. }) = self.registered(piece) else {
                return Some(piece);
            };
            if answered.get(&piece).is_some_and(|&(asked, _)| asked == ticket) {
                continue;
            }
            let Some(answers) = owner.apply(part).await else {
                self.dismiss(piece, ticket);
                return Some(piece);
            };
            assert_eq!(answers.len(), part.commits.len(), "one answer per commit");
            answered.insert(piece, (ticket, answers));
        }
        None
    }

    /// An entry of the raft layer: nothing must be applied.
    pub(crate) async fn pass(&self, index: u64) {
        self.apply_lock.lock().await.end = index + 1;
        self.position.apply(index + 1);
    }

    /// How far the log is applied, and how far the views show it.
    pub(crate) fn position(&self) -> Arc<ShownPosition> {
        self.position.clone()
    }

    /// Freezes every piece at the current index.
    pub(crate) async fn freeze(&self) -> Result<Vec<(PieceId, Box<dyn FrozenPiece>)>, OwnersError> {
        loop {
            let position = self.apply_lock.lock().await;
            match self.freeze_all().await {
                Ok(frozen) => return Ok(frozen),
                Err(missing) => {
                    drop(position);
                    self.wait_for(missing).await?;
                }
            }
        }
    }

    /// Freezes every piece. Returns the piece of a missing owner.
    async fn freeze_all(&self) -> Result<Vec<(PieceId, Box<dyn FrozenPiece>)>, PieceId> {
        let mut frozen = Vec::with_capacity(self.pieces.len());
        for &piece in &self.pieces {
            let RegisteredOwner { owner, ticket, .. } = self.registered(piece).ok_or(piece)?;
            let Some(part) = owner.freeze().await else {
                self.dismiss(piece, ticket);
                return Err(piece);
            };
            frozen.push((piece, part));
        }
        Ok(frozen)
    }

    /// From now on pieces are rebuilt from `snapshot`, which was taken here.
    pub(crate) async fn rebuild_from(&self, snapshot: SnapshotManifest) {
        let mut position = self.apply_lock.lock().await;
        if position.snapshot.as_ref().is_none_or(|present| present.index <= snapshot.index) {
            position.snapshot = Some(snapshot);
        }
    }

    /// This node leads, or no longer does. Sent to all owners at once.
    pub(crate) fn set_leadership(&self, epoch: Option<Epoch>) {
        let mut roster = self.roster();
        if roster.leading == epoch {
            return;
        }
        roster.leading = epoch;
        for registered in roster.owners.values_mut() {
            registered.set_leadership(epoch);
        }
    }

    /// The epoch in which this node leads, if this owner has not yet got `LeaderStarted` for it.
    pub(crate) fn kept_from_leading(&self, piece: PieceId, ticket: u64) -> Option<Epoch> {
        let roster = self.roster();
        let registered =
            roster.owners.get(&piece).filter(|registered| registered.ticket == ticket)?;
        roster.leading.filter(|_| registered.leading.is_none())
    }

    /// Commands one owner to lead in `epoch`, if this node still leads in it.
    pub(crate) fn let_lead(&self, piece: PieceId, ticket: u64, epoch: Epoch) {
        let mut roster = self.roster();
        let leading = roster.leading == Some(epoch);
        if let Some(registered) = roster.owners.get_mut(&piece)
            && leading
            && registered.ticket == ticket
        {
            registered.set_leadership(Some(epoch));
        }
    }

    /// One past the last entry of the log; none once the journal has stopped.
    pub(crate) async fn log_end(&self) -> Option<u64> {
        let store = self.apply_lock.lock().await.store.clone()?;
        Some(store.trees().await.ok()?.log.end())
    }

    /// Stops waiting for owners and releases the store, so that it can close.
    pub(crate) async fn close(&self) {
        self.roster().closing = true;
        self.joined.notify_waiters();
        self.apply_lock.lock().await.store = None;
    }

    /// Waits until the newest owner of a piece is registered; false if the journal closed instead.
    pub(crate) async fn newest_owner_ready(&self, piece: PieceId) -> bool {
        loop {
            let joined = self.joined.notified();
            tokio::pin!(joined);
            joined.as_mut().enable();
            {
                let roster = self.roster();
                if roster.closing {
                    return false;
                }
                let ticket = roster.owners.get(&piece).map(|registered| registered.ticket);
                if ticket.is_some() && ticket == roster.newest.get(&piece).copied() {
                    return true;
                }
            }
            joined.await;
        }
    }

    /// Waits until every piece has an owner.
    pub(crate) async fn all_owners_ready(&self) -> Result<(), OwnersError> {
        for &piece in &self.pieces {
            self.wait_for(piece).await?;
        }
        Ok(())
    }

    async fn wait_for(&self, piece: PieceId) -> Result<(), OwnersError> {
        loop {
            let joined = self.joined.notified();
            tokio::pin!(joined);
            joined.as_mut().enable();
            if self.roster().closing {
                return Err(StoreError::Closed.into());
            }
            if self.registered(piece).is_some() {
                return Ok(());
            }
            if tokio::time::timeout(MISSED_AFTER, joined).await.is_err() {
                tracing::warn!(?piece, "the journal waits for the actor of a piece");
            }
        }
    }

    fn registered(&self, piece: PieceId) -> Option<RegisteredOwner> {
        self.roster().owners.get(&piece).cloned()
    }

    fn dismiss(&self, piece: PieceId, ticket: u64) {
        let mut roster = self.roster();
        if roster.owners.get(&piece).is_some_and(|registered| registered.ticket == ticket) {
            roster.owners.remove(&piece);
        }
    }

    fn roster(&self) -> MutexGuard<'_, Roster> {
        // No code under this lock can panic during a change.
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check_parts(pieces: &BTreeSet<PieceId>, parts: &[StreamPart]) -> Result<(), OwnersError> {
    let unowned = |piece: u8| PieceId::try_from(piece).map_or(true, |id| !pieces.contains(&id));
    match parts.iter().find(|part| unowned(part.piece)) {
        Some(part) => Err(OwnersError::NoOwnerOfPart { piece: part.piece }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
