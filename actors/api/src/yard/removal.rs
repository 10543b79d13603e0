//! Removals, pins and the history, as the API shows them.

use std::collections::BTreeMap;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::NameText;
use reelyard_protocol::worker::{Blame, TaskId};
use reelyard_yard::remover::{
    Ending, ExchangeBudget, Reason, Relief, RemovalMode, RemoverCounters, RemoverWaits,
    RoomVerdict, Spared,
};
use reelyard_yard::task_manager::TaskState;
use serde::{Deserialize, Serialize};

/// State of the Remover: answer of `GET /api/v1/removals`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RemovalsView {
    /// Whether copies are removed.
    pub mode: RemovalMode,
    /// Removals in the journal that have not ended, at most 200. `GET /removals/copies` lists all.
    pub open: Vec<RemovalView>,
    /// Number of removals that have not ended.
    #[serde(default)]
    pub open_total: u64,
    /// When all copies were last checked. Missing on a follower, and before the first check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
    /// Duration of that look, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// Removals that the last pass decided, at most 200. A dry run executes none of them. `GET /removals/copies` lists
    /// all.
    pub decided: Vec<RemovalView>,
    /// Number of removals that the last pass decided.
    #[serde(default)]
    pub decided_total: u64,
    /// Number of copies that stay, by reason.
    pub spared: BTreeMap<Spared, u64>,
    /// Destinations over their limits.
    pub reliefs: BTreeMap<HostAddr, Relief>,
    /// Hot files that fit on no destination, with the decision for each: at most 200.
    #[serde(default)]
    pub rooms: Vec<RoomSoughtView>,
    /// Number of hot files that fit on no destination.
    #[serde(default)]
    pub rooms_total: u64,
    /// Limit of exchanges in 24 hours, and the rest of it. Missing without exchanges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange_budget: Option<ExchangeBudget>,
    /// Reason why the last look decided nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<RemoverWaits>,
    /// Counters of this node for its times as leader, since its start.
    pub counters: RemoverCounters,
}

/// One removal of a copy, decided or intended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RemovalView {
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// Destination that holds the copy.
    pub host: HostAddr,
    /// Its size in bytes. Missing if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Reason, with the numbers of the decision.
    pub reason: Reason,
    /// Reason as a sentence.
    pub why: String,
    /// Host whose copy stays, for a surplus copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<HostAddr>,
    /// Operator or part of the node that asked for it. Missing for an intention of the Remover that
    /// is not recorded yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// Time when the removal was written to the journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Millis>,
    /// Reason why the copy stays after all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spared: Option<Spared>,
}

/// A file that fits on no destination: a hot one, or one with much demand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RoomSoughtView {
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// Size of the file in bytes.
    pub size: u64,
    /// Rising hits of the file. 0 if only its demand counts.
    pub hits: u32,
    /// The decision, with the numbers behind it.
    pub verdict: RoomVerdict,
    /// Reason as a sentence.
    pub why: String,
}

/// A pinned file: no copy of it is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PinView {
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// Operator who pinned it.
    pub asked_by: String,
    /// Time of the pin.
    pub since: Millis,
}

/// Result of pinning or unpinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PinSet {
    /// Whether the file is pinned now.
    pub pinned: bool,
    /// Whether this request changed it.
    pub changed: bool,
}

/// One line of the history: a copy or a removal that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HistoryLine {
    /// Time of the end.
    pub at: Millis,
    /// Name of the file.
    #[serde(flatten)]
    pub name: NameText,
    /// Destination of the copy, or host that the copy was removed from.
    pub host: HostAddr,
    /// Its size in bytes. Missing if it is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Time of the decision.
    pub decided: Millis,
    /// Name of the requester, or `planner` or `remover`.
    pub asked_by: String,
    /// Task or removal that ended, with its result.
    #[serde(flatten)]
    pub what: HistoryEntry,
}

/// The task or removal that a line of the history describes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum HistoryEntry {
    /// A copy ended, with or without success.
    Copy {
        /// Id of the task.
        #[serde(with = "reelyard_protocol::task_id_text::id_in_text")]
        #[schema(value_type = String)]
        task: TaskId,
        /// Source of the copy.
        source: HostAddr,
        /// State at the end.
        state: TaskState,
        /// Rank when planned, 1 = best. Missing without a grade.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rank: Option<u32>,
        /// Rising hits when planned.
        hits: u32,
        /// Why it ended without success, or a remark about a success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Host or file that was blamed for the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blame: Option<Blame>,
    },
    /// A removal ended, with or without success.
    Removal {
        /// Reason, with the numbers of the decision.
        reason: Reason,
        /// Reason as a sentence.
        why: String,
        /// Host whose copy stays, for a surplus copy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keeper: Option<HostAddr>,
        /// Result of the removal.
        ending: Ending,
    },
}
