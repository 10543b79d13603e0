//! A host, as the API shows it.

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::{BitsPerSecond, HostAddr, HostKind, HostMode, HostRole};
use reelyard_core::traffic::Traffic;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::ForeignManager;
use reelyard_yard::task_manager::LinkLoad;
use serde::{Deserialize, Serialize};

/// A host and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostView {
    /// Address of the host, which identifies it.
    pub host: HostAddr,
    /// Role: source, destination or both.
    pub role: HostRole,
    /// Mode that an operator set for it.
    #[serde(default)]
    pub mode: HostMode,
    /// Whether the configuration names it; otherwise it was added at run time.
    #[serde(default)]
    pub configured: bool,
    /// Time since which the host does not answer. Missing while it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Millis>,
    /// Whether the host is presumed lost: its copies no longer count.
    #[serde(default)]
    pub lost: bool,
    /// Progress of the drain. Missing if the host is not drained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<DrainView>,
    /// Program that answers at the host.
    pub kind: HostKind,
    /// Health, by probes and reports.
    pub health: Health,
    /// Time of the last change of health.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_since: Option<Millis>,
    /// Duration of its last good probe, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Error of the last failed probe, or why a list of its files was refused. Missing after a good probe
    /// if no list is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Problem with the token of its worker: the host or the node refuses calls because of it. Missing if
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_trouble: Option<String>,
    /// Number of files on it. Missing while it is unknown, and for a pure source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Figures of its disk, if it is a destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskFigures>,
    /// Free bytes below its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u64>,
    /// Time of the last answer for `files` and `disk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Millis>,
    /// Copies under way from it.
    pub serving: u32,
    /// Copies under way to it.
    pub fetching: u32,
    /// Current limit for all copies from it together, in bits per second. Missing for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends_below: Option<BitsPerSecond>,
    /// Current limit for all copies to it together, in bits per second. Missing for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receives_below: Option<BitsPerSecond>,
    /// Load of its link. Missing while it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// Time of that load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_at: Option<Millis>,
    /// Load of its link as a source in the last round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_link: Option<LinkLoad>,
    /// Load of its link as a destination in the last round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_link: Option<LinkLoad>,
    /// Error of the last call to the node_exporter of this host. Missing after a good call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_failure: Option<String>,
    /// Current backoff, and why: the one of `breakers` that lasts longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOffView>,
    /// Current backoff or probation, and why: at most one for each of the three breakers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<BreakerView>,
    /// Signs that another manager controls the host, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_managers: Vec<ForeignManager>,
}

/// Files of a host, and how many of them must be placed elsewhere before it can leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DrainView {
    /// Files that are still there, as last confirmed.
    pub left: u64,
    /// Files without a copy on another host. Hosts that are drained or presumed lost do not count.
    pub only_here: u64,
    /// Files that cannot leave, by reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stays: Vec<StaysView>,
}

/// Files that cannot leave a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StaysView {
    /// Reason why these files stay.
    pub why: Stays,
    /// Number of files with this reason.
    pub files: u64,
}

/// Why a file cannot leave a host.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stays {
    /// Its name begins with an ignored prefix: such files are never placed and never removed.
    #[error("its name begins with an ignored prefix")]
    Ignored,
    /// No source directory lists it: there is nothing to copy it from.
    #[error("it has no master")]
    NoMaster,
    /// An operator pinned it: no copy of it is removed.
    #[error("it is pinned")]
    Pinned,
}

/// The body of `PUT /hosts/{host}/mode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedMode {
    /// The mode that the host gets.
    pub mode: HostMode,
}

/// The body of `PUT /hosts/{host}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedRole {
    /// The role that the host gets.
    pub role: HostRole,
}

/// Effects of a change of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostChange {
    /// Address of the host.
    pub host: HostAddr,
    /// New mode. Missing for a host that was added or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<HostMode>,
    /// Running copies from or to it that the change cancels.
    pub taken_back: u64,
    /// Files on it, and how many of them exist on no other host. Missing while that is unknown, and for a
    /// pure source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<DrainView>,
}

/// A breaker that is not closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BreakerView {
    /// Direction of the copies that the breaker stops.
    pub of: BreakerOf,
    /// State of the circuit breaker.
    pub state: BreakerState,
    /// End of the backoff, failures and reason.
    #[serde(flatten)]
    pub back_off: BackOffView,
}

/// Direction of the copies that a breaker stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BreakerOf {
    /// Copies that read from the host.
    Source,
    /// Copies that write to the host.
    Destination,
    /// Calls to it, although it answers its probes.
    Calls,
}

/// State of a breaker that is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum BreakerState {
    /// The host gets no calls until the end of the backoff.
    Open,
    /// Probation after the backoff: one call or copy at a time.
    Probation,
}

/// Result of a reset of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostReset {
    /// Number of removed backoffs of copies, including those of pairs.
    pub back_offs: usize,
}

/// Result of a probe that a person asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostProbed {
    /// Address of the host.
    pub host: HostAddr,
    /// Its health after the probe. One probe alone may not change it.
    pub health: Health,
    /// How long the answer took, in milliseconds. It is absent if the host did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Why the host did not answer. It is absent if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Misses since the last answer.
    pub misses_in_a_row: u32,
}

/// A worker obeys this node from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostAdopted {
    /// Address of the adopted worker.
    pub host: HostAddr,
    /// Epoch that the worker obeys from now on.
    #[schema(value_type = u64)]
    pub epoch: Epoch,
    /// The highest epoch that the worker knew before.
    #[schema(value_type = u64)]
    pub before: Epoch,
}

/// A backoff after failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BackOffView {
    /// End of the backoff.
    pub until: Millis,
    /// Number of failures in a row.
    pub failures: u32,
    /// Reason of the last failure.
    pub reason: String,
}
