//! Sends one snapshot.

use std::sync::Arc;
use std::time::Duration;

use openraft::{SnapshotMeta, Vote};
use reelyard_replication::NodeUnreachable;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::{SnapshotPart, SnapshotProgress, SnapshotSource};
use crate::raft::members::MemberNode;
use crate::raft::snapshot_body::{SnapshotBody, SnapshotBodyError};
use crate::raft::wire::{WireSnapshotMeta, WireVote};

/// Bytes of one call.
const PART_BYTES: usize = 1 << 20;

/// Time limit of one call. Enough for links from 1 Mbit/s on.
pub(in crate::raft) const PART_TIMEOUT: Duration = Duration::from_secs(10);

/// The shortest time between two parts: at most 65 MB/s, so that the rest of the time is for commits.
const PERIOD: Duration = Duration::from_millis(16);

/// How often a receiver that checks or installs is asked for the outcome.
const ASK_AGAIN: Duration = Duration::from_millis(50);

/// Why a snapshot was not sent to its end.
#[derive(Debug, thiserror::Error)]
pub(in crate::raft) enum SnapshotNotSent {
    /// The receiver does not answer, or cannot take it now.
    #[error(transparent)]
    Unreachable(#[from] NodeUnreachable),
    /// The snapshot of this node cannot be read.
    #[error(transparent)]
    Unreadable(#[from] SnapshotBodyError),
}

/// A snapshot on its way to another node: it makes the next call, and takes the answer.
pub(in crate::raft) struct SnapshotSender {
    target: u64,
    vote: WireVote,
    meta: WireSnapshotMeta,
    body: Arc<SnapshotBody>,
    source: SnapshotSource,
    /// The last answer. None before the first call.
    progress: Option<SnapshotProgress>,
    /// When the next call was begun.
    began: Instant,
    /// The part that is usually next. It is read while the last one is sent.
    ahead: Option<PartAhead>,
}

/// A part of a snapshot that is being read.
struct PartAhead {
    offset: u64,
    data: JoinHandle<Result<Vec<u8>, SnapshotBodyError>>,
}

impl SnapshotSender {
    /// A snapshot in the store of `node`, for `target`.
    ///
    /// # Errors
    /// It is a snapshot of another node.
    pub(in crate::raft) fn new(
        node: u64,
        target: u64,
        vote: Vote<u64>,
        meta: SnapshotMeta<u64, MemberNode>,
        body: Arc<SnapshotBody>,
    ) -> Result<Self, SnapshotNotSent> {
        let (number, bytes) = body.number_and_bytes()?;
        let source = SnapshotSource { node, number, bytes };
        Ok(SnapshotSender {
            target,
            vote: vote.into(),
            meta: meta.into(),
            body,
            source,
            progress: None,
            began: Instant::now(),
            ahead: None,
        })
    }

    /// The next call. Waits until it is due, and longer if the receiver was busy.
    pub(in crate::raft) async fn next_part(&mut self) -> Result<SnapshotPart, SnapshotNotSent> {
        if self.progress.is_some() {
            sleep_until(self.began + PERIOD).await;
        }
        self.began = Instant::now();
        let (offset, data) = match &self.progress {
            None => (0, Vec::new()),
            Some(SnapshotProgress::Wants { offset }) => {
                let offset = *offset;
                (offset, self.read(offset).await?)
            }
            Some(_) => {
                sleep(ASK_AGAIN).await;
                (self.source.bytes, Vec::new())
            }
        };
        let (source, vote, meta) = (self.source, self.vote, self.meta.clone());
        Ok(SnapshotPart { source, vote, meta, offset, data })
    }

    /// Reads a part, and begins to read the one behind it.
    async fn read(&mut self, offset: u64) -> Result<Vec<u8>, SnapshotBodyError> {
        let data = match self.ahead.take().filter(|ahead| ahead.offset == offset) {
            Some(ahead) => ahead.data.await.map_err(std::io::Error::from)??,
            None => self.body.clone().read(offset, PART_BYTES).await?,
        };
        let next = offset + data.len() as u64;
        self.ahead = (next < self.source.bytes).then(|| PartAhead {
            offset: next,
            data: tokio::spawn(self.body.clone().read(next, PART_BYTES)),
        });
        Ok(data)
    }

    /// Takes the answer to the last call. Returns the vote of the receiver once it is done.
    pub(in crate::raft) fn answered(
        &mut self,
        progress: SnapshotProgress,
    ) -> Result<Option<Vote<u64>>, SnapshotNotSent> {
        match progress {
            SnapshotProgress::Done { vote } => return Ok(Some(vote.into())),
            SnapshotProgress::Failed { why } => {
                return Err(NodeUnreachable { node: self.target, why }.into());
            }
            SnapshotProgress::Wants { .. } | SnapshotProgress::Busy => {}
        }
        self.progress = Some(progress);
        Ok(None)
    }
}
