//! Changes, as the event stream reports them.
//!
//! Every event has an `id`, an `event` (its [`ChangeKind`] in words), and in `data` a
//! [`ChangeEvent`] as one line of JSON. This version can get more kinds and more members: a client
//! ignores events of a kind that it does not know.

use super::box_change::BoxChange;
use super::share_change::ShareChange;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::host::BackOffView;
use super::task::TaskView;
use crate::backoff::BackOff;
use crate::clock::Millis;
use crate::event::Epoch;
use crate::heartbeat::Health;
use crate::host::{HostAddr, HostMode, HostRole};
use crate::names::{FileName, ShownName};
use crate::remover::{Ending, Reason};
use crate::task_manager::{Blamed, Stranger};

/// Most names of a long list in one event.
pub const NAMES_TOLD: usize = 10;

/// One change: the `data` of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangeEvent {
    /// Time of the change, by the wall clock of the node or worker that decided or saw it.
    pub time: Millis,
    /// The change itself, tagged with its kind.
    #[serde(flatten)]
    pub change: Change,
}

/// A change that the event stream reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Change {
    /// A copy was planned, has begun or has ended.
    Task(TaskChange),
    /// A host holds more or fewer files.
    Placement(PlacementChange),
    /// Something about a host.
    Host(HostEvent),
    /// An input was read again, or how it is changed.
    Input(InputChange),
    /// Another node leads, or no node does.
    Leadership(LeadershipChange),
    /// A sign that another manager controls hosts of this yard.
    Stranger(Stranger),
    /// A copy is to be removed, or that has ended.
    Removal(RemovalChange),
    /// A file was pinned or unpinned.
    Pin(PinChange),
    /// Something is left alone after failures, or is trusted again.
    BackOff(BackOffChange),
    /// The configuration was read again.
    Configuration(ConfigurationChange),
    /// Something about a share.
    Share(ShareChange),
    /// Something about a box, a lease or a pool.
    Box(BoxChange),
    /// Events were missed: the client must read its lists again.
    Reset(Reset),
}

/// The kinds of changes, for the filter `kinds=`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// [`Change::Task`]
    Task,
    /// [`Change::Placement`]
    Placement,
    /// [`Change::Host`]
    Host,
    /// [`Change::Input`]
    Input,
    /// [`Change::Leadership`]
    Leadership,
    /// [`Change::Stranger`]
    Stranger,
    /// [`Change::Removal`]
    Removal,
    /// [`Change::Pin`]
    Pin,
    /// [`Change::BackOff`]
    BackOff,
    /// [`Change::Configuration`]
    Configuration,
    /// [`Change::Share`]
    Share,
    /// [`Change::Box`]
    Box,
    /// [`Change::Reset`], which is sent whichever kinds the client asked for.
    Reset,
}

impl ChangeKind {
    /// Every kind, in the order of the variants.
    pub const ALL: [ChangeKind; 13] = [
        ChangeKind::Task,
        ChangeKind::Placement,
        ChangeKind::Host,
        ChangeKind::Input,
        ChangeKind::Leadership,
        ChangeKind::Stranger,
        ChangeKind::Removal,
        ChangeKind::Pin,
        ChangeKind::BackOff,
        ChangeKind::Configuration,
        ChangeKind::Share,
        ChangeKind::Box,
        ChangeKind::Reset,
    ];

    /// The kind as its stable word.
    pub fn word(self) -> &'static str {
        match self {
            ChangeKind::Task => "task",
            ChangeKind::Placement => "placement",
            ChangeKind::Host => "host",
            ChangeKind::Input => "input",
            ChangeKind::Leadership => "leadership",
            ChangeKind::Stranger => "stranger",
            ChangeKind::Removal => "removal",
            ChangeKind::Pin => "pin",
            ChangeKind::BackOff => "back_off",
            ChangeKind::Configuration => "configuration",
            ChangeKind::Share => "share",
            ChangeKind::Box => "box",
            ChangeKind::Reset => "reset",
        }
    }
}

impl Change {
    /// Kind of this change, for the filter and the name of the event.
    pub fn kind(&self) -> ChangeKind {
        match self {
            Change::Task(_) => ChangeKind::Task,
            Change::Placement(_) => ChangeKind::Placement,
            Change::Host(_) => ChangeKind::Host,
            Change::Input(_) => ChangeKind::Input,
            Change::Leadership(_) => ChangeKind::Leadership,
            Change::Stranger(_) => ChangeKind::Stranger,
            Change::Removal(_) => ChangeKind::Removal,
            Change::Pin(_) => ChangeKind::Pin,
            Change::BackOff(_) => ChangeKind::BackOff,
            Change::Configuration(_) => ChangeKind::Configuration,
            Change::Share(_) => ChangeKind::Share,
            Change::Box(_) => ChangeKind::Box,
            Change::Reset(_) => ChangeKind::Reset,
        }
    }
}

/// A step in the life of a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TaskChange {
    /// The step that the task took.
    pub step: TaskStep,
    /// The copy, right after it.
    pub task: TaskView,
}

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

