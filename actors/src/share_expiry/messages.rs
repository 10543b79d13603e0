//! The face of the ShareExpiryActor. What only reads asks the [`ShareViewHandle`](super::ShareViewHandle).

use std::num::NonZeroU32;
use std::sync::Arc;

use actix::Message;
use serde::{Deserialize, Serialize};

use super::event::ShareRefusal;
use super::id::ShareId;
use super::moves::{MoveEnd, MoveRefused, Moved, NewMove, ShareLocation};
use super::path::{RootName, SharePath};
use super::settings::ShareExpirySettings;
use super::share::{ClientKey, Share};
use super::terms::{OnlyIf, ShareLifetime};
use super::value_types::{Deadline, PasswordHash, ShareEnding, ShareKind, ShareNote, ShareOwner};
use crate::clock::Millis;
use crate::event::{Epoch, RequestId};
use crate::journal::CommitError;

/// Why a request came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShareError {
    /// It was refused.
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
    /// The root to share from.
    pub root: RootName,
    /// What is shared, below the root. That it is there is for whoever asks to see.
    pub path: SharePath,
    /// What it is.
    pub kind: ShareKind,
    /// How many moves had begun when it was looked at, as [`ShareViewHandle`](super::ShareViewHandle) told. When
    /// others have begun since, it is to be looked at again. None for what no move can concern.
    pub looked: Option<u64>,
    /// How long it lasts.
    pub term: ShareLifetime,
    /// The hash of its password.
    pub password: Option<PasswordHash>,
    /// How many downloads it allows; any number if none.
    pub max_downloads: Option<NonZeroU32>,
    /// Whose it is.
    pub owner: Option<ShareOwner>,
    /// A note for those who manage it.
    pub note: Option<ShareNote>,
    /// Who asks.
    pub asked_by: String,
    /// Names the request; none when nobody is going to repeat it. What is named is remembered for a
    /// quarter of an hour, at about as much memory as a share takes.
    pub request: Option<RequestId>,
}

/// Asks what came of a request to create a share. None if it is not known, or no longer.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Option<Arc<Share>>, ShareError>")]
pub struct RecallShare {
    /// The request.
    pub request: RequestId,
}

/// What is to be otherwise of a share. What is none stays as it is.
#[derive(Clone, Debug, Default)]
pub struct NewTerms {
    /// How long it lasts from now on.
    pub term: Option<ShareLifetime>,
    /// On what that depends; if it does not hold, nothing is changed at all.
    pub only_if: Option<OnlyIf>,
    /// The hash of its password, or none any more.
    pub password: Option<Option<PasswordHash>>,
    /// How many downloads it allows in all, or any number.
    pub max_downloads: Option<Option<NonZeroU32>>,
    /// Whose it is, or nobody's.
    pub owner: Option<Option<ShareOwner>>,
    /// Its note, or none any more.
    pub note: Option<Option<ShareNote>>,
}

/// Changes a share. Answers it as it is then.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Arc<Share>, ShareError>")]
pub struct ChangeShare {
    /// The share.
    pub id: ShareId,
    /// What is to be otherwise.
    pub change: NewTerms,
    /// Who asks.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Takes shares back. Running downloads go on, unless it is to be hard: then they are cut within a
/// second, also those of shares that have ended already.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Revoked, ShareError>")]
pub struct RevokeShares {
    /// The shares.
    pub ids: Vec<ShareId>,
    /// Whether running downloads are cut.
    pub hard: bool,
    /// Who asks.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// What became of the shares that were to be taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Revoked {
    /// How many ended by it.
    pub ended: u64,
    /// How many had ended already, or were never there.
    pub others: u64,
}

/// Asks to send the bytes of a share, when its [`downloads`](Share::downloads) are limited. Not to be
/// asked for a HEAD, for what is answered without a body, or before the password is right: whatever
/// is asked here may count.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<DownloadAdmission, ShareError>")]
pub struct TakeDownload {
    /// The share.
    pub id: ShareId,
    /// Who asks.
    pub client: ClientKey,
    /// Whether a part is asked for: that does not count if this client has taken a download that it
    /// may still resume. One that begins with a part may begin the whole once.
    pub ranged: bool,
    /// Names the request.
    pub request: RequestId,
}

/// How bytes are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DownloadAdmission {
    /// As a download that was counted.
    Counted {
        /// How many are left.
        left: u32,
    },
    /// As part of one that was counted before.
    Resumed,
    /// Without counting: the share has no limit.
    Unlimited,
}

/// Asks what came of a request to move something. None if it is not known, or no longer.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Option<MoveAnswer>, ShareError>")]
pub struct RecallMove {
    /// The request.
    pub request: RequestId,
}

