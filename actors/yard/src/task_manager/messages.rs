//! Messages of the TaskManager, their answers and their refusals.

mod explanation;
mod skip;

use actix::Message;
use reelyard_core::display_text::word;
use reelyard_core::event::{Epoch, RequestId};
use reelyard_core::host::{HostAddr, HostMode, HostRole};
use reelyard_core::names::FileName;
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_protocol::worker::{Report, ReportsTaken, TaskId};
use reelyard_replication::CommitError;

pub use self::explanation::*;
pub use self::skip::*;
use crate::task_manager::state::event::TaskRefusal;
use crate::task_manager::state::task::TaskState;

/// A request over cfm's wire to change a state: `PATCH /tasks/{id}`.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), ChangeRefused>")]
pub struct ChangeTask {
    /// Unix nanoseconds at its creation.
    pub id: TaskId,
    /// The requested state, one of cfm's four. None for a body without a status: cfm refuses it
    /// with 409 once the task is found.
    pub to: Option<OldState>,
    /// Idempotency key: a repetition gets the first result.
    pub request: RequestId,
}

/// Why a task was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeRefused {
    /// The task does not exist (404).
    #[error("task {0} does not exist")]
    NoSuchTask(TaskId),
    /// The table of cfm does not allow it (409).
    #[error("a task in state {from} cannot change to {}", .to.map_or("a missing state".to_owned(), |to| word(&to)))]
    Transition {
        /// The task's current state.
        from: TaskState,
        /// The requested state; none for a body without a status.
        to: Option<OldState>,
    },
    /// It could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Cancels a task: `DELETE /tasks/{id}` and `reelyard tasks cancel`. An ended task is dropped from
/// the list.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), ChangeRefused>")]
pub struct CancelTask {
    /// An open task, or an ended one to drop from the list.
    pub id: TaskId,
    /// The caller, as logs and events name it.
    pub asked_by: String,
    /// Idempotency key: a repetition gets the first result.
    pub request: RequestId,
}

/// Reports of a Reelyard worker. The answer follows once `Done` and `Failed` among them are
/// durable.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<ReportsTaken, ReportsRefused>")]
pub struct TakeReports {
    /// The reporting host.
    pub host: HostAddr,
    /// The reports, in the order of the worker's events.
    pub reports: Vec<Report>,
}

/// Why reports were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportsRefused {
    /// The reporting host is no destination of this yard (404).
    #[error("{0} is not configured as a destination of this yard")]
    UnknownHost(HostAddr),
    /// The commit failed: the worker keeps the reports and sends them again.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Copies a file to a destination now, before better files: `reelyard files copy`. All other rules
/// of planning apply.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<TaskId, CopyRefused>")]
pub struct CopyFile {
    /// The file to copy.
    pub name: FileName,
    /// The host that gets the copy; none means the one with the most room.
    pub destination: Option<HostAddr>,
    /// The host that serves the master; none means any source.
    pub source: Option<HostAddr>,
    /// The caller, as logs and events name it.
    pub asked_by: String,
    /// Idempotency key: a repetition gets the first result.
    pub request: RequestId,
}

/// Retries a copy that failed, timed out or was cancelled, to the same destination.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<TaskId, CopyRefused>")]
pub struct RetryTask {
    /// The task that ended.
    pub id: TaskId,
    /// The caller, as logs and events name it.
    pub asked_by: String,
    /// Idempotency key: a repetition gets the first result.
    pub request: RequestId,
}

