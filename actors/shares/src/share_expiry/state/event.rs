//! The events of the shares' piece, their outcomes and refusals.
//!
//! **Invariant:** the event contains every result of a setting or a clock, so that `apply` gives the same
//! on nodes with different settings. Examples are the limit of shares, the end of the time to resume a
//! download, and the forgotten records.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use serde::{Deserialize, Serialize};

use super::moves::pending_move::{MoveEnd, MoveRefused, NewMove};
use super::moves::stored_move::move_of_event;
use super::table::share::ClientKey;
use super::values::id::ShareId;
use super::values::path::{RootName, SharePath};
use super::values::root_id::RootId;
use super::values::share_terms::{ShareTerm, ShareTerms, terms_of_event};
use super::values::value_types::{Deadline, ShareEnding, ShareKind, ShareOwner};
use crate::share_expiry::state::values::bad_lifetime::BadLifetime;

/// One durable change of the piece. Postcard numbers the variants in this order: add new ones at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareEvent {
    /// A share was created.
    Created(Box<NewShare>),
    /// A share got new terms.
    Changed {
        /// The id of the share.
        id: ShareId,
        /// Its generation at the decision. At another generation the event is refused.
        generation: u32,
        /// The new values.
        changes: Box<ShareChanges>,
    },
    /// These due shares end. Shares that are not due when this is applied are left out.
    Reclaimed {
        /// The shares, the most overdue first.
        #[serde(with = "super::values::id::packed")]
        ids: Vec<ShareId>,
    },
    /// These shares end before their deadlines. Shares that have already ended are left out.
    Ended {
        /// The ids of the shares.
        #[serde(with = "super::values::id::packed")]
        ids: Vec<ShareId>,
        /// The reason: revoked, evicted, removed or root gone.
        why: ShareEnding,
        /// Whether running downloads are cut, also those of shares that have already ended.
        cut: bool,
        /// The caller's name, for the audit.
        by: String,
    },
    /// Ends all shares of a path and below it, up to the limit, in the order of their paths, because
    /// their files are missing.
    EndedWithin {
        /// The root of the path.
        root: RootName,
        /// The file or directory, below the root.
        path: SharePath,
        /// The reason: removed or root gone.
        why: ShareEnding,
        /// The largest number of shares that this event ends. More shares need more events.
        most: u64,
        /// The caller's name, for the audit.
        by: String,
    },
    /// A download was counted.
    Taken {
        /// The id of the share.
        id: ShareId,
        /// The client that downloads.
        client: ClientKey,
        /// The end of the time in which it may be resumed.
        resume_until: Millis,
        /// Downloads that were counted before this instant may no longer be resumed.
        forget_before: Millis,
        /// Identifies the request. A repetition is counted once.
        request: RequestId,
    },
    /// A file or directory is about to be renamed, for its shares to follow. It is recorded before the
    /// rename, so that a later leader checks the disk.
    MoveBegun(#[serde(with = "move_of_event")] Box<NewMove>),
    /// The notice of the end of these shares was sent. Shares with a later deadline, and shares with an
    /// earlier notice, are left out.
    Noticed {
        /// The ids of the shares.
        #[serde(with = "super::values::id::packed")]
        ids: Vec<ShareId>,
        /// The latest deadline that counts as soon.
        until: Millis,
    },
    /// Pauses the reclaim until it is resumed.
    Paused {
        /// The caller's name, for the audit.
        by: String,
    },
    /// Reclaim runs again.
    Resumed {
        /// The caller's name, for the audit.
        by: String,
    },
    /// Forgets tombstones, the oldest first.
    Forgot {
        /// Every older tombstone, by their own numbers.
        tombstones_before: u64,
        /// Every notification with a lower number is forgotten.
        notifications_before: u64,
        /// Hooks that are no longer configured.
        hooks: Vec<String>,
    },
    /// A hook has everything up to here.
    Delivered {
        /// The configured name of the hook.
        hook: String,
        /// The number of the first notification that it does not have.
        up_to: u64,
    },
    /// The outcome of a rename is known, and the first shares follow.
    MoveSettled {
        /// The number of the recorded move.
        number: u64,
        /// The outcome of the move on disk.
        end: MoveEnd,
        /// The largest number of shares that this event changes. More shares need more events.
        most: u64,
    },
    /// The next shares of a move follow, or end.
    MoveFollowed {
        /// The number of the recorded move.
        number: u64,
        /// Number of earlier events of this move. If it differs, this event changes nothing.
        part: u32,
        /// The largest number of shares that this event changes.
        most: u64,
    },
    /// Counts a download that begins with a part of the file. Its client may request the whole file once.
    TakenInPart {
        /// The id of the share.
        id: ShareId,
        /// The client that downloads.
        client: ClientKey,
        /// The end of the time in which it may be resumed.
        resume_until: Millis,
        /// Downloads that were counted before this instant may no longer be resumed.
        forget_before: Millis,
        /// Names the request: repeated, it is counted once.
        request: RequestId,
    },
    /// A client requests the whole file after a part. The file is then sent without counting.
    WholeBegun {
        /// The id of the share.
        id: ShareId,
        /// The client that downloads.
        client: ClientKey,
        /// Identifies the request. A repetition is admitted once.
        request: RequestId,
    },
    /// Records the time of this event, so that shares which were due by then stay ended.
    TimeRecorded,
    /// An operator confirms the wall clock. This becomes the recorded time, even if it is earlier.
    TimeSet {
        /// The confirmed time, in milliseconds.
        to: Millis,
        /// The caller's name, for the audit.
        by: String,
    },
    /// The id of a root is on record from now on, or none is. If another id is on record, nothing changes.
    RootRecorded {
        /// The name of the root.
        root: RootName,
        /// The id in its directory. None forgets the recorded one.
        id: Option<RootId>,
    },
}

