//! The messages of the ShareExpiryActor. Queries that only read use the
//! [`ShareViewHandle`](super::ShareViewHandle).

use crate::share_expiry::state::notification::ShareNotifications;
use std::collections::BTreeMap;
use std::sync::Arc;

use actix::Message;
use reelyard_core::event::{Epoch, RequestId};
use reelyard_replication::CommitError;
use serde::{Deserialize, Serialize};

use crate::share_expiry::state::event::ShareRefusal;
use crate::share_expiry::state::moves::pending_move::{
    MoveEnd, MoveRefused, Moved, NewMove, ShareLocation,
};
use crate::share_expiry::state::table::share::{ClientKey, Share};
use crate::share_expiry::state::values::id::ShareId;
use crate::share_expiry::state::values::path::{RootName, SharePath};
use crate::share_expiry::state::values::root_id::RootId;
use crate::share_expiry::state::values::share_lifetime::{OnlyIf, ShareLifetime};
use crate::share_expiry::state::values::share_terms::{ShareTerm, ShareTerms};
use crate::share_expiry::state::values::value_types::{ShareKind, ShareOwner};

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// The request was refused.
    #[error(transparent)]
    Refused(#[from] ShareRefusal),
    /// It has no outcome, or this node does not lead.
    #[error(transparent)]
    Journal(#[from] CommitError),
}

/// Creates a share. Answers it; repeated under the same request id, the same one.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Share>, ShareError>")]
pub struct CreateShare {
    /// The name of the root to share from.
    pub root: RootName,
    /// The path of the share, below the root. The caller checks that it exists.
    pub path: SharePath,
    /// A file or a directory.
    pub kind: ShareKind,
    /// How many moves had begun when the caller checked the disk, by
    /// [`ShareViewHandle`](super::ShareViewHandle). If further moves have begun since, the caller must
    /// check again. None if no move can affect it.
    pub looked: Option<u64>,
    /// The deadline or duration in the client's request.
    pub lifetime: ShareLifetime,
    /// The owner, if the client named one.
    pub owner: Option<ShareOwner>,
    /// The other terms that the client chose.
    pub terms: ShareTerms,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key; none if no caller will repeat the request. A named request is remembered for
    /// a quarter of an hour, and needs about as much memory as one share.
    pub request: Option<RequestId>,
}

/// Asks for the outcome of a request to create a share. None if it is unknown or forgotten.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Option<Arc<Share>>, ShareError>")]
pub struct RecallShare {
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// New values for some terms of a share. A field that is none keeps its value.
#[derive(Clone, Debug, Default)]
pub struct NewTerms {
    /// How long it lasts from now on.
    pub lifetime: Option<ShareLifetime>,
    /// The condition; if it does not hold, nothing is changed.
    pub only_if: Option<OnlyIf>,
    /// The new owner, or none.
    pub owner: Option<Option<ShareOwner>>,
    /// The other terms that change.
    pub terms: Vec<ShareTerm>,
}

/// Changes the terms of a share. Answers the changed share.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Share>, ShareError>")]
pub struct ChangeShare {
    /// The id of the share.
    pub id: ShareId,
    /// The new values. Absent fields do not change.
    pub change: NewTerms,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// Revokes shares. Running downloads continue. A hard revocation cuts them within a second, also those
/// of shares that have already ended.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Revoked, ShareError>")]
pub struct RevokeShares {
    /// The ids of the shares.
    pub ids: Vec<ShareId>,
    /// Whether running downloads are cut.
    pub hard: bool,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// The result of a revocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Revoked {
    /// The number of shares that ended.
    pub ended: u64,
    /// How many had already ended, or never existed.
    pub others: u64,
}

/// Asks to send the bytes of a share, when its [`downloads`](Share::downloads) are limited. Not for a
/// HEAD, for an answer without a body, or before the password is checked: each request may count.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<DownloadAdmission, ShareError>")]
pub struct TakeDownload {
    /// The id of the share.
    pub id: ShareId,
    /// The client that downloads.
    pub client: ClientKey,
    /// Whether a part is requested. This does not count if this client has a counted download that it
    /// may still resume. A client that began with a part may begin the whole file once.
    pub ranged: bool,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// How the bytes of a download may be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownloadAdmission {
    /// As a download that was counted.
    Counted {
        /// How many downloads are left.
        left: u32,
    },
    /// As part of a download that was already counted.
    Resumed,
    /// Without counting: the share has no limit.
    Unlimited,
}

/// Asks for the outcome of a request to move a file. None if it is unknown or forgotten.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Option<MoveAnswer>, ShareError>")]
pub struct RecallMove {
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// The outcome of a move, or why nothing was moved.
pub type MoveAnswer = Result<Moved, MoveRefused>;

/// Records that something is about to be moved, so that its shares follow. The caller then renames the
/// file, and settles the move.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<BegunMove, ShareError>")]
pub struct BeginMove(pub NewMove);

/// A recorded move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunMove {
    /// The number of the recorded move.
    pub number: u64,
    /// The epoch of its decision. In any other epoch the new leader settles it.
    pub epoch: Epoch,
}

/// The outcome of a move on disk is known. Answers once all shares have followed.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<MoveAnswer, ShareError>")]
pub struct SettleMove {
    /// The number of the recorded move.
    pub number: u64,
    /// The outcome of the move on disk.
    pub end: MoveEnd,
}

/// The files of these shares are missing. The shares end, unless they now refer to another file or are
/// being moved. Answers how many that were.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<u64, ShareError>")]
pub struct EndRemoved {
    /// The shares, and the places where their files were missing.
    pub gone: Vec<(ShareId, ShareLocation)>,
    /// The caller's name, for the audit.
    pub asked_by: String,
}

/// Records the ids of roots. An id that is on record already stays.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct RecordRoots {
    /// The ids that the leader found in the directories.
    pub found: BTreeMap<RootName, RootId>,
}

/// Pauses or resumes the reclaim of due shares. Links are still refused at their deadlines. Answers
/// whether this changed anything.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<bool, CommitError>")]
pub struct PauseReclaim {
    /// Whether reclaim is paused.
    pub paused: bool,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// An operator confirms the wall clock, and shares use it from now on. If it is ahead, shares that are
/// due by it are reclaimed. If it is behind, links that were refused and not reclaimed may work again.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct ConfirmClock {
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key of the request.
    pub request: RequestId,
}

/// Reclaims due shares now, without waiting for the timer. Operators and tests send it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct ReclaimNow;

/// Queries the shares of a path and everything below it, in the order of their paths.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Vec<Arc<Share>>")]
pub struct SharesWithin {
    /// The root of the path.
    pub root: RootName,
    /// The file or directory, below the root.
    pub path: SharePath,
    /// Only shares after this one.
    pub after: Option<(SharePath, ShareId)>,
    /// The page size; 1000 at most.
    pub most: usize,
}

/// Fetches notifications from a number on, oldest first, for a hook.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "ShareNotifications")]
pub struct FetchNotifications {
    /// The number of the first notification. Notifications that are no longer kept are left out.
    pub from: u64,
    /// The page size; 1000 at most.
    pub most: usize,
}

/// Queries the recorded cursor of a hook: the number of the first notification that it did not get. None
/// for an unknown hook: its notifications begin when it is configured.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Option<u64>")]
pub struct GetDeliveryCursor {
    /// The configured name of the hook.
    pub hook: String,
}

/// A hook got every notification before a number.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct RecordDelivery {
    /// The configured name of the hook.
    pub hook: String,
    /// The number of the first notification that the hook did not get.
    pub up_to: u64,
}
