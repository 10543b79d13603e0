//! Failures of calls to the program that orders copies.

use crate::kept_state::epoch_guard::NotObeyed;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(in crate::downloader) enum LinkError {
    #[error("cannot be reached: {0}")]
    Unreachable(#[from] reqwest::Error),
    #[error("answered with status {0}: {1}")]
    Status(u16, String),
    #[error("accepts calls over TLS only: begin the setting node with https://")]
    NeedsTls,
    #[error("sent an unreadable answer: {0}")]
    Garbled(String),
    #[error("sent more than {0} bytes, which no node does: check which program listens there")]
    TooLong(u64),
    #[error(
        "requires a token, and this worker has none. Create one on the node by \"reelyard token create --worker HOST\" and \
         set it here as token_file"
    )]
    TokenWanted,
    #[error(
        "expects another token than this worker has. Create a new one on the node by \"reelyard token create --worker \
         HOST\" and set it here as token_file"
    )]
    OtherToken,
    #[error("refuses the token of this worker: {0}")]
    TokenRefused(String),
    #[error(
        "does not prove that it knows this worker's token: it has no token, or another program listens \
         there. Create a token on the node by \"reelyard token create --worker HOST\" and set it here as token_file"
    )]
    NotProved,
    #[error(transparent)]
    NotObeyed(#[from] NotObeyed),
    #[error("the state store failed: {0}")]
    Store(String),
    /// There is no long poll, so it is probably an old cfm.
    #[error("does not support long polls")]
    NotReelyard,
    /// It looked like an old cfm, and is a Reelyard node.
    #[error("is a Reelyard node")]
    IsReelyard,
}
