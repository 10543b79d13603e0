//! The messages of a CfwWorker: calls to its host, and reports about it.

use std::sync::Arc;
use std::time::Duration;

use actix::{Message, Recipient};
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::host::{HostAddr, HostKind};
use reelyard_core::names::{FileId, FileName};
use reelyard_core::traffic::Traffic;
use reelyard_protocol::legacy::cfw::{Deleted, DiskFigures};
use reelyard_protocol::worker::{ManagerSeen, WorkerAdopted};
use roaring::RoaringBitmap;

use super::calls::ask_failure::AskFailure;
use crate::cfw_worker::breaker::circuit_state::CircuitState;

/// Stops all calls to the host, or resumes them. Running calls are completed.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct SetHostMaintenance {
    /// Whether it is in maintenance.
    pub on: bool,
}

/// Lets a node read the files, the disk and the load of the host, or only probe it. Running calls are completed.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "()")]
pub struct SetHostReading {
    /// Whether it may read them. Only a leader needs them.
    pub on: bool,
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
