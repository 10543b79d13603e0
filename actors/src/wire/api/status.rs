//! How a node is, as the API shows it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::Millis;
use crate::event::Epoch;

/// How a node is: its inputs, its journal, its actors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct StatusView {
    /// The program's version.
    pub version: String,
    /// The node's number.
    pub node_id: u64,
    /// When the process started.
    pub started: Millis,
    /// Whether it does all it is there for.
    pub ready: bool,
    /// What keeps it from that, in words; empty when it is ready.
    pub not_ready: Vec<String>,
    /// What does not keep it from that and wants looking at all the same, in words: signs that
    /// somebody else manages the yard too.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// What it plans from.
    pub inputs: Vec<InputView>,
    /// Its journal.
    pub journal: JournalView,
    /// Its actors, by name.
    pub actors: BTreeMap<String, ActorView>,
}

/// One input: grade.info, hitcount.history, the event log, or a source directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct InputView {
    /// Which, by its setting: `catalog.grade_info_file`, `event_log.dir`, `source_dirs`, ...
    pub setting: String,
    /// Its path.
    pub path: String,
    /// How it is.
    pub state: InputState,
    /// Why it is not [`InputState::Good`], in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// When what is in use was read; missing when nothing was ever read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Millis>,
    /// How changes of it are noticed: `events`, or `polling: ` and why. Missing before the first
    /// look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed_by: Option<String>,
    /// How many good rows or entries it had then.
    pub rows: u64,
    /// How many rows could not be read.
    pub bad_rows: u64,
    /// The first of those.
    pub first_bad_rows: Vec<BadRowView>,
}

/// How an input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputState {
    /// It was read as it now is.
    Good,
    /// It is not configured.
    Unset,
    /// It was not looked at yet.
    Pending,
    /// It is being written and will be read once it keeps still. What was last read of it stays in
    /// use.
    Changing,
    /// It is not there. What was last read of it stays in use.
    Missing,
    /// It is there and cannot be read. What was last read of it stays in use.
    Unreadable,
}

/// A row that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BadRowView {
    /// Its line, from 1.
    pub line: u64,
    /// Its beginning; bytes that are not UTF-8 are shown as U+FFFD.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// How the journal is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct JournalView {
    /// What this node is among its peers.
    pub role: NodeRole,
    /// The node that leads, if this one knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leader: Option<u64>,
    /// The present epoch.
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

/// What a node is among its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NodeRole {
    /// It decides.
    Leader,
    /// It applies what the leader decides.
    Follower,
    /// It stands for election.
    Candidate,
    /// It is catching up and has no vote.
    Learner,
}

/// How an actor is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ActorView {
    /// How often it was started again after a panic.
    pub restarts: u64,
    /// Its observable state, as it publishes it.
    pub state: serde_json::Value,
}
