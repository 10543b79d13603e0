//! What travels over the network. Bodies are the bytes that the real programs send.

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;

use super::parties::Party;
use super::replica::Rpc;

/// A letter on its way.
#[derive(Clone, Debug)]
pub struct SimulatedEnvelope {
    /// Who sent it.
    pub from: Party,
    /// Who gets it.
    pub to: Party,
    /// What it says.
    pub letter: SimulatedMessage,
}

/// What a letter says.
#[derive(Clone, Debug)]
pub enum SimulatedMessage {
    /// Between nodes, below the journal.
    Raft(Rpc),
    /// A call of HTTP.
    Call {
        /// The caller's number for it.
        id: u64,
        /// What is asked.
        call: SimulatedCall,
    },
    /// An answer of HTTP.
    Answer {
        /// The number of the call.
        id: u64,
        /// Status and body.
        answer: SimulatedResponse,
    },
}

/// The calls of the wires.
#[derive(Clone, Debug)]
pub enum SimulatedCall {
    /// `HEAD /hb`
    Heartbeat,
    /// `GET /info`
    Info,
    /// `GET /inventory`
    Inventory,
    /// `GET /files`
    Files,
    /// `GET /df`
    Disk,
    /// `GET /api/v1/workers/{host}/tasks`
    Orders {
        /// Who asks.
        host: HostAddr,
        /// The tasks it knows.
        known: Vec<TaskId>,
        /// How long it waits, in milliseconds.
        wait: u64,
    },
    /// `POST /api/v1/workers/{host}/reports`
    Reports {
        /// Who reports.
        host: HostAddr,
        /// The JSON.
        body: Vec<u8>,
    },
    /// cfm's `GET /tasks`
    Tasks,
    /// cfm's `PATCH /tasks/{id}`
    Patch {
        /// The number, as text.
        id: String,
        /// The JSON.
        body: Vec<u8>,
    },
    /// Some bytes of a master, whoever carries them.
    Read {
        /// The file.
        name: FileName,
        /// From which byte on.
        offset: u64,
        /// How many.
        length: u64,
    },
    /// The hash of a master.
    Hash {
        /// The file.
        name: FileName,
    },
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
            SimulatedCall::Patch { .. } => "PATCH /tasks",
            SimulatedCall::Read { .. } => "GET master",
            SimulatedCall::Hash { .. } => "GET hash",
        }
    }
}

/// An answer of HTTP.
#[derive(Clone, Debug)]
pub struct SimulatedResponse {
    /// Its status.
    pub status: u16,
    /// Its body.
    pub body: Vec<u8>,
}

impl SimulatedResponse {
    /// 200 with a body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        SimulatedResponse { status: 200, body: body.into() }
    }

    /// Another status, without a body.
    pub fn status(status: u16) -> Self {
        SimulatedResponse { status, body: Vec::new() }
    }
}
