//! The read view of a CfwWorker.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::host::HostKind;
use reelyard_core::host::HostRole;
use reelyard_core::traffic::Traffic;
use reelyard_protocol::legacy::cfw::DiskFigures;
use serde::Serialize;

use super::calls::ask_failure::TokenTrouble;
use super::messages::Inventory;
use crate::cfw_worker::breaker::circuit_state::CallTrouble;
use crate::cfw_worker::breaker::circuit_state::CircuitState;

/// The published state of a CfwWorker.
#[derive(Clone, Debug, Serialize)]
pub struct CfwWorkerView {
    /// Address of the host, which is its identity.
    pub host: HostAddr,
    /// Whether it is a source, a destination or both.
    pub role: HostRole,
    /// The program at the host.
    pub kind: HostKind,
    /// That program's version, if it reports one.
    pub version: Option<String>,
    /// Whether it is in maintenance: then it gets no calls.
    pub in_maintenance: bool,
    /// Whether it answered its last probe; none before the first, and in maintenance.
    pub answers: Option<bool>,
    /// How long its last answered probe took, in milliseconds.
    pub latency_ms: Option<u64>,
    /// Its files; none while they are not known.
    pub inventory: Option<InventoryView>,
    /// The files themselves.
    #[serde(skip)]
    pub held: Option<Arc<Inventory>>,
    /// The last reported disk; none while it is not known.
    pub disk: Option<DiskFigures>,
    /// When it reported its disk.
    pub disk_at: Option<Millis>,
    /// The load of its link as last reported; none if it is unknown or too old.
    pub traffic: Option<Traffic>,
    /// When that was requested.
    pub traffic_at: Option<Millis>,
    /// Why the last read of its node_exporter failed; none without a node_exporter or after a success.
    pub agent_failure: Option<String>,
    /// Times the agent there answered.
    pub agent_answers: u64,
    /// Calls that run or wait for their turn, without probes and looks.
    pub open_requests: usize,
    /// State of the circuit breaker of its calls.
    pub calls: CircuitState,
    /// The failures that opened the breaker, until it is closed.
    pub trouble: Option<CallTrouble>,
    /// Why the worker and this node refuse each other's calls, if they do.
    pub token_trouble: Option<TokenTrouble>,
    /// Why a list of files was refused for its size or its additions. None once a list is accepted and
    /// lists may add files again.
    pub refused_list: Option<String>,
    /// The last failure, in words.
    pub last_failure: Option<FailureView>,
    /// Number of reads of its program and files.
    pub looks: u64,
    /// How many of them failed.
    pub failed_looks: u64,
    /// How many of the successful lists were complete; the others contained changes only.
    pub whole_lists: u64,
    /// Copies deleted there.
    pub deleted: u64,
}

impl CfwWorkerView {
    /// The view of a host without calls.
    pub fn unasked(host: HostAddr, role: HostRole) -> Self {
        CfwWorkerView {
            host,
            role,
            kind: HostKind::Unknown,
            version: None,
            in_maintenance: false,
            answers: None,
            latency_ms: None,
            inventory: None,
            held: None,
            disk: None,
            disk_at: None,
            traffic: None,
            traffic_at: None,
            agent_failure: None,
            agent_answers: 0,
            open_requests: 0,
            calls: CircuitState::Closed,
            trouble: None,
            token_trouble: None,
            refused_list: None,
            last_failure: None,
            looks: 0,
            failed_looks: 0,
            whole_lists: 0,
            deleted: 0,
        }
    }
}

/// The inventory of a host, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct InventoryView {
    /// Files it holds.
    pub files: u64,
    /// Entries whose names cannot be file names.
    pub unreadable_names: u64,
    /// The time of the request.
    pub at: Millis,
    /// Time of the last request for a full list. Requests in between ask for changes.
    pub whole_at: Option<Millis>,
    /// Whether it reports changes.
    pub follows_changes: bool,
}

/// A failure of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FailureView {
    /// The call, such as `GET /files`.
    pub asked: &'static str,
    /// The failure in words.
    pub failure: String,
    /// When the call failed.
    pub at: Millis,
}
