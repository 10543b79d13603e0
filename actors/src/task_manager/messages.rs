//! The face of the TaskManager.

use actix::Message;

use super::event::TaskRefusal;
use super::host_rules::HostRefused;
use super::plan::{ByHandRefused, Explanation};
use super::settings::{HostSetting, TaskSettings};
use crate::clock::Millis;
use crate::event::{Epoch, RequestId};
use crate::host::{BitsPerSecond, HostAddr, HostMode, HostRole};
use crate::journal::CommitError;
use crate::names::FileName;
use crate::wire::worker::{Blame, ContentHash, Report, ReportsTaken, TaskId};
use serde::{Deserialize, Serialize};

/// Where a task is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TaskState {
    /// Planned; its destination has not begun.
    Ready,
    /// Its destination is at it.
    Working,
    /// The copy is in place. Ended.
    Done,
    /// It was given up, and somebody is to blame. Ended.
    Failed,
    /// No sign of life for too long, or never begun. Ended.
    Timeout,
    /// Somebody took it back. Ended.
    Cancelled,
}

impl TaskState {
    /// Whether the task still holds its source, its destination and its file.
    pub fn is_open(self) -> bool {
        matches!(self, TaskState::Ready | TaskState::Working)
    }
}

/// One planned copy, from its planning to its end. Part of the durable piece.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its number: Unix nanoseconds at creation, made unique by counting up.
    pub id: TaskId,
    /// The file.
    pub name: FileName,
    /// Directory of the master on the source.
    pub dir: String,
    /// Where it comes from.
    pub source: HostAddr,
    /// Where it goes.
    pub destination: HostAddr,
    /// Rank when planned, 1 = best; 0 for a hot file without a grade.
    pub grade: u32,
    /// Rising hits when planned; 0 for a file planned by its grade.
    pub hits: u32,
    /// The master's size when planned, in bytes.
    pub size: u64,
    /// The rate to keep below.
    pub copy_speed: Option<BitsPerSecond>,
    /// Where it is in its life.
    pub state: TaskState,
    /// When it was planned.
    pub created: Millis,
    /// When its state last changed.
    pub changed: Millis,
    /// Whether an old cfw has said `done` and its inventory is still to confirm it.
    pub claimed_done: bool,
    /// Why it ended without success, or what is to be said of a success.
    pub reason: Option<String>,
    /// Who was blamed.
    pub blame: Option<Blame>,
    /// The hash of the copy: equal to its source's, unless `reason` says otherwise.
    pub hash: Option<ContentHash>,
    /// Who asked for it; none for the planner's own.
    pub asked_by: Option<String>,
}

impl Task {
    /// Whether it ended without success and nobody took it back.
    pub fn has_failed(&self) -> bool {
        matches!(self.state, TaskState::Failed | TaskState::Timeout)
    }
}

/// A state change asked for over cfm's wire: `PATCH /tasks/{id}` (spec 2.1).
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), ChangeRefused>")]
pub struct ChangeTask {
    /// The task.
    pub id: TaskId,
    /// The wanted state, one of cfm's four. None for a body without a status, which cfm refuses
    /// with 409 once the task is found.
    pub to: Option<OldState>,
    /// Names the request.
    pub request: RequestId,
}

/// The four states of cfm's wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OldState {
    /// `ready`
    Ready,
    /// `working`
    Working,
    /// `done`
    Done,
    /// `timeout`
    Timeout,
}

/// Why a task was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefused {
    /// There is no such task (404).
    #[error("task {0} does not exist")]
    NoSuchTask(TaskId),
    /// The table of spec 2.1 does not allow it (409).
    #[error("a task that is {from:?} cannot become {to:?}")]
    Transition {
        /// Where the task is.
        from: TaskState,
        /// Where it was to go.
        to: Option<OldState>,
    },
    /// It could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Takes a task back: `DELETE /tasks/{id}` and `reelyard tasks cancel`. An ended task is dropped
/// from the list.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), ChangeRefused>")]
pub struct CancelTask {
    /// The task.
    pub id: TaskId,
    /// Who asked.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Reports of one of our workers. Answered once `Done` and `Failed` among them are durable.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<ReportsTaken, ReportsRefused>")]
pub struct TakeReports {
    /// Who reports.
    pub host: HostAddr,
    /// What, in order.
    pub reports: Vec<Report>,
}

/// Why reports were not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportsRefused {
    /// Whoever reports is no destination of this yard (404).
    #[error("{0} is not configured as a destination of this yard")]
    UnknownHost(HostAddr),
    /// They could not be committed: the worker keeps them and reports again.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Has a file copied to a destination now, before better ones: `reelyard files copy`. The rules of
/// planning hold but for the turn.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<TaskId, CopyRefused>")]
pub struct CopyFile {
    /// The file.
    pub name: FileName,
    /// Where to.
    pub destination: HostAddr,
    /// Where from; none for any source.
    pub source: Option<HostAddr>,
    /// Who asked.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Has a copy tried again that was given up or taken back, to the same destination.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<TaskId, CopyRefused>")]
pub struct RetryTask {
    /// The task that ended.
    pub id: TaskId,
    /// Who asked.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Why a file is not copied as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyRefused {
    /// There is no such task.
    #[error("task {0} does not exist")]
    NoSuchTask(TaskId),
    /// The task is not one to try again.
    #[error("task {id} is {state:?}: only what failed or was taken back is tried again")]
    NotEndedBadly {
        /// The task.
        id: TaskId,
        /// Where it is.
        state: TaskState,
    },
    /// The rules do not allow it.
    #[error(transparent)]
    Rules(#[from] ByHandRefused),
    /// Something else happened meanwhile.
    #[error("it was not started: {0}")]
    Meanwhile(TaskRefusal),
    /// It could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Forgets the failures of a host: its back-offs as source, as destination, and in pairs. For an
/// operator who has mended it. Answers how many there were.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<usize, CommitError>")]
pub struct ResetHost {
    /// The host.
    pub host: HostAddr,
    /// Who asked.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Sets the mode of a host. What the mode takes back it takes back at once.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), HostRefused>")]
pub struct SetHostMode {
    /// The host.
    pub host: HostAddr,
    /// Its mode from now on.
    pub mode: HostMode,
    /// Who asked.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Adds a host to the yard beside those of the configuration, or gives one that was added another
/// role.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), HostRefused>")]
pub struct AddHost {
    /// The host.
    pub host: HostAddr,
    /// What it is for.
    pub role: HostRole,
    /// Who asked.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Removes a host that was added. What it holds is forgotten, what is under way from and to it is
/// taken back.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), HostRefused>")]
pub struct RemoveHost {
    /// The host.
    pub host: HostAddr,
    /// Who asked.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Plans and follows copies by these settings from now on, and puts these hosts on record when this
/// node leads.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeTaskSettings {
    /// The settings.
    pub settings: TaskSettings,
    /// The hosts that the configuration names.
    pub hosts: Vec<HostSetting>,
}

/// Asks why a file is or is not planned. Its master is looked at first where that was not done
/// lately.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Explanation")]
pub struct ExplainFile {
    /// The file; one that nobody knows is explained too.
    pub name: FileName,
}

/// Asks to look at once for what has become due. The TaskManager sends itself the like by its
/// timer; tests send it after they moved the clock.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct CheckTasksNow;

/// Asks for a round of planning now, as an operator would. Answers the epoch it planned in.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Epoch, CommitError>")]
pub struct PlanNow;