/// A share at its creation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewShare {
    /// The id of the new share.
    pub id: ShareId,
    /// The root it is shared from.
    pub root: RootName,
    /// The path of the share, below the root.
    pub path: SharePath,
    /// A file or a directory.
    pub kind: ShareKind,
    /// The instant at which the share ends.
    pub deadline: Deadline,
    /// Whether no notice is sent, because the deadline is too near.
    pub noticed: bool,
    /// The owner, if the client named one.
    pub owner: Option<ShareOwner>,
    /// The other terms that the client chose.
    #[serde(with = "terms_of_event")]
    pub terms: ShareTerms,
    /// The largest number of shares, including this one.
    pub room: ShareLimits,
}

/// How many shares there may be; 0 for any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareLimits {
    /// The limit of shares in all.
    pub shares: u64,
    /// The limit of shares per owner.
    pub of_owner: u64,
}

/// New values for the terms of a share. A field without a value does not change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareChanges {
    /// The new deadline, if it changes.
    pub deadline: Option<NewDeadline>,
    /// The new owner, if it changes.
    pub owner: Option<NewOwner>,
    /// The other terms that change.
    pub terms: Vec<ShareTerm>,
}

/// The end of a share that is created or extended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDeadline {
    /// The instant at which the share ends.
    pub deadline: Deadline,
    /// Whether no notice is sent before that: the deadline is too near.
    pub noticed: bool,
}

/// A new owner, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOwner {
    /// The owner; none removes it.
    pub owner: Option<ShareOwner>,
    /// How many shares an owner may have; 0 for any number.
    pub most: u64,
}

