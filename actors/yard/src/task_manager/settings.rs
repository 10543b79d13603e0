//! Settings of planning and of the life of tasks.

use std::time::Duration;

use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::settings::Percent;

use crate::bandwidth::Bandwidth;
use crate::settings::YardConfig;
use crate::settings::calls::{CallConfig, traffic_fresh_for};
use crate::settings::copies::CopiesWanted;
pub use crate::settings::copies::PlanningMode;
use crate::settings::placement::PlacementConfig;
pub use crate::settings::placement::{PlacementPolicy, Weights};

/// One host as configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostSetting {
    /// Its address, which is its identity.
    pub addr: HostAddr,
    /// Whether it is a source, a destination or both.
    pub role: HostRole,
}

/// How links are planned with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRules {
    /// The weight of a free link in relation to room.
    pub weights: Weights,
    /// The percentage of a source's link above which it serves no new copies. None: no mark.
    pub source_mark_percent: Option<u32>,
    /// The percentage of a destination's link above which it gets no new copies. None: no mark.
    pub destination_mark_percent: Option<u32>,
    /// The age at which the figures of a link become unknown.
    pub fresh_for: Duration,
}

impl LinkRules {
    fn of(placement: &PlacementConfig, calls: &CallConfig) -> Self {
        LinkRules {
            weights: placement.weights,
            source_mark_percent: placement.source_traffic_mark_percent.map(Percent::get),
            destination_mark_percent: placement.destination_traffic_mark_percent.map(Percent::get),
            fresh_for: traffic_fresh_for(calls.traffic_interval),
        }
    }
}

impl Default for LinkRules {
    fn default() -> Self {
        LinkRules::of(&PlacementConfig::default(), &CallConfig::default())
    }
}

/// All settings of the TaskManager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSettings {
    /// Whether new copies are planned.
    pub mode: PlanningMode,
    /// Whether a new leader compares its inputs with those on record before it plans.
    pub check_inputs: bool,
    /// The number of copies that one source serves at a time; at least 1.
    pub copies_per_source: usize,
    /// How copies are spread over the destinations.
    pub placement: PlacementPolicy,
    /// How planning considers the links of hosts.
    pub links: LinkRules,
    /// How long a working task of a Reelyard worker may give no sign of life. For an old cfw, which gives
    /// none, it is the least time of a copy.
    pub timeout: Duration,
    /// How long a ready task may wait for its destination to begin.
    pub pickup_timeout: Duration,
    /// The rate limits of copies and hosts.
    pub bandwidth: Bandwidth,
    /// The backoff of hosts, files and pairs after failures.
    pub back_off: ExponentialBackoff,
    /// How long an ended task is kept in the list.
    pub keep_ended: Duration,
    /// The largest number of ended tasks in the list; the oldest are removed first.
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
    /// The wanted number of copies of a file.
    pub copies: CopiesWanted,
    /// The longest first wait of planning for a destination that answers but whose list was never read, in
    /// this run or an earlier one. Any file may be there. The wait avoids a second copy of files that only
    /// such a host has. If the host takes longer, such copies are made, and the Remover removes all but one
    /// after the host was listed. Before that, nothing is copied to the host.
    pub first_look: Duration,
    /// How long the result of a master's check (its directory and size) is valid for planning.
    pub look_fresh_for: Duration,
    /// How long after a failed look or refresh the same is requested again.
    pub ask_again_after: Duration,
}

/// Most ended tasks in the list.
const KEEP_ENDED_COUNT: usize = 1000;

/// How long planning waits at first for the inventory of a destination.
const FIRST_LOOK: Duration = Duration::from_secs(5);

/// How long the result of a master's check is valid, and when a failed one is repeated.
const LOOK_FRESH_FOR: Duration = Duration::from_secs(5 * 60);
const ASK_AGAIN_AFTER: Duration = Duration::from_secs(5);

impl TaskSettings {
    /// The settings of an operator.
    pub fn of(config: &YardConfig) -> Self {
        let task = &config.task;
        TaskSettings {
            mode: task.mode,
            check_inputs: task.check_inputs,
            copies_per_source: task.copies_per_source.get() as usize,
            placement: task.placement,
            links: LinkRules::of(&config.placement, &config.calls),
            timeout: task.timeout,
            pickup_timeout: task.pickup_timeout,
            bandwidth: Bandwidth {
                copy: task.copy_speed.clone().unwrap_or_default(),
                sources: config.bandwidth.sources.clone(),
                destinations: config.bandwidth.destinations.clone(),
                zone: config.bandwidth.time_zone.zone().clone(),
            },
            back_off: ExponentialBackoff { base: task.back_off_base, cap: task.back_off_cap },
            keep_ended: task.keep_ended,
            keep_ended_count: KEEP_ENDED_COUNT,
            keep_history: config.history.keep.get(),
            ignore_prefixes: config.ignored_prefixes(),
            ungraded_hot: config.catalog.ungraded_hot,
            storage_limit_percent: config.storage.limit_percent.get(),
            presumed_lost_after: config.hosts.presumed_lost_after,
            fill_percent: config.storage.low_water(),
            copies: config.copies_wanted(),
            first_look: FIRST_LOOK,
            look_fresh_for: LOOK_FRESH_FOR,
            ask_again_after: ASK_AGAIN_AFTER,
        }
    }
}

impl Default for TaskSettings {
    fn default() -> Self {
        TaskSettings::of(&YardConfig::default())
    }
}
