//! The judge's own record of the committed events.

use std::collections::{BTreeMap, BTreeSet};

use reelyard_core::clock::Millis;
use reelyard_core::event::{PieceId, RequestId};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_replication::CommitAnswer;
use reelyard_yard::task_manager::NewTask;

/// One committed entry, as a node first applied it.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The term of the leader that wrote the entry.
    pub term: u64,
    /// A hash of the entry's bytes.
    pub payload: u64,
    /// A hash of the answers to its commits.
    pub answers: u64,
    /// Hashes of the pieces after the entry, where they were computed.
    pub pieces: BTreeMap<PieceId, u64>,
}

/// The record of the judge: the committed events, applied in a simpler way than in the piece.
#[derive(Clone, Debug, Default)]
pub struct JudgeRecord {
    /// Every committed entry, from index 1 on.
    pub history: Vec<Committed>,
    /// Where each request was committed, and how many events it had.
    pub requests: BTreeMap<RequestId, (u64, usize)>,
    /// The answers to remembered requests.
    pub answers: BTreeMap<RequestId, CommitAnswer>,
    /// The open tasks, by id.
    pub open: BTreeMap<TaskId, NewTask>,
    /// The hosts that hold each file, as last confirmed.
    pub holders: BTreeMap<FileName, BTreeSet<HostAddr>>,
    /// Copies that arrived on a host by the record: the size, the leader's clock, and the index of the entry.
    pub landed: BTreeMap<(HostAddr, FileName), (u64, Millis, u64)>,
    /// The last confirmation of every copy, in virtual milliseconds.
    pub confirmed: BTreeMap<(HostAddr, FileName), u64>,
}
