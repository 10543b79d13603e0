//! One owner of a piece, as the journal sees it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use actix::Recipient;
use reelyard_core::event::{Commit, Epoch, PieceId};
use reelyard_replication::{
    Apply, CommitAnswer, FrozenPiece, Install, InstallStage, JournalCommand,
};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

use crate::store::{JournalStore, SnapshotManifest, StoreError, Trees};
use crate::stream::{self, StreamPart};

/// How many log entries are read at once to rebuild a piece.
const REPLAY_CHUNK: u64 = 256;

/// Bytes of a received snapshot that are read at once. A row is at most 1 MiB long.
const ROWS_BYTES: u64 = 256 << 10;

/// Why committed state cannot be delivered to an owner. The journal cannot continue.
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

/// A committed entry with the commits of each piece.
pub(crate) struct CommittedEntry {
    pub(crate) index: u64,
    pub(crate) term: Epoch,
    pub(crate) commits: Vec<Arc<Commit>>,
}

impl CommittedEntry {
    /// The part of each piece that it touches.
    pub(crate) fn by_piece(&self) -> BTreeMap<PieceId, CommittedEntry> {
        let CommittedEntry { index, term, .. } = *self;
        let mut parts: BTreeMap<PieceId, CommittedEntry> = BTreeMap::new();
        for commit in &self.commits {
            let empty = || CommittedEntry { index, term, commits: Vec::new() };
            parts.entry(commit.piece).or_insert_with(empty).commits.push(commit.clone());
        }
        parts
    }
}

/// An entry of the log; none for raft's own entries, and for those that owners skip.
pub(crate) type EntryRead = Result<Option<CommittedEntry>, OwnersError>;

/// Reads an entry of the log as the raft layer stored it.
pub(crate) type ReadEntry = fn(index: u64, stored: &[u8]) -> EntryRead;

/// An owner. A missing answer to any message means that it died.
#[derive(Clone)]
pub(crate) struct PieceOwner {
    pub(crate) piece: PieceId,
    pub(crate) recipient: Recipient<JournalCommand>,
}

impl PieceOwner {
    /// Installs its piece and replays the log after the snapshot up to `applied_end`, one past the last applied entry;
    /// false if it died.
    pub(crate) async fn rebuild(
        &self,
        store: &Arc<JournalStore>,
        snapshot: Option<&SnapshotManifest>,
        applied_end: u64,
        read_entry: impl Fn(u64, &[u8]) -> EntryRead,
    ) -> Result<bool, OwnersError> {
        if !self.install(store, snapshot).await? {
            return Ok(false);
        }
        let mut next = snapshot.map_or(0, |snapshot| snapshot.index + 1);
        while next < applied_end {
            let end = (next + REPLAY_CHUNK).min(applied_end);
            let rows = blocking(store, move |trees| trees.log.read(next..end)).await?;
            check_complete(next..end, &rows)?;
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

    /// Replaces the owner's piece by the one in the snapshot, or by an empty one; false if the
    /// owner died. The rows come in parts, so that memory never holds all of them beside the piece.
    pub(crate) async fn install(
        &self,
        store: &Arc<JournalStore>,
        snapshot: Option<&SnapshotManifest>,
    ) -> Result<bool, OwnersError> {
        let index = snapshot.map_or(0, |snapshot| snapshot.index);
        if !self.install_some(index, InstallStage::Begin).await? {
            return Ok(false);
        }
        if let Some(snapshot) = snapshot {
            let piece = u8::from(self.piece);
            for part in snapshot.parts.iter().filter(|part| part.piece == piece) {
                if !self.install_rows(store, snapshot, part).await? {
                    return Ok(false);
                }
            }
        }
        self.install_some(index, InstallStage::End).await
    }

    /// Sends it the rows of one part of a snapshot. While it takes some, the next ones are read.
    async fn install_rows(
        &self,
        store: &Arc<JournalStore>,
        snapshot: &SnapshotManifest,
        part: &StreamPart,
    ) -> Result<bool, OwnersError> {
        let rows_from = |at| async move {
            if at >= part.end {
                return Ok(None);
            }
            let (snapshot, part) = (snapshot.clone(), part.clone());
            blocking(store, move |trees| trees.snapshot_rows(&snapshot, &part, at)).await.map(Some)
        };
        let mut read = rows_from(part.start).await?;
        while let Some((rows, next)) = read {
            let install = self.install_some(snapshot.index, InstallStage::Rows(rows));
            let (installed, ahead) = tokio::join!(install, rows_from(next));
            if !installed? {
                return Ok(false);
            }
            read = ahead?;
        }
        Ok(true)
    }

    /// Lets it read its rows in a received snapshot, and drops them; false if the owner died. Its piece stays as it is.
    pub(crate) async fn reads(
        &self,
        snapshot: &Arc<File>,
        parts: &[StreamPart],
    ) -> Result<bool, OwnersError> {
        let read = self.read_rows(snapshot, parts).await;
        // Also after a row that it cannot read.
        let dropped = self.install_some(0, InstallStage::Abandon).await?;
        Ok(read? && dropped)
    }

    async fn read_rows(
        &self,
        snapshot: &Arc<File>,
        parts: &[StreamPart],
    ) -> Result<bool, OwnersError> {
        if !self.install_some(0, InstallStage::Begin).await? {
            return Ok(false);
        }
        let piece = u8::from(self.piece);
        for part in parts.iter().filter(|part| part.piece == piece) {
            let mut at = part.start;
            while at < part.end {
                let (snapshot, part) = (snapshot.clone(), part.clone());
                let reading = spawn_blocking(move || rows_in(&snapshot, &part, at)).await;
                let failed = |why: String| OwnersError::Store(StoreError::Io(why));
                let read = reading.map_err(|error| failed(error.to_string()))?;
                let (rows, next) = read.map_err(|error| failed(error.to_string()))?;
                if !self.install_some(0, InstallStage::Rows(rows)).await? {
                    return Ok(false);
                }
                at = next;
            }
        }
        Ok(true)
    }

    async fn install_some(&self, index: u64, stage: InstallStage) -> Result<bool, OwnersError> {
        let (reply, answer) = oneshot::channel();
        self.recipient.do_send(JournalCommand::Install(Install { index, stage, reply }));
        match answer.await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(error)) => Err(OwnersError::Part { piece: self.piece, why: error.to_string() }),
            Err(_) => Ok(false),
        }
    }