/// A host holds more or fewer files than it did, as last confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacementChange {
    /// Destination whose files changed.
    pub host: HostAddr,
    /// Number of files that appeared on the host.
    pub gained: u64,
    /// Number of files that disappeared from the host.
    pub lost: u64,
    /// The first of those that came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub came: Vec<ShownName>,
    /// The first of those that are gone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<ShownName>,
}

impl PlacementChange {
    /// These came to `host`, and those are gone from it.
    pub fn new(host: HostAddr, came: &[FileName], gone: &[FileName]) -> Self {
        let first =
            |names: &[FileName]| names.iter().take(NAMES_TOLD).map(FileName::shown).collect();
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
    /// It answers, or does so no longer.
    Health {
        /// Address of the host.
        host: HostAddr,
        /// Health before the change.
        from: Health,
        /// Health after the change.
        to: Health,
    },
    /// Its back-offs were forgotten on request.
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
        /// The mode that the operator set.
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
    /// The host was silent for so long that its copies no longer count.
    Lost {
        /// Address of the host.
        host: HostAddr,
    },
    /// The host answers again, and its copies count.
    Heard {
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
    /// Other files are hot, or they are so otherwise.
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

/// The leader, as far as this node knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeadershipChange {
    /// The node that leads; missing while no node leads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<u64>,
    /// The epoch in which this node decides; missing while it does not lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
}

/// A copy is to be removed, or that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum RemovalChange {
    /// It was put on record, and its host is about to be asked.
    Intended {
        /// Destination that holds the copy.
        host: HostAddr,
        /// Name of the file.
        file: ShownName,
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
        file: ShownName,
        /// Result of the removal.
        ending: Ending,
    },
}

/// A file was pinned or unpinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PinChange {
    /// Name of the file.
    pub file: ShownName,
    /// Whether it is pinned now.
    pub pinned: bool,
    /// Operator who asked for it, if it is on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

/// A host or file backs off after failures, or is trusted again. At least one of the first three
/// members is present; several mean that they failed only together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackOffChange {
    /// Host that backs off as a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<HostAddr>,
    /// A host as destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<HostAddr>,
    /// File that backs off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ShownName>,
    /// How long, and why. Missing once its failures are forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOffView>,
}

impl BackOffChange {
    /// The present back-off of `blamed`, if there is one.
    pub fn of(blamed: &Blamed, held: Option<&BackOff>) -> Self {
        let (source, destination, file) = match blamed {
            Blamed::Source(host) => (Some(*host), None, None),
            Blamed::Destination(host) => (None, Some(*host), None),
            Blamed::File(name) => (None, None, Some(name.shown())),
            Blamed::Pair(source, destination) => (Some(*source), Some(*destination), None),
        };
        let back_off = held.map(|held| BackOffView {
            until: held.until,
            failures: held.failures,
            reason: held.reason.clone(),
        });
        BackOffChange { source, destination, file, back_off }
    }
}

/// The configuration was read again, and differs. The event holds no values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationChange {
    /// Settings that are in force otherwise from now on.
    pub applied: Vec<String>,
    /// Settings that stay as they were until a restart.
    pub needs_restart: Vec<String>,
}

/// Events were missed: the client must read its lists again. Later events follow this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reset {
    /// Reason why events were missed.
    pub why: Missed,
    /// Number of the first event that follows, for a stream whose events are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
}

/// Why something was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// The id that the client sent is unknown to this process: the node was restarted, or it is
    /// another node.
    OtherProcess,
    /// The events after that id are no longer kept.
    TooOld,
    /// More happened than this reader took.
    TooSlow,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_flat_object_with_its_kind() {
        let host: HostAddr = "127.0.0.21:8888".parse().unwrap();
        let change = Change::Host(HostEvent::Health { host, from: Health::Up, to: Health::Down });
        let event = ChangeEvent { time: Millis(5), change };
        let json = serde_json::to_value(&event).unwrap();
        let expected = serde_json::json!({
            "time": 5, "kind": "host", "what": "health", "host": "127.0.0.21:8888",
            "from": "up", "to": "down",
        });
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<ChangeEvent>(json).unwrap(), event);
    }

    #[test]
    fn a_kind_has_the_same_word_everywhere() {
        for kind in ChangeKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.word());
        }
        let reset = Change::Reset(Reset { why: Missed::TooOld, first: None });
        assert_eq!(serde_json::to_value(&reset).unwrap()["kind"], reset.kind().word());
    }

    #[test]
    fn a_long_list_is_summed_up() {
        let names: Vec<FileName> =
            (0..50).map(|n| FileName::new(format!("{n}.mpg")).unwrap()).collect();
        let host: HostAddr = "127.0.0.21:8888".parse().unwrap();
        let change = PlacementChange::new(host, &names, &names[..1]);
        assert_eq!((change.gained, change.came.len()), (50, NAMES_TOLD));
        assert_eq!((change.lost, change.gone.len()), (1, 1));
    }
}
