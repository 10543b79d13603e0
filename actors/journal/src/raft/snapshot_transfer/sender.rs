//! Sends one snapshot.

use std::sync::Arc;
use std::time::Duration;

use openraft::{SnapshotMeta, Vote};
use reelyard_replication::NodeUnreachable;
use tokio::time::{Instant, sleep};

use super::{SnapshotPart, SnapshotProgress, SnapshotSource};
use crate::raft::members::MemberNode;
use crate::raft::snapshot_body::{SnapshotBody, SnapshotBodyError};
use crate::raft::wire::{WireSnapshotMeta, WireVote};

/// Bytes of one call.
const PART_BYTES: usize = 1 << 20;

/// Time limit of one call. Enough for links from 1 Mbit/s on.
pub(in crate::raft) const PART_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest pause after a call. Usually it is as long as the call, so that half of the time is for commits. With it
/// a transfer still has 50 MB/s.
const LONGEST_PAUSE: Duration = Duration::from_millis(8);

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
        })
    }

    /// The next call. Waits as long as the last one took, and longer if the receiver was busy.
    pub(in crate::raft) async fn next_part(&mut self) -> Result<SnapshotPart, SnapshotNotSent> {
        if self.progress.is_some() {
            sleep(self.began.elapsed().min(LONGEST_PAUSE)).await;
        }
        self.began = Instant::now();
        let (offset, data) = match &self.progress {
            None => (0, Vec::new()),
            Some(SnapshotProgress::Wants { offset }) => {
                (*offset, self.body.clone().read(*offset, PART_BYTES).await?)
            }
            Some(_) => {
                sleep(ASK_AGAIN).await;
                (self.source.bytes, Vec::new())
            }
        };
        let (source, vote, meta) = (self.source, self.vote, self.meta.clone());
        Ok(SnapshotPart { source, vote, meta, offset, data })
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
