//! What an operator can set of planning and of the life of tasks.

use std::time::Duration;

use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::host::{HostAddr, HostRole};

use crate::bandwidth::Bandwidth;
use crate::catalog::ranking::CopiesWanted;

/// One host as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSetting {
    /// Its address, which is its identity.
    pub addr: HostAddr,
    /// Whether it is a source, a destination or both.
    pub role: HostRole,
}

/// How copies are distributed over the destinations that can take them. In both modes an idle
/// destination comes before a busy one, and no destination gets a file that does not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlacementPolicy {
    /// To the one with the most room.
    #[default]
    Room,
    /// In turns, as cfm does it.
    Ring,
}

/// Whether new copies are planned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlanningMode {
    /// Copies are planned and carried out.
    #[default]
    On,
    /// No copies are planned. Copies under way continue, and an operator can still request a copy.
    Off,
}

/// The weights of room and link load in the choice of the destination (with [`PlacementPolicy::Room`]).
/// At least one is not 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Its room, as a share of that of the roomiest destination.
    pub room: u32,
    /// What of its link is free, as a share of its speed.
    pub traffic: u32,
}

impl Default for Weights {
    /// Only room counts.
    fn default() -> Self {
        Weights { room: 1, traffic: 0 }
    }
}

/// How links are planned with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRules {
    /// How much a free link counts beside room.
    pub weights: Weights,
    /// A source of whose link so much is used serves no new copies, in percent. None: no mark.
    pub source_mark_percent: Option<u32>,
    /// A destination of whose link so much is used gets no new copies, in percent. None: no mark.
    pub destination_mark_percent: Option<u32>,
    /// The age at which the figures of a link become unknown.
    pub fresh_for: Duration,
}

impl Default for LinkRules {
    fn default() -> Self {
        LinkRules {
            weights: Weights::default(),
            source_mark_percent: None,
            destination_mark_percent: None,
            fresh_for: Duration::from_secs(40),
        }
    }
}

/// Everything that can be set of the TaskManager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSettings {
    /// Whether new copies are planned.
    pub mode: PlanningMode,
    /// How many copies one source serves at a time; at least 1.
    pub copies_per_source: usize,
    /// How copies are spread over the destinations.
    pub placement: PlacementPolicy,
    /// How hosts' links are planned with.
    pub links: LinkRules,
    /// How long a working task of one of our workers may give no sign of life. For an old cfw,
    /// which gives none, it is the least that any copy is allowed.
    pub timeout: Duration,
    /// How long a ready task may wait for its destination to begin.
    pub pickup_timeout: Duration,
    /// The rate limits of copies and hosts.
    pub bandwidth: Bandwidth,
    /// The backoff of hosts, files and pairs after failures.
    pub back_off: ExponentialBackoff,
    /// How long an ended task is kept in the list.
    pub keep_ended: Duration,
    /// How many ended tasks are kept in the list at most; the oldest are removed first.
    pub keep_ended_count: usize,
    /// How many ended copies the history remembers.
    pub keep_history: u64,
    /// Names that begin with one of these are never placed (advertisements).
    pub ignore_prefixes: Vec<Vec<u8>>,
    /// Whether a hot file without a grade is placed.
    pub ungraded_hot: bool,
    /// How much of a destination's disk may be in use, in percent.
    pub storage_limit_percent: u32,
    /// The length of silence after which a host counts as lost, and its copies no longer count.
    pub presumed_lost_after: Duration,
    /// How far files that are not hot fill a destination's disk, in percent; no further than the
    /// limit.
    pub fill_percent: u32,
    /// How many copies of a file there should be.
    pub copies: CopiesWanted,
    /// How long planning waits at first for a destination that answers but whose inventory was
    /// never read, in this run or an earlier one: any file might be there. The wait saves a second
    /// copy of what such a host holds and only it knows. A host that is slower than this costs
    /// such copies: the Remover takes all but one off again once the host was listed. Nothing is
    /// copied to that host before.
    pub first_look: Duration,
    /// How long the result of a master's check (its directory and size) is valid for planning.
    pub look_fresh_for: Duration,
    /// How long after a look or a refresh that failed the same is asked again.
    pub ask_again_after: Duration,
}

impl Default for TaskSettings {
    fn default() -> Self {
        TaskSettings {
            mode: PlanningMode::On,
            copies_per_source: 1,
            placement: PlacementPolicy::Room,
            links: LinkRules::default(),
            timeout: Duration::from_secs(60 * 60),
            pickup_timeout: Duration::from_secs(2 * 60),
            bandwidth: Bandwidth::default(),
            back_off: ExponentialBackoff {
                base: Duration::from_secs(10),
                cap: Duration::from_secs(30 * 60),
            },
            keep_ended: Duration::from_secs(60 * 60),
            keep_ended_count: 1000,
            keep_history: 10_000,
            ignore_prefixes: Vec::new(),
            ungraded_hot: false,
            storage_limit_percent: 90,
            fill_percent: 85,
            copies: CopiesWanted::default(),
            presumed_lost_after: Duration::from_secs(3 * 24 * 60 * 60),
            first_look: Duration::from_secs(5),
            look_fresh_for: Duration::from_secs(5 * 60),
            ask_again_after: Duration::from_secs(5),
        }
    }
}
