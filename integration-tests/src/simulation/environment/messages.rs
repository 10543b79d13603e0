//! The messages on the network. Bodies are the bytes that the real programs send.

use reelyard_boxes::box_lease::{BoxLeaseRequest, ReleaseLease, RenewLease};
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::boxes::{InspectBoxes, RunHook};
use reelyard_protocol::worker::TaskId;

use reelyard_shares::share_expiry::{ChangeShare, CreateShare, RevokeShares, TakeDownload};

use super::parties::Party;
use crate::simulation::raft::replica::Rpc;

/// A message in transit.
#[derive(Clone, Debug)]
pub struct SimulatedEnvelope {
    /// The sender. Losses and delays depend on the pair of parties.
    pub from: Party,
    /// The receiver, which must run when the message arrives.
    pub to: Party,
    /// The content of the message.
    pub letter: SimulatedMessage,
}

/// The content of a message.
#[derive(Clone, Debug)]
pub enum SimulatedMessage {
    /// A message between nodes, below the journal.
    Raft(Rpc),
    /// An HTTP request.
    Call {
        /// The caller's number for the request.
        id: u64,
        /// The method and path of the request, with its arguments.
        call: SimulatedCall,
    },
    /// An HTTP answer.
    Answer {
        /// The number of the request.
        id: u64,
        /// Status and body.
        answer: SimulatedResponse,
    },
}

/// The HTTP requests between nodes and hosts.
#[derive(Clone, Debug)]
pub enum SimulatedCall {
    /// `HEAD /hb`: a probe of the host.
    Heartbeat,
    /// `GET /info`: the version and limits of a worker.
    Info,
    /// `GET /inventory`
    Inventory,
    /// `GET /files`: the names on the disk.
    Files,
    /// `GET /df`: the use of the disk.
    Disk,
    /// `GET /api/v1/workers/{host}/tasks`: a long poll for orders.
    Orders {
        /// The worker that polls.
        host: HostAddr,
        /// The tasks that the worker has.
        known: Vec<TaskId>,
        /// The longest delay of the answer, in milliseconds.
        wait: u64,
    },
    /// `POST /api/v1/workers/{host}/reports`: reports of a worker.
    Reports {
        /// The worker that reports.
        host: HostAddr,
        /// The JSON of the reports.
        body: Vec<u8>,
    },
    /// cfm's `GET /tasks`: a poll of an old cfw.
    Tasks,
    /// cfm's `PATCH /tasks/{id}`: a new status of a task.
    Patch {
        /// The task number, as text.
        id: String,
        /// The JSON of the change.
        body: Vec<u8>,
    },
    /// `DELETE /files/{name}`: deletes a copy.
    Delete {
        /// The file name of the copy.
        name: FileName,
        /// The epoch of the decision, for a Reelyard worker.
        epoch: Option<Epoch>,
    },
    /// A request to the host of boxes.
    Hook(BoxHostCall),
    /// A request about shares, or for a link.
    Share(ShareCall),
    /// A request for boxes.
    Boxes(BoxCall),
    /// A read of some bytes of a master, over any protocol.
    Read {
        /// The file name of the master.
        name: FileName,
        /// The offset of the first byte.
        offset: u64,
        /// The number of bytes.
        length: u64,
    },
    /// A request for the hash of a master.
    Hash {
        /// The file name of the master.
        name: FileName,
    },
}

/// The requests of a node to the host of boxes.
#[derive(Clone, Debug)]
pub enum BoxHostCall {
    /// Runs a hook for a box.
    Run(RunHook),
    /// Inspects free boxes.
    Inspect(InspectBoxes),
    /// Checks whether the worker answers.
    Probe,
}

/// The requests of a visitor, as the API and the server of links pass them on.
#[derive(Clone, Debug)]
pub enum ShareCall {
    /// `POST /api/v1/shares`
    Create(CreateShare),
    /// `PATCH /api/v1/shares/{id}`
    Change(ChangeShare),
    /// `POST /api/v1/shares/revoke`
    Revoke(RevokeShares),
    /// `GET /s/{id}/file`
    Open(TakeDownload),
}

/// The requests of a job for boxes, as the API passes them on.
#[derive(Clone, Debug)]
pub enum BoxCall {
    /// `POST /api/v1/pools/{pool}/leases`
    Acquire(BoxLeaseRequest),
    /// `POST /api/v1/leases/{id}/renew`
    Renew(RenewLease),
    /// `POST /api/v1/leases/{id}/release`
    Release(ReleaseLease),
    /// The connection of the call ended.
    HangUp,
}

impl SimulatedCall {
    /// A short name for the trace.
    pub fn name(&self) -> &'static str {
        match self {
            SimulatedCall::Heartbeat => "HEAD /hb",
            SimulatedCall::Info => "GET /info",
            SimulatedCall::Inventory => "GET /inventory",
            SimulatedCall::Files => "GET /files",
            SimulatedCall::Disk => "GET /df",
            SimulatedCall::Orders { .. } => "GET orders",
            SimulatedCall::Reports { .. } => "POST reports",
            SimulatedCall::Tasks => "GET /tasks",
            SimulatedCall::Delete { .. } => "DELETE /files",
            SimulatedCall::Share(_) => "POST shares",
            SimulatedCall::Hook(_) => "POST hooks",
            SimulatedCall::Boxes(_) => "POST leases",
            SimulatedCall::Patch { .. } => "PATCH /tasks",
            SimulatedCall::Read { .. } => "GET master",
            SimulatedCall::Hash { .. } => "GET hash",
        }
    }
}

/// An HTTP answer: status and body.
#[derive(Clone, Debug)]
pub struct SimulatedResponse {
    /// The HTTP status code.
    pub status: u16,
    /// The body, empty for most errors.
    pub body: Vec<u8>,
}

/// The status with which a simulated node reports that its owner of shares did not count a download.
pub const UNCOUNTED: u16 = 599;

impl SimulatedResponse {
    /// 200 with a body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        SimulatedResponse { status: 200, body: body.into() }
    }

    /// A status without a body.
    pub fn status(status: u16) -> Self {
        SimulatedResponse { status, body: Vec::new() }
    }
}
