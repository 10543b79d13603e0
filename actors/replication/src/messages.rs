//! Messages between the journal and the owners of pieces, and the answers to a commit.

use std::sync::Arc;
use std::time::Duration;

use actix::Message;
use reelyard_core::durations::in_words;
use reelyard_core::event::{Commit, Epoch, RequestId};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::piece::{FrozenPiece, UnreadableEvent};

/// A command of the journal to the owner of a piece. Commands arrive by `do_send` in the order in
/// which they apply. An owner passes each to its [`ReplicaHandle`](crate::ReplicaHandle).
#[derive(Message)]
#[rtype(result = "()")]
pub enum JournalCommand {
    /// Apply these commits, all of this owner's piece.
    Apply(Apply),
    /// Freeze the current piece, after everything that was applied so far.
    Freeze {
        /// Receives the frozen piece.
        reply: oneshot::Sender<Box<dyn FrozenPiece>>,
    },
    /// Replace the piece by another one, which arrives in several of these commands.
    Install(Install),
    /// This node leads in `epoch`: a quorum has confirmed it and all earlier entries are applied.
    LeaderStarted {
        /// The epoch to decide in.
        epoch: Epoch,
    },
    /// This node no longer leads: make no decisions. Everything in flight ends with an unknown
    /// outcome.
    LeaderStopped,
}

/// A part of a piece. After its last part the new piece replaces the current one.
pub struct Install {
    /// The log index at which it was frozen; 0 for an empty piece.
    pub index: u64,
    /// The part of the piece in this message.
    pub stage: InstallStage,
    /// Says that it was accepted, or why not.
    pub reply: oneshot::Sender<Result<(), UnreadableEvent>>,
}

/// The parts of a piece that is installed.
pub enum InstallStage {
    /// An empty piece. Parts of an earlier, unfinished installation are dropped.
    Begin,
    /// Some of the rows that [`FrozenPiece::write`] wrote, in its order.
    Rows(Vec<Vec<u8>>),
    /// The end: the new piece replaces the current one.
    End,
    /// The parts were only read to find out whether that is possible: they are dropped.
    Abandon,
}

/// Committed entries to apply, in order.
pub struct Apply {
    /// Log index of the entry that holds these commits.
    pub index: u64,
    /// The entry's term: commits of another epoch are refused.
    pub term: Epoch,
    /// The commits of this owner's piece in that entry, in order.
    pub commits: Vec<Arc<Commit>>,
    /// One answer per commit, once all are applied.
    pub reply: oneshot::Sender<Vec<CommitAnswer>>,
}

/// Result of one commit when its entry was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommitAnswer {
    /// Each event's outcome or refusal, in order, encoded by its piece.
    Applied(Vec<Result<Vec<u8>, Vec<u8>>>),
    /// Refused as a whole: it was decided in another epoch than that of its entry.
    Deposed,
}

/// Why `commit` has no outcomes to return.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitError {
    /// This node does not lead. Ask the leader.
    #[error("this node does not lead the yard{}", match .leader { Some(id) => format!("; the leader is node {id}"), None => String::new() })]
    NotLeader {
        /// The leader, if this node knows it.
        leader: Option<u64>,
    },
    /// Leadership changed between decision and application: nothing was changed.
    #[error("leadership changed during the request: nothing was done, try again")]
    Deposed,
    /// The journal's queue is full.
    #[error("busy, retry in {}", in_words(*.retry_after))]
    Busy {
        /// When asking again makes sense.
        retry_after: Duration,
    },
    /// The journal's disk is full: nothing was changed.
    #[error("nothing was changed: {why}")]
    DiskFull {
        /// The full disk, and the next step for the operator.
        why: String,
    },
    /// The commit may or may not have been applied. A repetition under the same request id is
    /// safe.
    #[error("outcome unknown: repeat the request under the same id {request}")]
    Unknown {
        /// The id to repeat it under.
        request: RequestId,
    },
    /// More events or bytes than one entry takes: the actor must split the list.
    #[error("{events} events of {bytes} bytes do not fit one journal entry")]
    TooLarge {
        /// How many events there were.
        events: usize,
        /// Their encoded size in bytes.
        bytes: usize,
    },
    /// The journal is stopping or its store failed.
    #[error("the journal has stopped")]
    Stopped,
}
