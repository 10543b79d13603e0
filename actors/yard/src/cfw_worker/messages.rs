//! The messages of a CfwWorker: calls to its host, and reports about it.

use std::sync::Arc;
use std::time::Duration;

use actix::{Message, Recipient};
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostKind, HostRole};
use reelyard_core::names::{FileId, FileName};
use reelyard_core::traffic::Traffic;
use reelyard_protocol::legacy::cfw::{Deleted, DiskFigures};
use reelyard_protocol::worker::{ManagerSeen, WorkerAdopted};
use roaring::RoaringBitmap;
use serde::Serialize;

use super::calls::ask_failure::{AskFailure, TokenTrouble};
use super::settings::CfwWorkerSettings;
use crate::cfw_worker::breaker::circuit_state::{CallTrouble, CircuitState};

/// Stops all calls to the host, or resumes them. Running calls are completed.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct SetHostMaintenance {
    /// Whether it is in maintenance.
    pub on: bool,
}

/// Uses these settings for calls to the host from now on.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeCfwWorkerSettings {
    /// The settings that replace the current ones.
    pub settings: CfwWorkerSettings,
    /// A client that was made for them.
    pub http: reqwest::Client,
}

/// Asks `HEAD /hb`. Sent by the HeartbeatSupervisor.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Duration, AskFailure>")]
pub struct ProbeHeartbeat {
    /// How long to wait for the answer.
    pub timeout: Duration,
}

/// Reads the files and the disk of the host now, and reports them to the subscribers. Answered after
/// that report, or with the reason why the host could not be called.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Inventory>, AskFailure>")]
pub struct Refresh;

/// A copy was verified on this host. Its inventory contains it from now on, without a call.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct CopyArrived {
    /// The file that was copied.
    pub file: FileId,
    /// Its size in bytes, when known.
    pub size: Option<u64>,
}

/// Deletes a copy. The caller has committed the intent before.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Deleted, AskFailure>")]
pub struct DeleteCopy {
    /// The file whose copy is deleted.
    pub name: FileName,
    /// The epoch of the leader that decided it. Reelyard workers refuse an epoch lower than the highest
    /// they have seen.
    pub epoch: Epoch,
}

/// All files of a host. A failed call never makes one of these.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// The files, by their process-wide ids.
    pub files: RoaringBitmap,
    /// Entries whose names cannot be file names of this wire (never planned with, never deleted).
    pub unreadable_names: u64,
    /// The time of the request.
    pub at: Millis,
}

/// Sent to the subscribers after each successful read of a host.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct HostObserved {
    /// The host that was read.
    pub host: HostAddr,
    /// The program at the host.
    pub kind: HostKind,
    /// Its files. None for a host that was not asked (a pure source).
    pub inventory: Option<Arc<Inventory>>,
    /// Its disk, and the time of the request: copies that arrived later are not in the figures. None
    /// while it is not known.
    pub disk: Option<(DiskFigures, Millis)>,
    /// The load of its link, and when it was requested. None while it is not known.
    pub traffic: Option<(Traffic, Millis)>,
    /// When this was sent.
    pub at: Millis,
}

/// Reports the host to `to` from now on, and at once everything that is already known.
#[derive(Clone, Message)]
#[rtype(result = "()")]
pub struct SubscribeToHost {
    /// Receiver of the observations.
    pub to: Recipient<HostObserved>,
}

/// Sent to the subscribers when the rules for calls to the host change, and after each read of one of
/// our workers.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct HostCallStatus {
    /// The host that is called.
    pub host: HostAddr,
    /// State of the circuit breaker of its calls.
    pub calls: CircuitState,
    /// The highest epoch that a worker of ours knows.
    pub epoch: Option<Epoch>,
    /// The managers that called a Reelyard worker recently.
    pub managers: Vec<ManagerSeen>,
    /// When this was sent.
    pub at: Millis,
}

/// Reports the rules for calls to the host to `to`, now and at each change.
#[derive(Clone, Message)]
#[rtype(result = "()")]
pub struct SubscribeToCallStatus {
    /// Receiver of the status.
    pub to: Recipient<HostCallStatus>,
}

/// Makes a worker of ours obey this node from now on, in this epoch, whatever it knew before.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<WorkerAdopted, AskFailure>")]
pub struct AdoptHost {
    /// The epoch in which this node leads.
    pub epoch: Epoch,
}

/// Closes the circuit breaker of this host and reads the host at once. For an operator who has repaired
/// it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct ResetBreaker;

/// Makes the calls that are due. A CfwWorker sends itself this by its timer; tests send it after they
/// moved the clock.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct LookDue;

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
