//! The calls of a transfer.

use serde::{Deserialize, Serialize};

use crate::raft::wire::{WireSnapshotMeta, WireVote};

/// Identifies the bytes of a snapshot. Two nodes write the same state in different bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::raft) struct SnapshotSource {
    /// The node that wrote it.
    pub(in crate::raft) node: u64,
    /// The number that its store gave it.
    pub(in crate::raft) number: u64,
    /// The size of the whole snapshot.
    pub(in crate::raft) bytes: u64,
}

/// A part of a snapshot. Without data it asks where to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::raft) struct SnapshotPart {
    /// The snapshot.
    pub(in crate::raft) source: SnapshotSource,
    /// The vote of the leader that sends it.
    pub(in crate::raft) vote: WireVote,
    /// The position in the log, and the members there.
    pub(in crate::raft) meta: WireSnapshotMeta,
    /// The position of the data in the snapshot.
    pub(in crate::raft) offset: u64,
    /// The next bytes.
    #[serde(with = "serde_bytes")]
    pub(in crate::raft) data: Vec<u8>,
}

/// How far the receiver is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::raft) enum SnapshotProgress {
    /// It needs the bytes from this position on.
    Wants {
        /// Position in the snapshot.
        offset: u64,
    },
    /// It has all bytes, and checks or installs them.
    Busy,
    /// The snapshot is installed, or refused because of a newer vote.
    Done {
        /// The vote of the receiver.
        vote: WireVote,
    },
    /// It could not take the part. The sender may try again later.
    Failed {
        /// The reason, in words.
        why: String,
    },
}
