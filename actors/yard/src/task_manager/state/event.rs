//! The events of the tasks, their outcomes and their refusals.
//!
//! **Invariant:** an event carries each value that a setting or a clock decides: a cap, the end of
//! a backoff, the records to forget. So `apply` gives the same result on nodes with different
//! configurations.

use reelyard_core::clock::Millis;
use reelyard_core::host::{BitsPerSecond, HostAddr, HostMode, HostRole};
use reelyard_core::manager::YardId;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{Blame, ContentHash, TaskId};
use serde::{Deserialize, Serialize};

use super::backoff::BackingOff;
use crate::task_manager::state::task::TaskState;

/// One event. Postcard numbers the variants in this order: append new ones at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskEvent {
    /// The configuration names exactly these hosts. Only earlier versions wrote this event; see
    /// [`TaskEvent::HostsNamed`].
    HostsConfigured {
        /// Every host that it names, by address.
        hosts: Vec<(HostAddr, HostRole)>,
    },
    /// A copy was planned.
    Created(NewTask),
    /// The destination has begun the copy.
    Began {
        /// A task in state `Ready`.
        id: TaskId,
    },
    /// An old cfw reported `done`. Its inventory must still confirm the copy.
    Claimed {
        /// An open task whose destination is an old cfw.
        id: TaskId,
    },
    /// The copy is complete: the task ends, and the placement is recorded with it. Backoffs of its
    /// source, destination, file and pair are cleared; those of hosts end step by step.
    Completed {
        /// An open task; it becomes `Done`.
        id: TaskId,
        /// The copy's size in bytes; none if the report has no size.
        size: Option<u64>,
        /// Its verified hash. None if only an inventory confirms the copy.
        hash: Option<ContentHash>,
    },
    /// The task ends without success.
    Ended {
        /// An open task; it becomes `Failed`, `Timeout` or `Cancelled`.
        id: TaskId,
        /// The final state, the reason and the blame.
        ending: TaskEnding,
        /// The backoff that this failure sets, if any.
        back_off: Option<BackingOff>,
    },
    /// A copy was found on a host, without an open task for it.
    Placed {
        /// The host that holds the copy.
        host: HostAddr,
        /// The file that was found.
        name: FileName,
    },
    /// The differences between a host's inventory and the placements so far. A long difference is
    /// split into several events.
    InventoryDiffered {
        /// The host whose inventory was read.
        host: HostAddr,
        /// New files.
        added: Vec<FileName>,
        /// Files that it no longer has.
        removed: Vec<FileName>,
        /// Whether the placements are the whole inventory after this event.
        complete: bool,
    },
    /// Old records are deleted because their retention is over.
    Forgot {
        /// Ended tasks that leave the list.
        tasks: Vec<TaskId>,
        /// Backoffs that ended long ago.
        back_offs: Vec<super::backoff::Blamed>,
    },
    /// As [`TaskEvent::Completed`], but the hash was not compared with the master's, because the
    /// source is an old cfw.
    CompletedUnverified {
        /// An open task; it becomes `Done`.
        id: TaskId,
        /// The copy's size in bytes.
        size: u64,
        /// The hash that the destination computed from the received bytes.
        hash: ContentHash,
    },
    /// The cluster got its id. A second event of this kind changes nothing.
    ClusterNamed {
        /// The id that distinguishes this cluster from other managers of the same hosts.
        cluster: YardId,
    },
    /// An operator set the mode of a host.
    HostModeSet {
        /// A recorded host.
        host: HostAddr,
        /// The mode that the operator set.
        mode: HostMode,
        /// The caller, as logs and events name it.
        asked_by: String,
    },
    /// An operator added a host, or changed the role of an added one.
    HostAdded {
        /// A host that the configuration does not name.
        host: HostAddr,
        /// Whether it serves masters, takes copies, or both.
        role: HostRole,
        /// The caller, as logs and events name it.
        asked_by: String,
    },
    /// An operator removed an added host. Its placements and its record are deleted.
    HostRemoved {
        /// A host that was added at run time.
        host: HostAddr,
        /// The caller, as logs and events name it.
        asked_by: String,
    },
    /// A host no longer answers.
    HostSilent {
        /// A host that is not in maintenance.
        host: HostAddr,
        /// Wall clock of the leader when the silence began.
        since: Millis,
    },
    /// A host was silent for longer than `presumed_lost_after`: its copies no longer count.
    HostLost {
        /// A host that is recorded as silent.
        host: HostAddr,
    },
    /// A silent host answers again.
    HostRecovered {
        /// A host that is recorded as silent or lost.
        host: HostAddr,
    },
    /// The oldest rows of the history are deleted: those with a lower number.
    HistoryForgotten {
        /// The number of the first row that is kept.
        before: u64,
    },
    /// The hosts of the configuration differ from the recorded hosts. A long difference is split into
    /// several events, because a list of all hosts may not fit a journal entry. Hosts added at run
    /// time are kept.
    HostsNamed {
        /// New hosts, and hosts with another role.
        named: Vec<(HostAddr, HostRole)>,
        /// Hosts that the configuration no longer names. Their records and placements are deleted.
        dropped: Vec<HostAddr>,
    },
    /// The leader plans by these inputs from now on.
    InputsRecorded(RecordedInputs),
}

