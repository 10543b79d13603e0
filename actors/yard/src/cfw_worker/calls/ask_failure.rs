//! Why a call to a host failed.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a host could not be called, or why its answer is unusable. It must never be treated as "empty"
/// or "removed".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum AskFailure {
    /// No connection, or it broke.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// No answer within the time-out.
    #[error("no answer within {}", humantime::format_duration(*.0))]
    TimedOut(Duration),
    /// An answer of another status than the call allows.
    #[error("answered with status {0}")]
    Status(u16),
    /// An answer in another format than the call allows.
    #[error("sent an unreadable answer: {0}")]
    Garbled(String),
    /// Too many calls to this host are waiting.
    #[error("too many calls to this host are waiting")]
    Busy,
    /// It was not called, for this reason.
    #[error("not called: {0}")]
    NotAsked(String),
    /// An answer that is refused for its length.
    #[error("its answer was refused: {0}")]
    TooMuch(String),
    /// This process had no file descriptor for the call, which says nothing of the host.
    #[error("not called: this node has no free file descriptor; raise LimitNOFILE")]
    NoDescriptor,
    /// The worker and this node do not share a token.
    #[error("{0}")]
    Token(TokenTrouble),
}

/// Why a worker and a node do not take each other's calls. `reelyard token create --worker` is the remedy of each,
/// because its token is for one worker only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum TokenTrouble {
    /// The worker asks for a token, and the node has none.
    #[error(
        "the worker requires a token, and this node has none for it. Create one by \"reelyard token create --worker \
         HOST\" and set it on the worker"
    )]
    Wanted,
    /// The worker refuses calls that are signed with the node's token.
    #[error(
        "the worker has another token than this node expects. Create a new one by \"reelyard token create --worker \
         HOST\" and set it on the worker"
    )]
    Other,
    /// The worker answers without proof that it knows the node's token.
    #[error(
        "the worker does not prove that it knows this node's token: it has no token, or another program \
         listens there. Create a token by \"reelyard token create --worker HOST\" and set it on the worker"
    )]
    NotProved,
}

impl AskFailure {
    /// A host in maintenance gets no calls.
    pub(in crate::cfw_worker) fn in_maintenance() -> Self {
        AskFailure::NotAsked("it is in maintenance".to_owned())
    }
}
