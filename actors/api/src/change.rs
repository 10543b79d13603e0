//! Changes, as the event stream reports them.
//!
//! Every event has an `id`, an `event` (its [`ChangeKind`] in words), and in `data` a
//! [`ChangeEvent`] as one line of JSON. This version can get more kinds and more members: a client
//! ignores events of a kind that it does not know.

use reelyard_boxes::box_lease::BoxChange;
use reelyard_core::backoff::BackOff;
use reelyard_core::change_feed::Missed;
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::names::NameText;
use reelyard_shares::share_expiry::{ShareChange, ShareNotification};
use reelyard_yard::changes::{
    HostEvent, InputChange, PinChange, PlacementChange, RemovalChange, TaskStep, YardChange,
};
use reelyard_yard::task_manager::{Blamed, ForeignManager};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::yard::host::BackOffView;
use crate::yard::task::TaskView;

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
    /// A host changed its health, mode, role or another property.
    Host(HostEvent),
    /// An input was read again, or its state changed.
    Input(InputChange),
    /// The leader changed, or no node is the leader.
    Leadership(LeadershipChange),
    /// A sign that another manager controls hosts of this yard.
    ForeignManager(ForeignManager),
    /// The removal of a copy was decided or has ended.
    Removal(RemovalChange),
    /// A file was pinned or unpinned.
    Pin(PinChange),
    /// A host or file backs off after failures, or its backoff ended.
    BackOff(BackOffChange),
    /// The configuration was read again.
    Configuration(ConfigurationChange),
    /// A share was created, changed or ended, or was used.
    Share(ShareChange),
    /// A box, a lease or a pool changed.
    Box(BoxChange),
    /// Events were missed: the client must read its lists again.
    Reset(Reset),
}

impl From<YardChange> for Change {
    fn from(change: YardChange) -> Self {
        match change {
            YardChange::Task { step, task } => {
                Change::Task(TaskChange { step, task: TaskView::of(&task, None, task.copy_speed) })
            }
            YardChange::Placement(change) => Change::Placement(change),
            YardChange::Host(event) => Change::Host(event),
            YardChange::Input(change) => Change::Input(change),
            YardChange::ForeignManager(sign) => Change::ForeignManager(sign),
            YardChange::Removal(change) => Change::Removal(change),
            YardChange::Pin(change) => Change::Pin(change),
            YardChange::BackOff { blamed, held } => {
                Change::BackOff(BackOffChange::from((&blamed, held.as_ref())))
            }
        }
    }
}

impl From<ShareChange> for Change {
    fn from(change: ShareChange) -> Self {
        Change::Share(change)
    }
}

impl From<BoxChange> for Change {
    fn from(change: BoxChange) -> Self {
        Change::Box(change)
    }
}

impl<C> From<(Millis, C)> for ChangeEvent
where
    Change: From<C>,
{
    fn from((time, change): (Millis, C)) -> Self {
        ChangeEvent { time, change: Change::from(change) }
    }
}

impl From<ShareNotification> for ChangeEvent {
    /// The event that webhooks and event streams report.
    fn from(notification: ShareNotification) -> Self {
        let time = notification.at;
        ChangeEvent { time, change: Change::Share(ShareChange::from(notification)) }
    }
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
    /// [`Change::ForeignManager`]
    ForeignManager,
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
    /// [`Change::Reset`]. It is sent with every filter.
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
        ChangeKind::ForeignManager,
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
            ChangeKind::ForeignManager => "foreign_manager",
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
            Change::ForeignManager(_) => ChangeKind::ForeignManager,
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
    /// The new step of the task.
    pub step: TaskStep,
    /// The task right after this step.
    pub task: TaskView,
}

/// The leader, as far as this node knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeadershipChange {
    /// Number of the leader. Missing while no node is the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<u64>,
    /// Epoch of this node as leader. Missing while it is not the leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch: Option<Epoch>,
}

/// A host or file backs off after failures, or is trusted again. At least one of the first three
/// members is present; several mean that they failed only together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackOffChange {
    /// Host that backs off as a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<HostAddr>,
    /// Host that backs off as a destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<HostAddr>,
    /// File that backs off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<NameText>,
    /// End and reason of the backoff. Missing after its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOffView>,
}

impl From<(&Blamed, Option<&BackOff>)> for BackOffChange {
    /// The current backoff of the blamed target, if there is one.
    fn from((blamed, held): (&Blamed, Option<&BackOff>)) -> Self {
        let (source, destination, file) = match blamed {
            Blamed::Source(host) => (Some(*host), None, None),
            Blamed::Destination(host) => (None, Some(*host), None),
            Blamed::File(name) => (None, None, Some(name.to_text())),
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

/// The configuration was read again and has changed. The event holds no values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConfigurationChange {
    /// Settings with a new value in use.
    pub applied: Vec<String>,
    /// Settings whose new value needs a restart.
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

#[cfg(test)]
mod tests {
    use reelyard_yard::heartbeat::Health;

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
}