/// A copy that the planner or an operator's request started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// Unix nanoseconds at creation, made unique by counting up.
    pub id: TaskId,
    /// The file to copy.
    pub name: FileName,
    /// Directory of the master on the source.
    pub dir: String,
    /// The host that serves the master.
    pub source: HostAddr,
    /// The host that gets the copy.
    pub destination: HostAddr,
    /// Rank, 1 = best; 0 for a hot file without a grade.
    pub grade: u32,
    /// Rising hits; 0 for a file planned by its grade.
    pub hits: u32,
    /// The master's size in bytes.
    pub size: u64,
    /// The rate limit for this copy; none means no limit.
    pub copy_speed: Option<BitsPerSecond>,
    /// How many open tasks the source may have, including this one.
    pub source_cap: u32,
    /// The operator or program that asked; none for the planner's own tasks.
    pub asked_by: Option<String>,
}

/// An input file of the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedFile {
    /// The hash of its bytes.
    pub digest: ContentHash,
    /// Its rows: lines that are not empty, without the header.
    pub rows: u64,
    /// When the file had been written.
    pub modified: Millis,
}

/// The inputs by which a leader planned and removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedInputs {
    /// The number of the node that led.
    pub node: u64,
    /// grade.info; none if the node had none.
    pub grade_info: Option<RecordedFile>,
    /// hitcount.history; none if the node had none.
    pub hitcount_history: Option<RecordedFile>,
    /// Different names in its source directories.
    pub masters: u64,
}

/// The ways to end without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GivenUp {
    /// The copy failed for a known reason.
    Failed,
    /// No report arrived before the deadline.
    Timeout,
    /// An operator, a mode or a change of hosts cancelled it.
    Cancelled,
}

impl From<GivenUp> for TaskState {
    fn from(how: GivenUp) -> Self {
        match how {
            GivenUp::Failed => TaskState::Failed,
            GivenUp::Timeout => TaskState::Timeout,
            GivenUp::Cancelled => TaskState::Cancelled,
        }
    }
}

/// How a task ends without success.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskEnding {
    /// The final state.
    pub how: GivenUp,
    /// The reason, as the log and the API show it.
    pub reason: String,
    /// The part that is blamed; none if no part is blamed.
    pub blame: Option<Blame>,
}

/// The outcome of an applied event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskOutcome {
    /// The event changed the state.
    Applied,
    /// An earlier event had the same effect: nothing changed.
    AlreadySo,
}

/// Why an event changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum TaskRefusal {
    /// The task does not exist.
    #[error("task {0} does not exist")]
    NoSuchTask(TaskId),
    /// A task with this number already exists.
    #[error("task {0} already exists")]
    IdTaken(TaskId),
    /// The task's state does not allow this transition.
    #[error("task {id} is {from}: it has ended and cannot change")]
    Transition {
        /// The task that the event names.
        id: TaskId,
        /// Its state when the event was applied.
        from: TaskState,
    },
    /// The file would have two open tasks.
    #[error("task {by} already copies {name}")]
    FileBusy {
        /// The file that both tasks would copy.
        name: FileName,
        /// The task that copies it.
        by: TaskId,
    },
    /// The source already serves its maximum number of copies.
    #[error("source {0} is at its limit of concurrent copies")]
    SourceBusy(HostAddr),
    /// Source and destination are the same.
    #[error("{0} cannot copy from itself")]
    SameHost(HostAddr),
    /// The host is not configured for this.
    #[error("{0} is not configured as a host for this role")]
    UnknownHost(HostAddr),
    /// The host's mode forbids new copies from it or to it.
    #[error("{host} is in mode {mode}: no new copies start from it or to it")]
    NotActive {
        /// The host that the event names.
        host: HostAddr,
        /// Its mode when the event was applied.
        mode: HostMode,
    },
    /// The configuration names the host: only the configuration can change it.
    #[error("{0} is in the configuration: remove it there and reload")]
    Configured(HostAddr),
    /// The host is in maintenance. It is not called, so its silence proves nothing.
    #[error("{0} is in maintenance")]
    InMaintenance(HostAddr),
    /// The host has answered since the decision.
    #[error("{0} has answered since the decision, so it is not presumed lost")]
    NotSilent(HostAddr),
}

impl NewTask {
    /// The task directly after its creation at `at`.
    pub(in crate::task_manager) fn into_task(
        self,
        at: Millis,
    ) -> crate::task_manager::state::task::Task {
        crate::task_manager::state::task::Task {
            id: self.id,
            name: self.name,
            dir: self.dir,
            source: self.source,
            destination: self.destination,
            grade: self.grade,
            hits: self.hits,
            size: self.size,
            copy_speed: self.copy_speed,
            state: TaskState::Ready,
            created: at,
            changed: at,
            claimed_done: false,
            reason: None,
            is_unverified: false,
            blame: None,
            hash: None,
            asked_by: self.asked_by,
        }
    }
}

pub(in crate::task_manager) type TaskApplyResult = Result<TaskOutcome, TaskRefusal>;
