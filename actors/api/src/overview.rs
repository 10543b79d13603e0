//! The yard in short, as the API shows it.

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use serde::{Deserialize, Serialize};

use crate::instant::Rfc3339;
use crate::status::NodeRole;

/// The yard in short: its troubles and figures, as the first page of the console shows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct OverviewView {
    /// Time of the answer.
    pub at: Millis,
    /// The program's version.
    pub version: String,
    /// Number of the node that answers.
    pub node_id: u64,
    /// Role of this node in the cluster.
    pub role: NodeRole,
    /// Number of the leader that this node knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<u64>,
    /// Current epoch, which is raft's term.
    #[schema(value_type = u64)]
    pub epoch: Epoch,
    /// Number of troubles.
    pub troubles_total: u64,
    /// The worst troubles, at most 100: worst first, then oldest first. Hosts in maintenance are not among them.
    pub troubles: Vec<TroubleView>,
    /// Since when nothing is wrong. Missing while something is wrong, and if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fine_since: Option<Millis>,
    /// Troubles of the last 24 hours that ended. Missing without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cleared: Option<u64>,
    /// Number of inputs that were read.
    pub inputs: u64,
    /// Hosts by state.
    pub hosts: HostFigures,
    /// Copies and the requests that they served.
    pub copies: PlacementFigures,
    /// Disks of all destinations.
    pub disks: DiskTotals,
    /// Links. Missing if the caller may not read shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<LinkFigures>,
    /// Box pools, at most 100. Missing if the caller may not read boxes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pools: Option<Vec<PoolFigures>>,
}

/// A trouble of the yard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct TroubleView {
    /// Urgency.
    pub severity: TroubleSeverity,
    /// Kind, one stable word with underscores: `host_down`, `over_limit`, `not_ready`, ...
    pub kind: String,
    /// Name of the state, in one or two words.
    pub state: String,
    /// The host, input or webhook with the trouble. Missing if it is the node or the whole yard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Begin. Missing if it is not on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Millis>,
    /// The trouble as a sentence.
    pub title: String,
    /// Its consequences, the node's answer to it, and the remedy. May be empty.
    pub detail: String,
    /// Time from which the host is presumed lost if it stays silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<Millis>,
}

/// Urgency of a trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TroubleSeverity {
    /// Viewers or files are affected now.
    Bad,
    /// They will be, or it ends by itself.
    Warn,
}

/// Hosts by state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HostFigures {
    /// All hosts.
    pub total: u64,
    /// Hosts that answer.
    pub up: u64,
    /// Hosts that answer slowly or not always.
    pub suspect: u64,
    /// Hosts that do not answer.
    pub down: u64,
    /// Hosts without an answer or a failure yet. Hosts in maintenance are counted apart.
    pub unknown: u64,
    /// Hosts with a disk over its limit.
    pub over_limit: u64,
    /// Hosts that are being drained.
    pub draining: u64,
    /// Number of hosts in maintenance.
    pub maintenance: u64,
    /// The first 100 hosts in maintenance.
    pub in_maintenance: Vec<String>,
}

/// Copies and the requests that they served.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PlacementFigures {
    /// Copies under way.
    pub running: u64,
    /// Files that wait for a copy.
    pub waiting: u64,
    /// Wanted files that a host holds that answers.
    pub placed: u64,
    /// Files that should be placed: all that are graded or hot, without ignored ones.
    pub wanted: u64,
    /// Hot files.
    pub hot: u64,
    /// Hot files without a copy.
    pub hot_unplaced: u64,
    /// Files whose only copies are on hosts that are down.
    #[serde(default)]
    pub out_of_reach: u64,
    /// Hot ones among them.
    #[serde(default)]
    pub hot_out_of_reach: u64,
    /// Part of the requests of the last hour that copies served, in percent. Missing if none was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_percent: Option<f64>,
    /// The same for the last day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_last_day_percent: Option<f64>,
    /// Files that wait, by the planner's reason, most files first.
    pub waits: Vec<WaitFigures>,
}

/// Files that wait for the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct WaitFigures {
    /// The reason as a sentence.
    pub reason: String,
    /// Number of waiting files.
    pub files: u64,
}

/// Disks of all destinations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct DiskTotals {
    /// Size of all disks in bytes.
    pub size: u64,
    /// Used part of all disks in percent.
    pub used_percent: f64,
    /// Limit of the setting in percent.
    pub limit_percent: f64,
}

/// Links by their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LinkFigures {
    /// Working links.
    pub working: u64,
    /// Working links that end within 24 hours.
    pub due: u64,
    /// The links that end next, at most five.
    pub next: Vec<EndingLink>,
}

/// A link that ends soon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct EndingLink {
    /// Path of the share.
    pub path: String,
    /// Deadline.
    pub expires_at: Rfc3339,
    /// Downloads so far.
    pub downloads: u64,
    /// Largest number of downloads. Missing without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_downloads: Option<u64>,
}

/// A box pool in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PoolFigures {
    /// Name of the pool.
    pub name: String,
    /// All boxes.
    pub size: u64,
    /// Free boxes.
    pub free: u64,
    /// Boxes with a holder, or being prepared for one.
    pub leased: u64,
    /// Boxes being cleaned.
    pub cleaning: u64,
    /// Boxes in quarantine.
    pub quarantined: u64,
    /// Waiting requests.
    pub waiting: u64,
}