/// Why a requested copy was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CopyRefused {
    /// There is no such task.
    #[error("task {0} does not exist")]
    NoSuchTask(TaskId),
    /// The task is still open, or it succeeded.
    #[error("task {id} is {state}: only a failed or cancelled task can be retried")]
    NotEndedBadly {
        /// The task in the request.
        id: TaskId,
        /// Its current state.
        state: TaskState,
    },
    /// The rules of planning do not allow the copy.
    #[error(transparent)]
    Rules(#[from] ByHandRefused),
    /// The state changed between the decision and its application.
    #[error("the task was not started: {0}")]
    Meanwhile(TaskRefusal),
    /// It could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// Deletes the failures of a host: its backoffs as source, as destination, and in pairs. An
/// operator sends it after a repair. The answer is the number of deleted backoffs.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<usize, CommitError>")]
pub struct ResetHost {
    /// The repaired host.
    pub host: HostAddr,
    /// The caller, as logs and events name it.
    pub asked_by: String,
    /// Idempotency key: a repetition gets the first result.
    pub request: RequestId,
}

/// Sets the mode of a host. Tasks that the mode forbids are cancelled at once.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), HostRefused>")]
pub struct SetHostMode {
    /// A recorded host.
    pub host: HostAddr,
    /// The mode to set.
    pub mode: HostMode,
    /// The caller, as logs and events name it.
    pub asked_by: String,
    /// Idempotency key: a repetition gets the first result.
    pub request: RequestId,
}

/// Adds a host to the yard, in addition to those of the configuration, or changes the role of an
/// added one.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), HostRefused>")]
pub struct AddHost {
    /// A host that the configuration does not name.
    pub host: HostAddr,
    /// Whether it serves masters, takes copies, or both.
    pub role: HostRole,
    /// The caller, as logs and events name it.
    pub asked_by: String,
    /// Idempotency key: a repetition gets the first result.
    pub request: RequestId,
}

/// Removes an added host. Its placements are deleted, and open tasks from and to it are cancelled.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), HostRefused>")]
pub struct RemoveHost {
    /// A host that was added at run time.
    pub host: HostAddr,
    /// The caller, as logs and events name it.
    pub asked_by: String,
    /// Idempotency key: a repetition gets the first result.
    pub request: RequestId,
}

/// Asks why a file is or is not planned. Its master is looked up first unless a recent result is
/// known.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Explanation")]
pub struct ExplainFile {
    /// The file; an unknown name is explained too.
    pub name: FileName,
}

/// Checks now which work is due. The TaskManager's timer does the same; tests send this after they
/// moved the clock.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct CheckTasksNow;

/// Starts a planning round now, on an operator's request. The answer is the epoch of the round.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Epoch, CommitError>")]
pub struct PlanNow;

/// Why a host was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostRefused {
    /// The host does not exist (404).
    #[error("{0} is not a host of this yard")]
    NoSuchHost(HostAddr),
    /// The host is in the configuration, which alone sets its role and removes it (409).
    #[error("{0} is in the configuration: change it there and reload")]
    Configured(HostAddr),
    /// It could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl HostRefused {
    /// A change that was decided, but refused when it was applied.
    pub fn at_apply(refusal: &TaskRefusal, host: HostAddr) -> Self {
        match refusal {
            TaskRefusal::Configured(host) => HostRefused::Configured(*host),
            _ => HostRefused::NoSuchHost(host),
        }
    }
}

/// Why a requested copy is not planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ByHandRefused {
    /// The file may not be copied to any host.
    #[error("{name}: {skip}")]
    File {
        /// The requested file.
        name: FileName,
        /// The rule that forbids the copy.
        skip: Skip,
    },
    /// A task copies it already.
    #[error("{name}: task {task} already copies it")]
    UnderWay {
        /// The requested file.
        name: FileName,
        /// The open task that copies it.
        task: TaskId,
    },
    /// The wanted number of copies exists: one more would be removed again.
    #[error(
        "{name}: all wanted copies exist ({}); an extra copy would be removed again, unless the file is \
         pinned", on.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    )]
    Enough {
        /// The requested file.
        name: FileName,
        /// The hosts that hold a copy.
        on: Vec<HostAddr>,
    },
    /// The destination cannot take it.
    #[error("{host}: {usability}")]
    Destination {
        /// The destination.
        host: HostAddr,
        /// Why it cannot take the copy.
        usability: HostUsability,
    },
    /// It is no destination of this yard.
    #[error("{0} is not a destination of this yard")]
    NoDestination(HostAddr),
    /// No destination can take it, and none was named.
    #[error("no destination can take '{name}' now: {}", first_obstacle(first))]
    Nowhere {
        /// The requested file.
        name: FileName,
        /// The first destination, and why it cannot take the copy. None in a yard without destinations.
        first: Option<(HostAddr, HostUsability)>,
    },
    /// No source can serve it there.
    #[error(
        "no source can serve this destination: each one is down, in backoff, has a busy link, or has no \
         data port"
    )]
    NoSource,
    /// The requested source cannot serve the file.
    #[error(
        "{0} cannot serve this destination: it is not a source, is down, is in backoff, has a busy link, \
         or has no data port"
    )]
    Source(HostAddr),
}

fn first_obstacle(first: &Option<(HostAddr, HostUsability)>) -> String {
    match first {
        Some((host, usability)) => format!("{host}: {usability}"),
        None => "the yard has no destination".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_change_names_states_in_the_words_of_the_api() {
        let refused = |to| ChangeRefused::Transition { from: TaskState::Done, to }.to_string();
        let known = refused(Some(OldState::Working));
        assert_eq!(known, "a task in state done cannot change to working");
        assert_eq!(refused(None), "a task in state done cannot change to a missing state");
        let retried =
            CopyRefused::NotEndedBadly { id: TaskId(7), state: TaskState::Done }.to_string();
        assert!(retried.starts_with("task 7 is done: "), "{retried}");
    }
}
