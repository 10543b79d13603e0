//! The record of one ended copy.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_protocol::worker::{Blame, TaskId};

use crate::task_manager::state::task::{TaskState, in_words};

/// One ended copy, as the history keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyRecord {
    /// The task that made the copy, by its number.
    pub task: TaskId,
    /// The copied file, by its number in the name table.
    pub file: FileId,
    /// The source of the copy.
    pub source: HostAddr,
    /// The host that took the copy.
    pub destination: HostAddr,
    /// Rank when planned, 1 = best; 0 without a grade.
    pub grade: u32,
    /// Rising hits when planned.
    pub hits: u32,
    /// The master's size when planned, in bytes.
    pub size: u64,
    /// The final state.
    pub state: TaskState,
    /// The reason of an end without success.
    pub reason: Option<String>,
    /// Whether it succeeded, but its hash was not compared with that of its source.
    pub is_unverified: bool,
    /// The part that was blamed; none unless it failed or timed out.
    pub blame: Option<Blame>,
    /// The requester; none for the planner's own.
    pub asked_by: Option<String>,
    /// When it was planned.
    pub planned: Millis,
    /// Wall clock of the leader when it ended.
    pub at: Millis,
}

impl CopyRecord {
    /// The reason of its end, or a remark on its success, for people.
    pub fn reason_in_words(&self) -> Option<String> {
        in_words(self.is_unverified, &self.reason)
    }
}