    /// Lets it apply its part of an entry.
    pub(crate) async fn apply(&self, part: &CommittedEntry) -> Option<Vec<CommitAnswer>> {
        let (reply, answer) = oneshot::channel();
        self.recipient.do_send(JournalCommand::Apply(Apply {
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
        self.recipient.do_send(JournalCommand::Freeze { reply });
        answer.await.ok()
    }
}

/// Some rows of a part from `at` on, and where they end.
fn rows_in(snapshot: &File, part: &StreamPart, at: u64) -> io::Result<(Vec<Vec<u8>>, u64)> {
    let mut wanted = ROWS_BYTES;
    loop {
        let end = part.end.min(at.saturating_add(wanted));
        let length = usize::try_from(end - at).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        snapshot.read_exact_at(&mut bytes, at)?;
        let (rows, read) = stream::rows(&bytes);
        if read > 0 {
            return Ok((rows, at + read as u64));
        }
        if end == part.end {
            return Err(io::Error::other("its last row is cut short"));
        }
        wanted *= 2;
    }
}

/// Checks that the rows are all entries of `range`. A piece without one of them would differ from those of other nodes.
fn check_complete(range: Range<u64>, rows: &[(u64, Vec<u8>)]) -> Result<(), OwnersError> {
    let mut found = rows.iter().map(|(index, _)| *index);
    for index in range {
        if found.next() != Some(index) {
            return Err(OwnersError::Entry { index, why: "it is missing".to_owned() });
        }
    }
    Ok(())
}

/// Reads from the store off the runtime's threads.
async fn blocking<T: Send + 'static>(
    store: &Arc<JournalStore>,
    read: impl FnOnce(&Trees) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, OwnersError> {
    let trees = store.trees().await?;
    match spawn_blocking(move || read(&trees)).await {
        Ok(read) => Ok(read?),
        Err(error) => Err(OwnersError::Store(StoreError::Io(error.to_string()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_in_the_log_is_an_error_wherever_it_is() {
        let rows =
            |indices: &[u64]| -> Vec<_> { indices.iter().map(|&at| (at, vec![0])).collect() };
        assert!(check_complete(3..6, &rows(&[3, 4, 5])).is_ok());
        assert!(check_complete(3..3, &rows(&[])).is_ok());
        for (found, missing) in [(&[4, 5][..], 3), (&[3, 5], 4), (&[3, 4], 5), (&[], 3)] {
            let error = check_complete(3..6, &rows(found)).unwrap_err().to_string();
            assert_eq!(error, format!("log entry {missing} cannot be read: it is missing"));
        }
    }
}
