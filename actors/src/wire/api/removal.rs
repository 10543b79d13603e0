//! Removals, pins and the history, as the API shows them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::host::HostAddr;
use crate::names::ShownName;
use crate::remover::{
    Ending, Reason, Relief, RemovalMode, RemoverCounters, RemoverWaits, RoomVerdict, Spared,
};
use crate::task_manager::TaskState;
use crate::wire::worker::{Blame, TaskId};

/// What the Remover does: answer of `GET /api/v1/removals`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RemovalsView {
    /// Whether copies are removed.
    pub mode: RemovalMode,
    /// Copies that are to go: put on record, their hosts asked or about to be.
    pub open: Vec<RemovalView>,
    /// When all copies were last looked at. Missing on a follower, and before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Millis>,
    /// How long that took, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_us: Option<u64>,
    /// What that look decided of copies that were to go. In a dry run nothing of it is done.
    pub decided: Vec<RemovalView>,
    /// How many copies stay that were looked at, by reason.
    pub spared: BTreeMap<Spared, u64>,
    /// Destinations over their limits.
    pub reliefs: BTreeMap<HostAddr, Relief>,
    /// Hot files that fit nowhere, and what is done about each.
    #[serde(default)]
    pub rooms: Vec<RoomSoughtView>,
    /// Why nothing was decided at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<RemoverWaits>,
    /// What this node did while it led, since it was started.
    pub counters: RemoverCounters,
}

/// One copy that goes, or was to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RemovalView {
    /// The file.
    #[serde(flatten)]
    pub name: ShownName,
    /// On which host.
    pub host: HostAddr,
    /// Its size in bytes, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Why, with the numbers that decided.
    pub reason: Reason,
    /// The same in words.
    pub why: String,
    /// Whose copy stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<HostAddr>,
    /// Who wants it. Missing where that is the Remover itself and nothing was put on record yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// When it was put on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Millis>,
    /// Why it stays after all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spared: Option<Spared>,
}

/// A hot file that fits on no destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RoomSoughtView {
    /// The file.
    #[serde(flatten)]
    pub name: ShownName,
    /// Its size in bytes.
    pub size: u64,
    /// Its rising hits.
    pub hits: u32,
    /// What is done about it, with the numbers that decided.
    pub verdict: RoomVerdict,
    /// The same in words.
    pub why: String,
}

/// A file of which no copy is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PinView {
    /// The file.
    #[serde(flatten)]
    pub name: ShownName,
    /// Who said so.
    pub asked_by: String,
    /// When.
    pub since: Millis,
}

/// What came of pinning or unpinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct PinSet {
    /// Whether the file is pinned now.
    pub pinned: bool,
    /// Whether that was otherwise before.
    pub changed: bool,
}

/// One line of the history: a copy or a removal that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct HistoryLine {
    /// When it ended.
    pub at: Millis,
    /// The file.
    #[serde(flatten)]
    pub name: ShownName,
    /// The host that the copy came to or went from.
    pub host: HostAddr,
    /// Its size in bytes, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When it was decided.
    pub decided: Millis,
    /// Who asked for it: a name, or `planner` or `remover`.
    pub asked_by: String,
    /// What happened.
    #[serde(flatten)]
    pub what: Happened,
}

/// What a line of the history is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "what", rename_all = "lowercase")]
pub enum Happened {
    /// A copy was made, or not.
    Copy {
        /// Its task.
        #[serde(with = "super::task::id_in_text")]
        #[schema(value_type = String)]
        task: TaskId,
        /// Where it came from.
        source: HostAddr,
        /// How it ended.
        state: TaskState,
        /// Rank when planned, 1 = best. Missing without a grade.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rank: Option<u32>,
        /// Rising hits when planned.
        hits: u32,
        /// Why it ended without success, or what is to be said of a success.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        detail: Option<String>,
        /// Who was blamed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blame: Option<Blame>,
    },
    /// A copy was removed, or not.
    Removal {
        /// Why, with the numbers that decided.
        reason: Reason,
        /// The same in words.
        why: String,
        /// Whose copy was to stay.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        keeper: Option<HostAddr>,
        /// What came of it.
        ending: Ending,
    },
}