/// What a move came to, or why nothing was moved.
pub type MoveAnswer = Result<Moved, MoveRefused>;

/// Puts on record that something is about to be moved, so that its shares follow. Whoever asks renames
/// it then, and settles the move.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<BegunMove, ShareError>")]
pub struct BeginMove(pub NewMove);

/// A move that is on record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BegunMove {
    /// The move.
    pub number: u64,
    /// The epoch that it was decided in: in any other somebody else settles it.
    pub epoch: Epoch,
}

/// It is known what became of what was to be moved. Answers once all shares have followed.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<MoveAnswer, ShareError>")]
pub struct SettleMove {
    /// The move.
    pub number: u64,
    /// What became of it.
    pub end: MoveEnd,
}

/// What these shares stood for is gone: they end, but for those that stand for something else by now,
/// or are about to. Answers how many that were.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<u64, ShareError>")]
pub struct EndRemoved {
    /// The shares, with where it was looked for.
    pub gone: Vec<(ShareId, ShareLocation)>,
    /// Who says so.
    pub asked_by: String,
}

/// Pauses the reclaim of what is due, or resumes it. Links are refused at their deadlines all the
/// same. Answers whether that was news.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<bool, CommitError>")]
pub struct PauseReclaim {
    /// Paused, or no longer.
    pub paused: bool,
    /// Who asks.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// An operator says that the wall clock is right: shares go by it from now on. Where it is ahead, what
/// is due by it is reclaimed. Where it is behind, links that were refused and not reclaimed may come
/// back.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct ConfirmClock {
    /// Who asks.
    pub asked_by: String,
    /// Names the request.
    pub request: RequestId,
}

/// Reclaims what is due now, instead of when the timer says. Operators and tests send it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct ReclaimNow;

/// Goes by these settings from now on.
#[derive(Clone, Debug, Message)]
#[rtype(result = "()")]
pub struct ChangeShareSettings(pub ShareExpirySettings);

/// Asks for the shares of a path and of all below it, in the order of their paths.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Vec<Arc<Share>>")]
pub struct SharesWithin {
    /// The root.
    pub root: RootName,
    /// The file or directory.
    pub path: SharePath,
    /// Only those behind this one.
    pub after: Option<(SharePath, ShareId)>,
    /// At most so many; never more than 1000.
    pub most: usize,
}

/// Asks what has happened from a number on, oldest first: what a hook is to be told next.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "ShareNotifications")]
pub struct FetchNotifications {
    /// The number of the first. What is no longer kept is left out.
    pub from: u64,
    /// At most so many; never more than 1000.
    pub most: usize,
}

/// Asks what a hook was told, as is on record: the number of the first happening that it was not.
/// None for one that is not known yet: what it is told begins when it is.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Option<u64>")]
pub struct GetDeliveryCursor {
    /// The hook.
    pub hook: String,
}

/// A part of what has happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, actix::MessageResponse)]
pub struct ShareNotifications {
    /// What happened, oldest first.
    pub happenings: Vec<ShareNotification>,
    /// The number to go on from.
    pub next: u64,
}

/// One thing that happened to a share: its number is its name for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareNotification {
    /// Counts from 0.
    pub number: u64,
    /// The share.
    pub id: ShareId,
    /// When.
    pub at: Millis,
    /// What.
    pub what: ShareNotificationKind,
    /// The share as it was then.
    pub root: RootName,
    /// What it shared.
    pub path: SharePath,
    /// Whose it was.
    pub owner: Option<ShareOwner>,
    /// What its owner noted.
    pub note: Option<ShareNote>,
    /// Its deadline.
    pub deadline: Deadline,
    /// When it is due: at its deadline, or before that where its last download was taken.
    pub due: Deadline,
    /// Who wanted it, unless it was a matter of time.
    pub by: Option<String>,
}

/// What can happen to a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareNotificationKind {
    /// It will end soon.
    Notice,
    /// It has ended. Of `Exhausted`, this is told when the last download was taken, and once.
    Ended(ShareEnding),
}

impl ShareNotificationKind {
    /// All there is.
    pub fn all() -> impl Iterator<Item = ShareNotificationKind> {
        [ShareNotificationKind::Notice]
            .into_iter()
            .chain(ShareEnding::ALL.map(ShareNotificationKind::Ended))
    }

    /// A stable word for it.
    pub fn word(self) -> &'static str {
        match self {
            ShareNotificationKind::Notice => "notice",
            ShareNotificationKind::Ended(why) => why.word(),
        }
    }
}

/// A hook was told everything before a number.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct RecordDelivery {
    /// The hook.
    pub hook: String,
    /// The number of the first happening that it was not told.
    pub up_to: u64,
}
