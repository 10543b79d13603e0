//! The last round of planning, as the API shows it.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::NameText;
use reelyard_protocol::task_id_text::id_in_text;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::catalog::popularity::served_requests::ServedShares;
use serde::{Deserialize, Serialize};

use super::host::BackOffView;
use super::removal::RemovalView;

/// The last round of planning, and the obstacles to further copies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PlanView {
    /// Time of the last round. Missing before the first round; then all lists are empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
    /// Duration of the round, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// The copies that are planned or under way, best first: at most 200. `GET /tasks?state=open` lists all.
    pub planned: Vec<PlannedCopy>,
    /// Number of copies that are planned or under way.
    #[serde(default)]
    pub planned_total: u64,
    /// Copies planned for removal, at most 200. A dry run does not remove them. `GET /removals/copies` lists all.
    pub removals: Vec<RemovalView>,
    /// Number of copies planned for removal.
    #[serde(default)]
    pub removals_total: u64,
    /// Files that the round skipped, by reason.
    pub skipped: Vec<Skipped>,
    /// Hosts and files that back off after failures, at most 200. `GET /plan/back-offs` lists all.
    pub back_offs: Vec<BackedOff>,
    /// Number of hosts and files that back off.
    #[serde(default)]
    pub back_offs_total: u64,
    /// Number of files that wait for a source or a destination.
    pub waiting: u64,
    /// Share of requests that destinations served from their copies, by the event log.
    #[serde(default)]
    pub served: ServedShares,
    /// Reason why no copy can be planned. Missing if copies can be planned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked: Option<String>,
    /// Messages about destinations that answer but have not listed their files since the node started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<String>,
}

/// A copy as it was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PlannedCopy {
    /// Id of the task.
    #[serde(with = "id_in_text")]
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// Its rank, 1 = best. Missing for a hot file without a grade.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Its rising hits; 0 when it was planned by its grade.
    pub hits: u32,
    /// Source of the copy.
    pub source: HostAddr,
    /// Destination of the copy.
    pub destination: HostAddr,
    /// Size of the file in bytes.
    pub size: u64,
}

/// The files that a round skipped for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Skipped {
    /// The reason, one stable word with underscores: `placed`, `ignored`, `no_master`, ...
    pub reason: String,
    /// Number of skipped files with this reason.
    pub files: u64,
    /// The file with the best grade among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<NameText>,
}

/// A host or file that backs off after failures. At least one of the three members is present;
/// several mean that they failed only together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BackedOff {
    /// Host that backs off as a source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<HostAddr>,
    /// Host that backs off as a destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<HostAddr>,
    /// File that backs off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<NameText>,
    /// End of the back-off, failures and reason.
    #[serde(flatten)]
    pub back_off: BackOffView,
}
