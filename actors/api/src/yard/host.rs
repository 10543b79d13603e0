//! A host, as the API shows it.

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::{BitsPerSecond, HostAddr, HostKind, HostMode, HostRole};
use reelyard_core::traffic::Traffic;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_yard::heartbeat::Health;
use reelyard_yard::task_manager::Stranger;
use reelyard_yard::task_manager::plan::LinkSays;
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
    /// Since when it does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent_since: Option<Millis>,
    /// Whether the host was silent for so long that its copies no longer count.
    #[serde(default)]
    pub lost: bool,
    /// How far draining it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<DrainView>,
    /// Program that answers at the host.
    pub kind: HostKind,
    /// Health, by probes and reports.
    pub health: Health,
    /// Time of the last change of health.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_since: Option<Millis>,
    /// How long its last good probe took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<u64>,
    /// Why it could not be asked, the last time it could not, while that still holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Why it and the node do not take each other's calls, because they do not share a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_trouble: Option<String>,
    /// How many files it holds. Missing while that is not known, and for a pure source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<u64>,
    /// Figures of its disk, if it is a destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk: Option<DiskFigures>,
    /// How many bytes it may still take before it reaches its limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<u64>,
    /// When `files` and `disk` were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Millis>,
    /// Copies under way from it.
    pub serving: u32,
    /// Copies under way to it.
    pub fetching: u32,
    /// The most it may send now in all copies together, in bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends_below: Option<BitsPerSecond>,
    /// The most it may receive now, in bits per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receives_below: Option<BitsPerSecond>,
    /// Load of its link. Missing while it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// When that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_at: Option<Millis>,
    /// How busy its link was for a source in the last round of planning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_link: Option<LinkSays>,
    /// How busy its link was for a destination in the last round of planning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination_link: Option<LinkSays>,
    /// Why the configured node_exporter of this host gave no figures at the last try. Missing when
    /// it gave them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_failure: Option<String>,
    /// Present backoff, and why: the one of `breakers` that lasts longest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_off: Option<BackOffView>,
    /// Present backoff or probation, and why: at most one for each of the three breakers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breakers: Vec<BreakerView>,
    /// Signs that another manager controls the host, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strangers: Vec<Stranger>,
}

/// Files of a host, and how many of them must be placed elsewhere before it can leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DrainView {
    /// Files that are still there, as last confirmed.
    pub left: u64,
    /// How many of them no other host holds that counts: hosts that are being drained or are
    /// presumed lost do not.
    pub only_here: u64,
    /// How many of them cannot leave, by reason.
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
    /// It is pinned: no copy of it is removed.
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
    /// Its mode from now on; missing for one that was added or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<HostMode>,
    /// Copies under way from or to it that are taken back.
    pub taken_back: u64,
    /// Files that it holds, and how many exist nowhere else. Missing while that is not known, and for
    /// a pure source.
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
    /// When it ends to be left alone, how many failures led to it, and why.
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
    /// It is left alone until the end.
    Open,
    /// The end has passed: it is tried, one call or copy at a time.
    Probation,
}

/// Result of a reset of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostReset {
    /// How many back-offs of copies there were, those of pairs included.
    pub back_offs: usize,
}

/// A worker obeys this node from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostAdopted {
    /// Address of the adopted worker.
    pub host: HostAddr,
    /// The epoch that counts there from now on.
    #[schema(value_type = u64)]
    pub epoch: Epoch,
    /// The highest epoch that the worker knew before.
    #[schema(value_type = u64)]
    pub before: Epoch,
}

/// How long something is left alone after failures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BackOffView {
    /// End of the back-off.
    pub until: Millis,
    /// How many failures in a row led to it.
    pub failures: u32,
    /// Reason of the last failure.
    pub reason: String,
}
