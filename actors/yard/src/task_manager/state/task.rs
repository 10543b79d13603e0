//! A task: one planned copy.

use std::fmt;

use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr};
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{Blame, ContentHash, TaskId};
use serde::{Deserialize, Serialize};

/// The life of a copy, from planned to ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// Planned; the destination has not begun.
    Ready,
    /// The destination fetches the file.
    Working,
    /// The copy is in place. A final state.
    Done,
    /// The copy failed, and a part is blamed for it. A final state.
    Failed,
    /// No report arrived before the deadline, or the copy never began. A final state.
    Timeout,
    /// An operator, a mode or a change of hosts cancelled it. A final state.
    Cancelled,
}

impl TaskState {
    /// Whether the task still occupies its source, its destination and its file.
    pub fn is_open(self) -> bool {
        matches!(self, TaskState::Ready | TaskState::Working)
    }
}

impl fmt::Display for TaskState {
    /// The word of the API.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TaskState::Ready => "ready",
            TaskState::Working => "working",
            TaskState::Done => "done",
            TaskState::Failed => "failed",
            TaskState::Timeout => "timeout",
            TaskState::Cancelled => "cancelled",
        })
    }
}

/// One planned copy, from its planning to its end. Durable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// Its number: Unix nanoseconds at creation, made unique by counting up.
    pub id: TaskId,
    /// The file to copy.
    pub name: FileName,
    /// Directory of the master on the source.
    pub dir: String,
    /// The host that serves the master.
    pub source: HostAddr,
    /// The host that gets the copy.
    pub destination: HostAddr,
    /// Rank when planned, 1 = best; 0 for a hot file without a grade.
    pub grade: u32,
    /// Rising hits when planned; 0 for a file planned by its grade.
    pub hits: u32,
    /// The master's size when planned, in bytes.
    pub size: u64,
    /// The rate limit set when it was planned; none means no limit.
    pub copy_speed: Option<BitsPerSecond>,
    /// The current state; open or final.
    pub state: TaskState,
    /// Wall clock of the leader when it was planned.
    pub created: Millis,
    /// Wall clock of the leader at the last change of state.
    pub changed: Millis,
    /// Whether an old cfw reported `done`, and its inventory must still confirm it.
    pub claimed_done: bool,
    /// The reason of an end without success.
    pub reason: Option<String>,
    /// Whether it succeeded, but its hash was not compared with that of its source.
    pub is_unverified: bool,
    /// The part that was blamed; none unless it failed or timed out.
    pub blame: Option<Blame>,
    /// The hash of the copy: equal to its source's, unless `is_unverified`.
    pub hash: Option<ContentHash>,
    /// The operator or program that asked; none for the planner's own tasks.
    pub asked_by: Option<String>,
}

/// The reason of a verified or failed copy, or the remark on one that was not compared, for people.
pub(in crate::task_manager) fn in_words(
    is_unverified: bool,
    reason: &Option<String>,
) -> Option<String> {
    if is_unverified {
        let remark = "the hash was not compared: the source is an old cfw, which sends no hash";
        return Some(remark.to_owned());
    }
    reason.clone()
}

impl Task {
    /// The reason of its end, or a remark on its success, for people.
    pub fn reason_in_words(&self) -> Option<String> {
        in_words(self.is_unverified, &self.reason)
    }

    /// Whether it failed or timed out. A cancelled task has not failed.
    pub fn has_failed(&self) -> bool {
        matches!(self.state, TaskState::Failed | TaskState::Timeout)
    }
}
