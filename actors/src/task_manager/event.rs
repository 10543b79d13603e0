//! What can happen to the tasks: the events of the piece, their outcomes and refusals.
//!
//! **Invariant:** whatever a setting or a clock decides stands in the event (a cap, the end of a
//! back-off, what is forgotten), so that `apply` gives the same on nodes configured differently.

use serde::{Deserialize, Serialize};

use super::backoff::BackingOff;
use super::messages::TaskState;
use crate::clock::Millis;
use crate::host::{BitsPerSecond, HostAddr, HostMode, HostRole};
use crate::manager::ClusterId;
use crate::names::FileName;
use crate::wire::worker::{Blame, ContentHash, TaskId};

/// One event. Postcard numbers the variants in this order: new ones go to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskEvent {
    /// The configuration names exactly these hosts: what earlier versions wrote, see
    /// [`TaskEvent::HostsNamed`].
    HostsConfigured {
        /// Every host that it names, by address.
        hosts: Vec<(HostAddr, HostRole)>,
    },
    /// A copy was planned.
    Created(NewTask),
    /// Its destination has begun.
    Began {
        /// The task.
        id: TaskId,
    },
    /// An old cfw said `done`; its inventory is still to confirm it.
    Claimed {
        /// The task.
        id: TaskId,
    },
    /// The copy is in place: the task ends and the placement is recorded with it. Whoever backed
    /// off and had a part in it is cleared, a host step by step.
    Completed {
        /// The task.
        id: TaskId,
        /// The copy's size in bytes, when it was told.
        size: Option<u64>,
        /// Its verified hash; none when only an inventory says that it is there.
        hash: Option<ContentHash>,
    },
    /// The task ends without success.
    Ended {
        /// The task.
        id: TaskId,
        /// How and why.
        ending: TaskEnding,
        /// Who is left alone for how long.
        back_off: Option<BackingOff>,
    },
    /// A copy was found on a host, without an open task for it.
    Placed {
        /// The host.
        host: HostAddr,
        /// The file.
        name: FileName,
    },
    /// What a host's inventory shows otherwise than the placements so far. A long difference comes
    /// in several events.
    InventoryDiffered {
        /// The host.
        host: HostAddr,
        /// Files it holds.
        added: Vec<FileName>,
        /// Files it no longer holds.
        removed: Vec<FileName>,
        /// Whether the placements are the whole inventory after this.
        complete: bool,
    },
    /// What was kept long enough goes.
    Forgot {
        /// Ended tasks.
        tasks: Vec<TaskId>,
        /// Back-offs that are long over.
        back_offs: Vec<super::backoff::Blamed>,
    },
    /// As [`TaskEvent::Completed`], but nobody can tell whether the hash is the master's: the
    /// source is an old cfw.
    CompletedUnverified {
        /// The task.
        id: TaskId,
        /// The copy's size in bytes.
        size: u64,
        /// The hash that the destination computed from what arrived.
        hash: ContentHash,
    },
    /// The cluster has an id. It keeps the first one.
    ClusterNamed {
        /// The id.
        cluster: ClusterId,
    },
    /// Somebody set the mode of a host.
    HostModeSet {
        /// The host.
        host: HostAddr,
        /// Its mode from now on.
        mode: HostMode,
        /// Who asked.
        asked_by: String,
    },
    /// Somebody added a host, or gave one that was added another role.
    HostAdded {
        /// The host.
        host: HostAddr,
        /// What it is for.
        role: HostRole,
        /// Who asked.
        asked_by: String,
    },
    /// Somebody removed a host that was added. What is known of it is forgotten.
    HostRemoved {
        /// The host.
        host: HostAddr,
        /// Who asked.
        asked_by: String,
    },
    /// A host does not answer any more.
    HostSilent {
        /// The host.
        host: HostAddr,
        /// Since when.
        since: Millis,
    },
    /// A host was silent for so long that what it holds counts no longer.
    HostLost {
        /// The host.
        host: HostAddr,
    },
    /// A host that was silent answers again.
    HostHeard {
        /// The host.
        host: HostAddr,
    },
    /// The oldest lines of the history go: those with a lower number.
    HistoryForgotten {
        /// The number of the first line that stays.
        before: u64,
    },
    /// The configuration names hosts otherwise than is on record. A long difference comes in several
    /// events: no list of all hosts fits a journal entry. Hosts that were added at run time stay.
    HostsNamed {
        /// Hosts that it names, or gives another role.
        named: Vec<(HostAddr, HostRole)>,
        /// Hosts that it names no longer. What is known of them is forgotten.
        dropped: Vec<HostAddr>,
    },
}

