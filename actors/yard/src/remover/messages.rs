//! The messages of the Remover.

use actix::Message;
use reelyard_core::event::RequestId;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_replication::CommitError;
use serde::{Deserialize, Serialize};

use crate::remover::state::reason::{Reason, Spared};

/// Pins a file: no copy of it is removed until it is unpinned. Answers whether this changed anything.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<bool, CommitError>")]
pub struct PinFile {
    /// The file to pin or unpin.
    pub name: FileName,
    /// Pinned, or no longer pinned.
    pub pinned: bool,
    /// The requester, for the journal and the log.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Starts a round now instead of at its next time. Operators and tests send it. Answered once the round
/// is over; its decisions are carried out afterwards.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct RemoveNow;

/// Asks which copies of a file are kept or removed, and why.
#[derive(Clone, Debug, Message)]
#[rtype(result = "CopiesExplained")]
pub struct ExplainCopies {
    /// The file to explain.
    pub name: FileName,
    /// The hosts whose copies are explained.
    pub hosts: Vec<HostAddr>,
    /// Its size in bytes, if no destination has room for it.
    pub without_room: Option<u64>,
}

/// The decisions on the copies of a file.
#[derive(Clone, Debug, Default)]
pub struct CopiesExplained {
    /// The decision on each copy that one of the hosts listed.
    pub copies: Vec<CopyDecision>,
    /// The verdict on an exchange for the file, in words. None if it needs none, or while demand is not known.
    pub room: Option<String>,
}

/// The decision on one copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct CopyDecision {
    /// The host that holds the copy.
    pub host: HostAddr,
    /// Whether the copy is kept or removed, and why.
    pub outlook: CopyOutlook,
}

impl CopyOutlook {
    /// In words, for people.
    pub fn words(&self) -> String {
        let kept = |keeper: &Option<HostAddr>| {
            keeper.map(|keeper| format!("; the copy on {keeper} is kept")).unwrap_or_default()
        };
        match self {
            CopyOutlook::Stays { why } => format!("stays: {}", why.words()),
            CopyOutlook::Goes { reason, keeper } => {
                format!("to be removed: {}{}", reason.words(), kept(keeper))
            }
            CopyOutlook::Going { reason, keeper } => {
                format!("being removed: {}{}", reason.words(), kept(keeper))
            }
        }
    }
}

/// The decision on a copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CopyOutlook {
    /// The copy is kept.
    Stays {
        /// The rule that keeps it.
        why: Spared,
    },
    /// It will be removed as soon as the keeper is confirmed.
    Goes {
        /// The rule that removes it.
        reason: Reason,
        /// The host whose copy is kept.
        #[schema(required)]
        keeper: Option<HostAddr>,
    },
    /// It is being removed.
    Going {
        /// The rule that removes it.
        reason: Reason,
        /// The host whose copy is kept.
        #[schema(required)]
        keeper: Option<HostAddr>,
    },
}
