//! Changes of the yard, as its actors publish them. The API gives them their public form.

use reelyard_core::backoff::BackOff;
use reelyard_core::host::{HostAddr, HostMode, HostRole};
use reelyard_core::names::{FileName, NameText};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::heartbeat::Health;
use crate::remover::{Ending, Reason};
use crate::task_manager::{Blamed, ForeignManager, Task};

/// A change that an actor of the yard publishes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum YardChange {
    /// A copy was planned, has begun or has ended.
    Task {
        /// The step that the task took.
        step: TaskStep,
        /// The task right after the step.
        task: Box<Task>,
    },
    /// A host holds more or fewer files.
    Placement(PlacementChange),
    /// The health, mode or membership of a host changed.
    Host(HostEvent),
    /// An input was read again, or can no longer be read.
    Input(InputChange),
    /// A sign of another manager of this yard.
    ForeignManager(ForeignManager),
    /// A removal was recorded, or has ended.
    Removal(RemovalChange),
    /// A file was pinned or unpinned.
    Pin(PinChange),
    /// A host or file backs off after failures, or is trusted again.
    BackOff {
        /// The host, file or pair that failed.
        blamed: Blamed,
        /// The backoff in force. None once its failures are forgotten.
        held: Option<BackOff>,
    },
}

/// Most names of a long list in one event.
pub const MAX_NAMES_SHOWN: usize = 10;

/// The steps in the life of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStep {
    /// The planner or an operator created the task.
    Created,
    /// Its destination has begun.
    Began,
    /// The task ended. Its state, reason and blame say how and why.
    Ended,
}

/// A host has more or fewer files than before, as last confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacementChange {
    /// Destination whose files changed.
    pub host: HostAddr,
    /// Number of files that appeared on the host.
    pub gained: u64,
    /// Number of files that disappeared from the host.
    pub lost: u64,
    /// The first of the new files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub came: Vec<NameText>,
    /// The first of the removed files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<NameText>,
}

impl PlacementChange {
    /// These files are new on `host`, and those were removed from it.
    pub fn new(host: HostAddr, came: &[FileName], gone: &[FileName]) -> Self {
        let first = |names: &[FileName]| {
            names.iter().take(MAX_NAMES_SHOWN).map(FileName::to_text).collect()
        };
        PlacementChange {
            host,
            gained: came.len() as u64,
            lost: gone.len() as u64,
            came: first(came),
            gone: first(gone),
        }
    }
}

/// Something about a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum HostEvent {
    /// The configuration names other hosts than before.
    Configured {
        /// How many it names now.
        hosts: u64,
    },
    /// It answers, or no longer answers.
    Health {
        /// Address of the host.
        host: HostAddr,
        /// Health before the change.
        from: Health,
        /// Health after the change.
        to: Health,
    },
    /// Its backoffs were removed on request.
    Reset {
        /// Address of the host.
        host: HostAddr,
        /// Operator who reset the host.
        asked_by: String,
        /// How many back-offs there were.
        back_offs: u64,
    },
    /// An operator set the mode of the host.
    Mode {
        /// Address of the host.
        host: HostAddr,
        /// The mode of the host from now on.
        mode: HostMode,
        /// Operator who set the mode.
        asked_by: String,
    },
    /// It was added, or given another role.
    Added {
        /// Address of the host.
        host: HostAddr,
        /// Role of the host: source, destination or both.
        role: HostRole,
        /// Operator who asked for it.
        asked_by: String,
    },
    /// An operator removed the host.
    Removed {
        /// Address of the host.
        host: HostAddr,
        /// Operator who removed the host.
        asked_by: String,
    },
    /// The host was silent for too long: its copies no longer count.
    Lost {
        /// Address of the host.
        host: HostAddr,
    },
    /// The host answers again, and its copies count.
    Recovered {
        /// Address of the host.
        host: HostAddr,
    },
}

/// An input was read again, or how it is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum InputChange {
    /// There is a new ranking.
    Ranking {
        /// Number of files in the ranking.
        files: u64,
        /// Rows that could not be read.
        bad_rows: u64,
    },
    /// Other masters are in the source directories.
    Masters {
        /// Number of masters after the change.
        files: u64,
    },
    /// The hot files changed, or their hits.
    Hot {
        /// Number of hot files after the change.
        files: u64,
    },
    /// An input cannot be used: its last good state stays in use.
    Unusable {
        /// Name of the input, and why the node cannot use it.
        problem: String,
    },
    /// The node can use the input again.
    Usable {
        /// The problem that is over.
        problem: String,
    },
}

/// The removal of a copy began or ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum RemovalChange {
    /// It was recorded, and its host is about to be asked.
    Intended {
        /// Destination that holds the copy.
        host: HostAddr,
        /// Name of the file.
        file: NameText,
        /// Reason of the removal.
        reason: Reason,
        /// Reason as a sentence.
        why: String,
        /// Host whose copy stays, for a surplus copy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keeper: Option<HostAddr>,
        /// Operator or part of the node that asked for the removal.
        asked_by: String,
    },
    /// The removal ended.
    Ended {
        /// Destination that held the copy.
        host: HostAddr,
        /// Name of the file.
        file: NameText,
        /// Result of the removal.
        ending: Ending,
    },
}

/// A file was pinned or unpinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PinChange {
    /// Name of the file.
    pub file: NameText,
    /// Whether it is pinned now.
    pub pinned: bool,
    /// Operator who asked for it, if it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_summed_up() {
        let names: Vec<FileName> =
            (0..50).map(|n| FileName::new(format!("{n}.mpg")).unwrap()).collect();
        let host: HostAddr = "127.0.0.21:8888".parse().unwrap();
        let change = PlacementChange::new(host, &names, &names[..1]);
        assert_eq!((change.gained, change.came.len()), (50, MAX_NAMES_SHOWN));
        assert_eq!((change.lost, change.gone.len()), (1, 1));
    }
}
