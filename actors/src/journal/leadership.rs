//! Who leads, as far as this node knows.

use crate::event::Epoch;
use crate::journal::messages::CommitError;

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// This node: a quorum has confirmed it, and everything before is applied here.
    Leading {
        /// The epoch to decide in.
        epoch: Epoch,
    },
    /// Another node.
    Following {
        /// Which.
        leader: u64,
    },
    /// Nobody that this node knows of, or this one before it is confirmed.
    Nobody,
    /// The journal has stopped or failed.
    Stopped,
}

impl Leadership {
    /// The epoch to decide in, on the node that leads.
    pub fn epoch(self) -> Option<Epoch> {
        match self {
            Leadership::Leading { epoch } => Some(epoch),
            _ => None,
        }
    }

    /// What a request is told that cannot be decided in the epoch it was meant for. Where this
    /// node leads, its owner of the piece has not yet heard of it, or of a newer epoch.
    pub(crate) fn refusal(self) -> CommitError {
        match self {
            Leadership::Leading { .. } => CommitError::Deposed,
            Leadership::Following { leader } => CommitError::NotLeader { leader: Some(leader) },
            Leadership::Nobody => CommitError::NotLeader { leader: None },
            Leadership::Stopped => CommitError::Stopped,
        }
    }
}

/// What the proposer goes by: leadership, and which run of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProposerSession {
    pub(crate) leadership: Leadership,
    /// Grows whenever deciding begins anew, also within one epoch: commits handed in before are
    /// not proposed after.
    pub(crate) number: u64,
}
