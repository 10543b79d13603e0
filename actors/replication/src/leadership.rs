//! The leader, if this node knows it.

use reelyard_core::event::Epoch;

use crate::messages::CommitError;

/// Added to the highest known term when a store continues that may have lost some terms. Workers
/// refuse a leader with an older epoch than they have seen.
pub const EPOCH_LEAP: u64 = 1000;

/// The current leader of the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// This node leads: a quorum has confirmed it, and all earlier entries are applied here.
    Leading {
        /// The epoch to decide in.
        epoch: Epoch,
    },
    /// Another node leads.
    Following {
        /// Id of that node.
        leader: u64,
    },
    /// No known leader. Also this node itself before its leadership is confirmed.
    Nobody,
    /// The journal has stopped or failed.
    Stopped,
}

impl Leadership {
    /// The epoch for decisions, on the node that leads.
    pub fn epoch(self) -> Option<Epoch> {
        match self {
            Leadership::Leading { epoch } => Some(epoch),
            _ => None,
        }
    }

    /// The answer to a request that cannot be decided in its epoch. On the leader this means that
    /// the owner of the piece does not know this epoch yet, or already knows a newer one.
    pub fn refusal(self) -> CommitError {
        match self {
            Leadership::Leading { .. } => CommitError::Deposed,
            Leadership::Following { leader } => CommitError::NotLeader { leader: Some(leader) },
            Leadership::Nobody => CommitError::NotLeader { leader: None },
            Leadership::Stopped => CommitError::Stopped,
        }
    }
}
