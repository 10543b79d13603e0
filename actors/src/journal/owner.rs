//! One owner of a piece, as the journal talks to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix::Recipient;
use tokio::sync::oneshot;

use crate::event::{Commit, Epoch, PieceId};
use crate::journal::messages::{Apply, CommitAnswer, Install, Order, Stage};
use crate::journal::piece::FrozenPiece;
use crate::journal::store::{SnapshotManifest, Store, StoreError, Trees};

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
    #[error("the snapshot holds piece {piece}, which no actor of this process owns")]
    NoOwnerOfPart { piece: u8 },
    #[error("an actor registered for piece {piece:?}, which the journal was not opened with")]
    Uninvited { piece: PieceId },
}

/// One committed entry.
pub(crate) struct Entry {
    pub(crate) index: u64,
    pub(crate) term: Epoch,
    pub(crate) commits: Vec<Arc<Commit>>,
}

impl Entry {
    /// The part of each piece that it touches.
    pub(crate) fn by_piece(&self) -> BTreeMap<PieceId, Entry> {
        let Entry { index, term, .. } = *self;
        let mut parts: BTreeMap<PieceId, Entry> = BTreeMap::new();
        for commit in &self.commits {
            let empty = || Entry { index, term, commits: Vec::new() };
            parts.entry(commit.piece).or_insert_with(empty).commits.push(commit.clone());
        }
        parts
    }
}

/// Reads an entry of the log as the raft layer stored it; none for its own entries.
pub(crate) type ReadEntry = fn(index: u64, stored: &[u8]) -> Result<Option<Entry>, OwnersError>;

/// An owner. Whatever it is asked, no answer means that it died.
#[derive(Clone)]
pub(crate) struct Owner {
    pub(crate) piece: PieceId,
    pub(crate) recipient: Recipient<Order>,
}

impl Owner {
    /// Installs its piece and replays the log behind the snapshot; false if it died.
    pub(crate) async fn rebuild(
        &self,
        store: &Arc<Store>,
        snapshot: Option<&SnapshotManifest>,
        applied: u64,
        read_entry: ReadEntry,
    ) -> Result<bool, OwnersError> {
        if !self.install(store, snapshot).await? {
            return Ok(false);
        }
        let mut next = snapshot.map_or(0, |snapshot| snapshot.index + 1);
        while next <= applied {
            let end = (next + REPLAY_CHUNK).min(applied + 1);
            let rows = blocking(store, move |trees| trees.log.read(next..end)).await?;
            for (index, stored) in rows {
                let Some(mut entry) = read_entry(index, &stored)? else {
                    continue;
                };
                entry.commits.retain(|commit| commit.piece == self.piece);
                if !entry.commits.is_empty() && self.apply(&entry).await.is_none() {
                    return Ok(false);
                }
            }
            next = end;
        }
        Ok(true)
    }

    /// Has it replace its piece by what the snapshot holds, or by an empty one; false if it died.
    /// The rows come in turns: nobody holds all of them beside the piece that they become.
    pub(crate) async fn install(
        &self,
        store: &Arc<Store>,
        snapshot: Option<&SnapshotManifest>,
    ) -> Result<bool, OwnersError> {
        let index = snapshot.map_or(0, |snapshot| snapshot.index);
        if !self.install_some(index, Stage::Begin).await? {
            return Ok(false);
        }
        if let Some(snapshot) = snapshot {
            let piece = u8::from(self.piece);
            for part in snapshot.parts.iter().filter(|part| part.piece == piece) {
                let mut at = part.start;
                while at < part.end {
                    let (snapshot, part) = (snapshot.clone(), part.clone());
                    let read = move |trees: &Trees| trees.snapshot_rows(&snapshot, &part, at);
                    let (rows, next) = blocking(store, read).await?;
                    if !self.install_some(index, Stage::Rows(rows)).await? {
                        return Ok(false);
                    }
                    at = next;
                }
            }
        }
        self.install_some(index, Stage::End).await
    }

    async fn install_some(&self, index: u64, stage: Stage) -> Result<bool, OwnersError> {
        let (reply, answer) = oneshot::channel();
        self.recipient.do_send(Order::Install(Install { index, stage, reply }));
        match answer.await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(error)) => Err(OwnersError::Part { piece: self.piece, why: error.to_string() }),
            Err(_) => Ok(false),
        }
    }

    /// Has it apply its part of an entry.
    pub(crate) async fn apply(&self, part: &Entry) -> Option<Vec<CommitAnswer>> {
        let (reply, answer) = oneshot::channel();
        self.recipient.do_send(Order::Apply(Apply {
            index: part.index,
            term: part.term,
            commits: part.commits.clone(),
            reply,
        }));
        answer.await.ok()
    }

    /// Has it freeze its piece.
    pub(crate) async fn freeze(&self) -> Option<Box<dyn FrozenPiece>> {
        let (reply, answer) = oneshot::channel();
        self.recipient.do_send(Order::Freeze { reply });
        answer.await.ok()
    }
}

/// Reads from the store off the runtime's threads.
async fn blocking<T: Send + 'static>(
    store: &Arc<Store>,
    read: impl FnOnce(&Trees) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, OwnersError> {
    let trees = store.trees().await?;
    match tokio::task::spawn_blocking(move || read(&trees)).await {
        Ok(read) => Ok(read?),
        Err(error) => Err(OwnersError::Store(StoreError::Io(error.to_string()))),
    }
}
