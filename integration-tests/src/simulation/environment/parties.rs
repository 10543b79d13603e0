//! The parties of a simulation and their timers.

use std::fmt;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::boxes::HookKind;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::catalog::MasterLook;

/// A process of the yard, with its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// A node of the control plane.
    Node(usize),
    /// A storage host.
    Host(usize),
    /// A job that leases boxes.
    Job(usize),
    /// A person with share links.
    Visitor(usize),
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Node(number) => write!(f, "node{number}"),
            Party::Host(number) => write!(f, "host{number}"),
            Party::Visitor(number) => write!(f, "visitor{number}"),
            Party::Job(number) => write!(f, "job{number}"),
        }
    }
}

/// A hook that runs on a host of boxes.
#[derive(Clone, Debug)]
pub struct RunningHook {
    /// Preparation or cleanup.
    pub kind: HookKind,
    /// The box that it works on.
    pub box_id: u32,
    /// Whether its program will fail.
    pub fails: bool,
}

/// The purpose of a timer.
#[derive(Clone, Debug)]
pub enum PartyTimer {
    /// The timeout of a call.
    CallIsOver(u64),
    /// Raft: heartbeats and elections.
    Raft,
    /// The node notices a change of the leader.
    Notice,
    /// The entry in progress is handed to Raft.
    Write {
        /// The node's number for the entry.
        entry: u64,
    },
    /// The timeout of a commit.
    CommitIsOver {
        /// The node's number for the proposal.
        proposal: u64,
    },
    /// The due probes and observations of a host.
    Watch(HostAddr),
    /// The node's Catalog reads its inputs.
    Catalog,
    /// The Catalog has searched for these masters.
    LookedUp {
        /// The node's number for the request.
        number: u64,
        /// The results; `None` after a timeout.
        seen: Option<Vec<(FileName, MasterLook)>>,
    },
    /// A worker asks for orders again, or an old cfw polls.
    Ask,
    /// A worker delivers its reports.
    Deliver,
    /// The worker requests the next bytes of a copy.
    Read(TaskId),
    /// The worker syncs a copy and renames it.
    Publish(TaskId),
    /// The worker makes the end of a copy durable, and reports it.
    Keep(TaskId),
    /// A hook of a box ends, and its call is answered.
    HookEnds {
        /// The caller and the number of its call.
        caller: (Party, u64),
        /// The running program and its later result.
        hook: RunningHook,
    },
    /// A visitor uses links.
    VisitorActs,
    /// A job goes on.
    JobActs,
    /// A withdrawn copy has ended.
    GivenUp(TaskId),
}