/// A planned copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTask {
    /// Its number.
    pub id: TaskId,
    /// The file.
    pub name: FileName,
    /// Directory of the master on the source.
    pub dir: String,
    /// Where it comes from.
    pub source: HostAddr,
    /// Where it goes.
    pub destination: HostAddr,
    /// Rank, 1 = best; 0 for a hot file without a grade.
    pub grade: u32,
    /// Rising hits; 0 for a file planned by its grade.
    pub hits: u32,
    /// The master's size in bytes.
    pub size: u64,
    /// The rate to keep below.
    pub copy_speed: Option<BitsPerSecond>,
    /// How many open tasks the source may have, this one included.
    pub source_cap: u32,
    /// Who asked for it; none for the planner's own.
    pub asked_by: Option<String>,
}

/// The ways to end without success.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GivenUp {
    /// Something went wrong.
    Failed,
    /// Nothing was heard for too long.
    Timeout,
    /// Somebody took it back.
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
    /// In which way.
    pub how: GivenUp,
    /// Why, for people.
    pub reason: String,
    /// Who is to blame.
    pub blame: Option<Blame>,
}

/// What an applied event answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskOutcome {
    /// It happened.
    Applied,
    /// It happened before: nothing changed.
    AlreadySo,
}

/// Why an event changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum TaskRefusal {
    /// The task is not there (any more).
    #[error("task {0} does not exist")]
    NoSuchTask(TaskId),
    /// The task's number is taken.
    #[error("task {0} already exists")]
    IdTaken(TaskId),
    /// The task cannot go there from where it is.
    #[error("task {id} is {from:?}: it has ended and cannot change")]
    Transition {
        /// The task.
        id: TaskId,
        /// Where it is.
        from: TaskState,
    },
    /// Two open tasks for one file.
    #[error("task {by} already copies {name}")]
    FileBusy {
        /// The file.
        name: FileName,
        /// The task that copies it.
        by: TaskId,
    },
    /// The source serves as many copies as it may.
    #[error("source {0} serves as many copies as it may")]
    SourceBusy(HostAddr),
    /// Source and destination are the same.
    #[error("{0} cannot copy from itself")]
    SameHost(HostAddr),
    /// The host is not configured for this.
    #[error("{0} is not configured as a host for this")]
    UnknownHost(HostAddr),
    /// The host's mode keeps it from giving or taking new copies.
    #[error("{host} is in mode {mode}: it gives and takes no new copies")]
    NotActive {
        /// The host.
        host: HostAddr,
        /// Its mode.
        mode: HostMode,
    },
    /// The host is the configuration's to name.
    #[error("{0} is in the configuration: take it out there and reload")]
    Configured(HostAddr),
    /// Nothing is asked of the host: its silence means nothing.
    #[error("{0} is in maintenance")]
    InMaintenance(HostAddr),
    /// The host was heard of meanwhile.
    #[error("{0} is not silent")]
    NotSilent(HostAddr),
}

impl NewTask {
    /// The task as it is right after its creation at `at`.
    pub(super) fn into_task(self, at: Millis) -> super::messages::Task {
        super::messages::Task {
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
            blame: None,
            hash: None,
            asked_by: self.asked_by,
        }
    }
}
