//! What changes, as the stream of events tells it.
//!
//! Every event has an `id`, an `event` (its [`ChangeKind`] in words), and in `data` a
//! [`ChangeEvent`] as one line of JSON. Kinds, and members of them, can be added in this version:
//! who reads an event of a kind that it does not know leaves it aside.

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

/// How many names of a long list an event tells.
pub const NAMES_TOLD: usize = 10;

/// One change: the `data` of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangeEvent {
    /// When it happened, by the clock of whoever decided or saw it.
    pub time: Millis,
    /// What changed.
    #[serde(flatten)]
    pub change: Change,
}

/// What changed.
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
    /// Who leads.
    Leadership(LeadershipChange),
    /// A sign that somebody else manages this yard too.
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
    /// Something was missed: what is known from lists is to be read again.
    Reset(Reset),
}

/// The kinds of changes.
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
    /// [`Change::Reset`], which is told whatever kinds are asked for.
    Reset,
}

impl ChangeKind {
    /// Every kind.
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
    /// Its kind.
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
    /// Which step.
    pub step: TaskStep,
    /// The copy, right after it.
    pub task: TaskView,
}

/// The steps in the life of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStep {
    /// It was planned.
    Created,
    /// Its destination has begun.
    Began,
    /// It has ended: how and why is told by its state, reason and blame.
    Ended,
}

/// A host holds more or fewer files than it did, as last confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlacementChange {
    /// The host.
    pub host: HostAddr,
    /// How many files came.
    pub gained: u64,
    /// How many are gone.
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
        /// The host.
        host: HostAddr,
        /// Its health before.
        from: Health,
        /// Its health now.
        to: Health,
    },
    /// Its back-offs were forgotten on request.
    Reset {
        /// The host.
        host: HostAddr,
        /// Who asked.
        asked_by: String,
        /// How many back-offs there were.
        back_offs: u64,
    },
    /// Its mode was set.
    Mode {
        /// The host.
        host: HostAddr,
        /// Its mode now.
        mode: HostMode,
        /// Who asked.
        asked_by: String,
    },
    /// It was added, or given another role.
    Added {
        /// The host.
        host: HostAddr,
        /// What it is for.
        role: HostRole,
        /// Who asked.
        asked_by: String,
    },
    /// It was removed.
    Removed {
        /// The host.
        host: HostAddr,
        /// Who asked.
        asked_by: String,
    },
    /// It has been silent for so long that what it holds counts no longer.
    Lost {
        /// The host.
        host: HostAddr,
    },
    /// It is heard of again, and what it holds counts.
    Heard {
        /// The host.
        host: HostAddr,
    },
}

/// An input was read again, or how it is changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum InputChange {
    /// There is a new ranking.
    Ranking {
        /// Files in it.
        files: u64,
        /// Rows that could not be read.
        bad_rows: u64,
    },
    /// Other masters are in the source directories.
    Masters {
        /// How many there are.
        files: u64,
    },
    /// Other files are hot, or they are so otherwise.
    Hot {
        /// How many there are.
        files: u64,
    },
    /// An input cannot be used: its last good state stays in use.
    Unusable {
        /// Which, and why.
        problem: String,
    },
    /// It can be used again.
    Usable {
        /// What was wrong.
        problem: String,
    },
}

/// Who leads, as far as this node knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeadershipChange {
    /// The node that leads; missing while nobody does.
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
        /// On which host.
        host: HostAddr,
        /// The file.
        file: ShownName,
        /// Why.
        reason: Reason,
        /// The same in words.
        why: String,
        /// Whose copy stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keeper: Option<HostAddr>,
        /// Who wants it.
        asked_by: String,
    },
    /// It has ended.
    Ended {
        /// On which host.
        host: HostAddr,
        /// The file.
        file: ShownName,
        /// What came of it.
        ending: Ending,
    },
}

/// A file was pinned or unpinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PinChange {
    /// The file.
    pub file: ShownName,
    /// Whether it is pinned now.
    pub pinned: bool,
    /// Who asked, where that is on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

/// Who or what is left alone after failures, and until when; or is trusted again. At least one of
/// the first three is there; several are for what fails only together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackOffChange {
    /// A host as source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<HostAddr>,
    /// A host as destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<HostAddr>,
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ShownName>,
    /// How long, and why. Missing once its failures are forgotten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOffView>,
}

impl BackOffChange {
    /// What is held against `blamed` now.
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

/// The configuration was read again, and differs. No value is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationChange {
    /// Settings that are in force otherwise from now on.
    pub applied: Vec<String>,
    /// Settings that stay as they were until a restart.
    pub needs_restart: Vec<String>,
}

/// Something was missed: what is known from lists is to be read again. Changes after that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reset {
    /// Why.
    pub why: Missed,
    /// Where happenings are told that are kept, the number of the first that follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<u64>,
}

/// Why something was missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// The id that was asked for is none of this process: the node was started anew, or it is
    /// another one.
    OtherProcess,
    /// What came after that id is not kept any more.
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
