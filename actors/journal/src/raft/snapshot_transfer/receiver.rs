//! Receives one snapshot at a time into a file, checks it, and has it installed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Weak};

use openraft::{Snapshot, Vote};
use tokio::sync::Mutex;
use tokio::task::{JoinHandle, spawn_blocking};

use super::{SnapshotPart, SnapshotProgress, SnapshotSource};
use crate::raft::Raft;
use crate::raft::snapshot_body::SnapshotBody;
use crate::store::JournalStore;
use crate::stream::{BadStream, StreamChecker, StreamPart};

/// Bytes that are checked at once.
const PIECE_BYTES: usize = 256 << 10;

/// Why a snapshot with all its bytes was not installed.
#[derive(Debug, thiserror::Error)]
enum NotInstalled {
    #[error("it is damaged: {0}")]
    Damaged(#[from] BadStream),
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] io::Error),
    #[error("{0}")]
    Ended(String),
}

/// The snapshot that another node sends to this one.
pub(in crate::raft) struct SnapshotReceiver {
    /// The store closes although this value lives.
    store: Weak<JournalStore>,
    incoming: Mutex<Option<IncomingSnapshot>>,
}

struct IncomingSnapshot {
    source: SnapshotSource,
    stage: IncomingStage,
}

enum IncomingStage {
    /// The bytes before `have` are in the file.
    Receiving { file: Arc<File>, have: u64 },
    /// All bytes are there.
    Installing(JoinHandle<Result<Vote<u64>, NotInstalled>>),
}

impl SnapshotReceiver {
    pub(in crate::raft) fn new(store: &Arc<JournalStore>) -> Self {
        SnapshotReceiver { store: Arc::downgrade(store), incoming: Mutex::new(None) }
    }

    /// Takes a part, and answers what the sender does next.
    pub(in crate::raft) async fn take(&self, raft: &Raft, part: SnapshotPart) -> SnapshotProgress {
        // A leader of an earlier term must not displace the snapshot of the current one.
        let vote = raft.metrics().borrow().vote;
        if vote > part.vote {
            return SnapshotProgress::Done { vote };
        }
        let mut incoming = self.incoming.lock().await;
        if let Some(progress) = Self::outcome(&mut incoming, part.source).await {
            return progress;
        }
        match self.store_part(&mut incoming, raft, part).await {
            Ok(progress) => progress,
            Err(error) => {
                *incoming = None;
                let why = format!("it cannot store the snapshot: {error}");
                tracing::warn!(why, "a snapshot of another node was not taken");
                SnapshotProgress::Failed { why }
            }
        }
    }

    /// The outcome of an installation, if one runs or has just ended. None if the part belongs to a transfer that is
    /// still receiving, or that begins.
    async fn outcome(
        incoming: &mut Option<IncomingSnapshot>,
        source: SnapshotSource,
    ) -> Option<SnapshotProgress> {
        let IncomingStage::Installing(task) = &mut incoming.as_mut()?.stage else { return None };
        if !task.is_finished() {
            return Some(SnapshotProgress::Busy);
        }
        let outcome = match task.await {
            Ok(outcome) => outcome,
            Err(error) => Err(NotInstalled::Ended(error.to_string())),
        };
        let is_same = incoming.take().is_some_and(|installed| installed.source == source);
        match outcome {
            Ok(vote) if is_same => Some(SnapshotProgress::Done { vote }),
            Ok(_) => None,
            Err(NotInstalled::Ended(why)) => Some(SnapshotProgress::Failed { why }),
            Err(error @ (NotInstalled::Damaged(_) | NotInstalled::Unreadable(_))) => {
                tracing::warn!(
                    from = source.node, bytes = source.bytes, %error,
                    "a received snapshot cannot be used: it is fetched again"
                );
                None
            }
        }
    }

    async fn store_part(
        &self,
        incoming: &mut Option<IncomingSnapshot>,
        raft: &Raft,
        part: SnapshotPart,
    ) -> io::Result<SnapshotProgress> {
        let SnapshotPart { source, vote, meta, offset, data } = part;
        let begun = incoming.take().filter(|begun| begun.source == source);
        let (file, mut have) = match begun.map(|begun| begun.stage) {
            Some(IncomingStage::Receiving { file, have }) => (file, have),
            Some(IncomingStage::Installing(_)) | None => (Arc::new(self.new_file()?), 0),
        };
        if offset == have && !data.is_empty() {
            let next = have + data.len() as u64;
            if next > source.bytes {
                return Err(io::Error::other("it is longer than its sender announced"));
            }
            let target = file.clone();
            spawn_blocking(move || target.write_all_at(&data, have)).await??;
            have = next;
        }
        if have < source.bytes {
            let stage = IncomingStage::Receiving { file, have };
            *incoming = Some(IncomingSnapshot { source, stage });
            return Ok(SnapshotProgress::Wants { offset: have });
        }
        let raft = raft.clone();
        let install = async move {
            let checked = file.clone();
            let parts = match spawn_blocking(move || check(&checked)).await {
                Ok(checked) => checked?,
                Err(error) => return Err(NotInstalled::Ended(error.to_string())),
            };
            let snapshot =
                Snapshot { meta, snapshot: Box::new(SnapshotBody::received(file, parts)) };
            match raft.install_full_snapshot(vote, snapshot).await {
                Ok(installed) => Ok(installed.vote),
                Err(error) => Err(NotInstalled::Ended(error.to_string())),
            }
        };
        let stage = IncomingStage::Installing(tokio::spawn(install));
        *incoming = Some(IncomingSnapshot { source, stage });
        Ok(SnapshotProgress::Busy)
    }

    fn new_file(&self) -> io::Result<File> {
        let store =
            self.store.upgrade().ok_or_else(|| io::Error::other("the journal has stopped"))?;
        store.scratch_file()
    }
}

/// Reads the whole file and answers its parts.
fn check(file: &File) -> Result<Vec<StreamPart>, NotInstalled> {
    let mut checker = StreamChecker::new();
    let (mut at, mut piece) = (0, vec![0; PIECE_BYTES]);
    loop {
        let read = file.read_at(&mut piece, at)?;
        if read == 0 {
            return Ok(checker.finish()?);
        }
        checker.check_bytes(&piece[..read])?;
        at += read as u64;
    }
}
