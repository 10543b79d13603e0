//! The events of the piece, with their outcomes and refusals.
//!
//! **Invariant:** every value that depends on a setting or a clock is in the event. Examples are the end
//! of the doubt about a copy, and the records to forget. So `apply` gives the same result on nodes with
//! different configurations.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use serde::{Deserialize, Serialize};

use super::ending::Ending;
use super::reason::Reason;
use super::stored::{ending_of_event, reason_of_event};

/// One event. Postcard numbers the variants in this order: new ones must be added at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RemovalEvent {
    /// A copy will be removed. From here on it counts as removed, even before its host is called.
    Intended(Intent),
    /// The end of a removal.
    Ended {
        /// The host that must remove the copy.
        host: HostAddr,
        /// The file whose copy was to be removed.
        name: FileName,
        /// The answer of the host, or why there is none.
        #[serde(with = "ending_of_event")]
        ending: Ending,
    },
    /// No copy of this file may be removed.
    Pinned {
        /// The file to pin.
        name: FileName,
        /// Name of the requester: an API user or a command.
        asked_by: String,
    },
    /// Its copies may be removed like any other.
    Unpinned {
        /// The file to unpin.
        name: FileName,
    },
    /// Removes the oldest lines of the history, and doubts that are over.
    Forgot {
        /// Every line with a lower number.
        history_before: u64,
        /// The time of the check: doubts that end by then are removed.
        doubts_until: Millis,
    },
}

/// The decision to remove a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intent {
    /// The host that holds the copy.
    pub host: HostAddr,
    /// The file whose copy is removed.
    pub name: FileName,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
    /// The rule that removes it, with its numbers.
    #[serde(with = "reason_of_event")]
    pub reason: Reason,
    /// The host whose copy is kept. It confirmed that copy just before. None if the last copy may be
    /// removed: on a disk over its limit, or for a hotter file.
    pub keeper: Option<HostAddr>,
    /// Name of the requester: the Remover itself, or the name in the request.
    pub asked_by: String,
}

/// The effect of an applied event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RemovalOutcome {
    /// It changed the piece.
    Applied,
    /// The piece was so already.
    AlreadySo,
}

/// Why an event changed nothing: its precondition no longer held when it was applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum RemovalRefusal {
    /// The keeper of this removal is itself under removal.
    #[error("the copy of {name} on {keeper} was to be kept, but its own removal is planned")]
    KeeperGoes {
        /// The file that both removals concern.
        name: FileName,
        /// The host of that keeper.
        keeper: HostAddr,
    },
    /// The keeper and the copy to remove are the same.
    #[error("the copy of {name} on {host} cannot be both kept and removed")]
    KeepsItself {
        /// The file of the intent.
        name: FileName,
        /// The host that is both keeper and target.
        host: HostAddr,
    },
    /// The file is pinned.
    #[error("{name} is pinned: no copy of it is removed")]
    IsPinned {
        /// The pinned file.
        name: FileName,
    },
    /// It is already being removed.
    #[error("the copy of {name} on {host} is already being removed")]
    UnderWay {
        /// The file of the open removal.
        name: FileName,
        /// The host of the open removal.
        host: HostAddr,
    },
    /// The copy is a keeper: it cannot be removed before the removals that rely on it have ended.
    #[error(
        "the copy of {name} on {host} must be kept: other copies of the file are being removed"
    )]
    IsKeeper {
        /// The file whose other copies are being removed.
        name: FileName,
        /// The host whose copy must be kept.
        host: HostAddr,
    },
    /// No such removal is open.
    #[error("no removal of {name} on {host} is under way")]
    NotIntended {
        /// The file that the event names.
        name: FileName,
        /// The host that the event names.
        host: HostAddr,
    },
}
