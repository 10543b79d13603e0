//! Who takes part, and what each may have a timer for.

use std::fmt;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::catalog::MasterLook;

/// A process of the yard, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// A node of the control plane.
    Node(usize),
    /// A storage host.
    Host(usize),
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Node(number) => write!(f, "node{number}"),
            Party::Host(number) => write!(f, "host{number}"),
        }
    }
}

/// What a timer is for.
#[derive(Clone, Debug)]
pub enum PartyTimer {
    /// A call has waited long enough for its answer.
    CallIsOver(u64),
    /// Raft: heartbeats and elections.
    Raft,
    /// The node takes note of who leads.
    Notice,
    /// The entry under way is handed to Raft.
    Write {
        /// Which entry.
        entry: u64,
    },
    /// A commit has waited long enough for its answer.
    CommitIsOver {
        /// Which proposal.
        proposal: u64,
    },
    /// The TaskManager's turn.
    Turn {
        /// For when it was set; one that was set anew since means nothing.
        at: u64,
    },
    /// Probes and looks at a host that are due.
    Watch(HostAddr),
    /// What the node's Catalog sees by now.
    Catalog,
    /// The Catalog has looked at these masters.
    LookedUp {
        /// What was asked for.
        asked: Vec<FileName>,
        /// What was seen; none when the look took too long.
        seen: Option<Vec<(FileName, MasterLook)>>,
    },
    /// A long poll has waited long enough.
    PollIsOver(u64),
    /// A worker asks for orders again, or an old cfw polls.
    Ask,
    /// A worker delivers its reports.
    Deliver,
    /// The next bytes of a copy are asked for.
    Read(TaskId),
    /// A copy is synced and put in its place.
    Publish(TaskId),
    /// The end of a copy is made durable, and told.
    Keep(TaskId),
    /// A copy that was taken back has ended.
    GivenUp(TaskId),
}
