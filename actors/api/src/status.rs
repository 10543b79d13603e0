//! State of a node, as the API shows it.

use std::collections::BTreeMap;

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use serde::{Deserialize, Serialize};

/// State of a node: its inputs, its journal, its actors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StatusView {
    /// The program's version.
    pub version: String,
    /// Number of the node in the cluster.
    pub node_id: u64,
    /// When the process started.
    pub started: Millis,
    /// Whether the node is ready. If not, `not_ready` has the reasons.
    pub ready: bool,
    /// Reasons why the node is not ready; empty when it is ready.
    pub not_ready: Vec<String>,
    /// Warnings that do not affect readiness: signs that another node or cfm manages the yard too.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// State of each input file of the planner.
    pub inputs: Vec<InputView>,
    /// State of this node's journal.
    pub journal: JournalView,
    /// State of each actor, by name.
    pub actors: BTreeMap<String, ActorView>,
}

/// One input: grade.info, hitcount.history, the event log, or a source directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct InputView {
    /// Setting that names the input: `catalog.grade_info_file`, `event_log.dir`, `source_dirs`, ...
    pub setting: String,
    /// Path of the file or directory.
    pub path: String,
    /// State of the input.
    pub state: InputState,
    /// Reason for any state other than [`InputState::Good`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Time when the node read the current content; missing before the first read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Millis>,
    /// How the node notices changes: `events`, or `polling: ` with the reason. Missing before the first look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed_by: Option<String>,
    /// Number of good rows or entries at the last read.
    pub rows: u64,
    /// Number of unreadable rows at the last read.
    pub bad_rows: u64,
    /// The first unreadable rows, for the operator.
    pub first_bad_rows: Vec<BadRowView>,
}

/// Result of the last reading of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputState {
    /// The node has read its current content.
    Good,
    /// The configuration names no such input.
    Unset,
    /// The node has not read it yet.
    Pending,
    /// The file is being written. The node reads it once it is quiet, and uses the last content
    /// until then.
    Changing,
    /// The file does not exist. The node still uses the last content.
    Missing,
    /// The file exists, but the node cannot read it. The node still uses the last content.
    Unreadable,
}

/// A row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BadRowView {
    /// Number of the line, counted from 1.
    pub line: u64,
    /// Its beginning; bytes that are not UTF-8 are shown as U+FFFD.
    pub text: String,
    /// Error in this row.
    pub why: String,
}

/// State of this node's journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct JournalView {
    /// Role of this node in the cluster.
    pub role: NodeRole,
    /// Number of the leader that this node knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<u64>,
    /// Current epoch, which is raft's term.
    pub epoch: Epoch,
    /// The last entry that is durable here.
    pub last_index: u64,
    /// The last entry that is applied here.
    pub applied_index: u64,
    /// The last entry of the newest snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_index: Option<u64>,
    /// Bytes of log behind that snapshot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<u64>,
}

/// Role of a node in the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeRole {
    /// The node leads and decides.
    Leader,
    /// The node applies the decisions of the leader.
    Follower,
    /// The node is a candidate in an election.
    Candidate,
    /// The node is catching up and has no vote.
    Learner,
}

/// State of an actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ActorView {
    /// Number of restarts after a panic.
    pub restarts: u64,
    /// Its observable state, as it publishes it.
    pub state: serde_json::Value,
}