/// The outcome of an applied event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareOutcome {
    /// A share was created.
    Created {
        /// The id of the new share.
        id: ShareId,
    },
    /// A share got new terms.
    Changed {
        /// The generation after the change.
        generation: u32,
        /// The deadline after the change.
        due: Deadline,
    },
    /// These shares ended.
    Ended {
        /// The number of shares that ended.
        ended: u64,
        /// The number of its first notification. The others have the next numbers.
        first: u64,
        /// The number after the last one.
        next: u64,
    },
    /// A download was counted.
    Taken {
        /// How many downloads are left.
        left: u32,
        /// The number of the notification about the last download.
        exhausted: Option<u64>,
    },
    /// A move was recorded.
    MoveBegun {
        /// The number of the move.
        number: u64,
    },
    /// The notices of the end of shares are recorded.
    Noticed {
        /// The number of its first notification. The others have the next numbers.
        first: u64,
        /// The number after the last one.
        next: u64,
    },
    /// The piece changed, without details.
    Applied,
    /// The piece was so already.
    AlreadySo,
    /// A move made progress.
    MoveWent {
        /// The number of the move.
        number: u64,
        /// Whether every share has followed.
        done: bool,
        /// Whether the file is at neither path.
        lost: bool,
        /// Why nothing was moved, if nothing was.
        refused: Option<MoveRefused>,
        /// How many shares have followed so far.
        followed: u64,
        /// How many have ended by it so far.
        ended: u64,
        /// The number of the first notification about ends in this event.
        first: u64,
        /// The number after the last one.
        next: u64,
    },
}

/// Why an event changed nothing, or a request was refused before there was one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ShareRefusal {
    /// No such share, or it is forgotten.
    #[error("the share does not exist")]
    Unknown,
    /// It has ended, or its deadline has passed.
    #[error("the share has ended: {}", .why.word())]
    Ended {
        /// Why the share ended.
        why: ShareEnding,
    },
    /// Its last download was taken.
    #[error("the share allows no more downloads")]
    Exhausted,
    /// It was changed between decision and application.
    #[error("the share changed at the same time: nothing was done, try again")]
    ChangedMeanwhile,
    /// Its deadline does not meet the condition of the change.
    #[error("the condition does not hold: the share ends {deadline}")]
    ConditionFails {
        /// The instant at which the share ends.
        deadline: Deadline,
    },
    /// Terms that are not allowed.
    #[error(transparent)]
    Terms(#[from] BadLifetime),
    /// The limit of shares is reached.
    #[error("the limit of {most} shares is reached (share.max_shares)")]
    Full {
        /// The limit of shares.
        most: u64,
    },
    /// The owner has the largest allowed number of shares.
    #[error("this owner has {most} shares, which is the limit (share.max_per_owner)")]
    OwnerFull {
        /// How many an owner may have.
        most: u64,
    },
    /// The id is in use, or was.
    #[error("the id is already in use")]
    IdInUse,
    /// More downloads were already taken than the new limit allows.
    #[error("{taken} downloads were already taken: the limit cannot be {most}")]
    FewerThanTaken {
        /// How many downloads were counted.
        taken: u32,
        /// The requested limit.
        most: u32,
    },
    /// Nothing can be shared from there.
    #[error("no share root is named {root}; add it to [share.roots] and reload")]
    NoRoot {
        /// The root of the path.
        root: RootName,
    },
    /// The move was refused.
    #[error(transparent)]
    Move(#[from] MoveRefused),
    /// The path is being moved, or another move has this target.
    #[error("the path, or one above or below it, is being moved: try again in a moment")]
    BeingMoved,
    /// The system has no random numbers for a new id.
    #[error("{0}")]
    NoRandomness(String),
    /// The name of the request is that of another one.
    #[error("another request used this request id: choose another one")]
    OtherRequest,
    /// The wall clock is far ahead and not confirmed: by the other clock these terms give another
    /// deadline.
    #[error(
        "the wall clock is {} ahead of the confirmed time, so new deadlines are not possible. Correct the \
         clock, or wait {} until it is confirmed. If it is right, run \"reelyard share confirm-clock\"",
        whole_seconds(*.ahead),
        whole_seconds(*.confirmed_in)
    )]
    ClockUnconfirmed {
        /// How far the wall clock is ahead.
        ahead: Duration,
        /// The time until it is confirmed, unless it is corrected before.
        confirmed_in: Duration,
    },
}

/// A duration in words, rounded up to whole seconds.
fn whole_seconds(span: Duration) -> humantime::FormattedDuration {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    humantime::format_duration(Duration::from_secs(seconds))
}
