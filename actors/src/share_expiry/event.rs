//! What can happen to shares: the events of the piece, their outcomes and refusals.
//!
//! **Invariant:** whatever a setting or a clock decides stands in the event (how many shares there
//! may be, until when a download may be resumed, what is forgotten), so that `apply` gives the same
//! on nodes configured differently.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::ShareId;
use super::moves::{MoveEnd, MoveRefused, NewMove};
use super::path::{RootName, SharePath};
use super::share::ClientKey;
use super::terms::BadTerms;
use super::value_types::{Deadline, PasswordHash, ShareEnding, ShareKind, ShareNote, ShareOwner};
use crate::clock::Millis;
use crate::event::RequestId;

/// One event. Postcard numbers the variants in this order: new ones go to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareEvent {
    /// A share is there from now on.
    Created(Box<NewShare>),
    /// Its terms are others.
    Changed {
        /// The share.
        id: ShareId,
        /// Its generation when that was decided: it is refused at any other.
        generation: u32,
        /// What is to be otherwise.
        changes: Box<ShareChanges>,
    },
    /// These are due and end. Those that are not due when this is applied are left out.
    Reclaimed {
        /// The shares, the most overdue first.
        #[serde(with = "super::id::packed")]
        ids: Vec<ShareId>,
    },
    /// These end, whatever their deadlines. Those that have ended already are left out.
    Ended {
        /// The shares.
        #[serde(with = "super::id::packed")]
        ids: Vec<ShareId>,
        /// Why: revoked, evicted, removed or root gone.
        why: ShareEnding,
        /// Whether downloads that are still running are to be cut: also those of shares that have
        /// ended already.
        cut: bool,
        /// Who wants it.
        by: String,
    },
    /// All shares of a path and of what is below it end, so many at most, in the order of their
    /// paths: what they shared is gone.
    EndedWithin {
        /// The root.
        root: RootName,
        /// The file or directory.
        path: SharePath,
        /// Why: removed or root gone.
        why: ShareEnding,
        /// How many this event ends at most. More of them take more events.
        most: u64,
        /// Who wants it.
        by: String,
    },
    /// A download is counted.
    Taken {
        /// The share.
        id: ShareId,
        /// Who takes it.
        client: ClientKey,
        /// Until when it may be resumed.
        resume_until: Millis,
        /// Downloads that were taken before this instant may be resumed no longer.
        forget_before: Millis,
        /// Names the request: repeated, it is counted once.
        request: RequestId,
    },
    /// A file or directory is about to be renamed, for its shares to follow. On record before that,
    /// so that whoever finds it afterwards looks at the disk.
    MoveBegun(Box<NewMove>),
    /// It was told that these will end soon. Those with a later deadline and those of which it was
    /// told before are left out.
    Noticed {
        /// The shares.
        #[serde(with = "super::id::packed")]
        ids: Vec<ShareId>,
        /// The latest deadline that counts as soon.
        until: Millis,
    },
    /// Nothing is reclaimed until it is resumed.
    Paused {
        /// Who wants it.
        by: String,
    },
    /// What is due is reclaimed again.
    Resumed {
        /// Who wants it.
        by: String,
    },
    /// What is remembered of ended shares goes, the oldest first.
    Forgot {
        /// Every tombstone that is older, by their own count.
        tombstones_before: u64,
        /// Every happening with a lower number.
        happenings_before: u64,
        /// Hooks that are no longer waited for.
        hooks: Vec<String>,
    },
    /// A hook has everything up to here.
    Delivered {
        /// The hook.
        hook: String,
        /// The number of the first happening that it does not have.
        up_to: u64,
    },
    /// It is known what became of a file that was to be renamed: its first shares follow.
    MoveSettled {
        /// The move.
        number: u64,
        /// What became of it.
        end: MoveEnd,
        /// How many shares this event changes at most. More of them take more events.
        most: u64,
    },
    /// The next shares of a move follow, or end.
    MoveFollowed {
        /// The move.
        number: u64,
        /// How many events have changed shares by it before this one, which changes nothing otherwise.
        part: u32,
        /// How many shares this event changes at most.
        most: u64,
    },
    /// A download is counted that begins with a part of the file: its client may begin the whole once.
    TakenInPart {
        /// The share.
        id: ShareId,
        /// Who takes it.
        client: ClientKey,
        /// Until when it may be resumed.
        resume_until: Millis,
        /// Downloads that were taken before this instant may be resumed no longer.
        forget_before: Millis,
        /// Names the request: repeated, it is counted once.
        request: RequestId,
    },
    /// A client begins the whole of a download that it began with a part. Nothing is counted.
    WholeBegun {
        /// The share.
        id: ShareId,
        /// Whose download it is.
        client: ClientKey,
        /// Names the request: repeated, it is admitted once.
        request: RequestId,
    },
    /// The time of this event goes on record: what has come due by then stays ended.
    TimeNoted,
    /// An operator confirms the wall clock: this is the time on record, whatever it was before.
    TimeSet {
        /// The time.
        to: Millis,
        /// Who wants it.
        by: String,
    },
}

/// A share as it is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewShare {
    /// Its id.
    pub id: ShareId,
    /// The root it is shared from.
    pub root: RootName,
    /// What is shared, below the root.
    pub path: SharePath,
    /// What it is.
    pub kind: ShareKind,
    /// When it ends.
    pub deadline: Deadline,
    /// Whether nothing is to be told before that: it is too near.
    pub noticed: bool,
    /// Whose it is.
    pub owner: Option<ShareOwner>,
    /// What its owner noted.
    pub note: Option<ShareNote>,
    /// The hash of its password.
    pub password: Option<PasswordHash>,
    /// How many downloads it allows.
    pub max_downloads: Option<NonZeroU32>,
    /// How many shares there may be with it.
    pub room: ShareLimits,
}

/// How many shares there may be; 0 for any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareLimits {
    /// In all.
    pub shares: u64,
    /// Of one owner.
    pub of_owner: u64,
}

/// What is to be otherwise. What is none stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareChanges {
    /// The deadline.
    pub deadline: Option<NewDeadline>,
    /// How many downloads it allows; any number if there is none in it.
    pub max_downloads: Option<Option<NonZeroU32>>,
    /// The hash of its password; none at all if there is none in it.
    pub password: Option<Option<PasswordHash>>,
    /// Whose it is.
    pub owner: Option<NewOwner>,
    /// What its owner notes.
    pub note: Option<Option<ShareNote>>,
}

/// A deadline as it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewDeadline {
    /// When it ends.
    pub deadline: Deadline,
    /// Whether nothing is to be told before that: it is too near.
    pub noticed: bool,
}

/// An owner as it is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewOwner {
    /// Who, if anybody.
    pub owner: Option<ShareOwner>,
    /// How many shares an owner may have; 0 for any number.
    pub most: u64,
}

/// What an applied event did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ShareOutcome {
    /// A share was created.
    Created {
        /// Its id.
        id: ShareId,
    },
    /// A share has other terms.
    Changed {
        /// Its generation now.
        generation: u32,
        /// When it is due now.
        due: Deadline,
    },
    /// Shares ended.
    Ended {
        /// How many.
        ended: u64,
        /// The number of the first happening that tells it; the others follow.
        first: u64,
        /// The number after the last one.
        next: u64,
    },
    /// A download was counted.
    Taken {
        /// How many are left.
        left: u32,
        /// The number of the happening that tells that it was the last one.
        exhausted: Option<u64>,
    },
    /// A move is on record.
    MoveBegun {
        /// Its number.
        number: u64,
    },
    /// It was told that shares will end soon.
    Noticed {
        /// The number of the first happening that tells it; the others follow.
        first: u64,
        /// The number after the last one.
        next: u64,
    },
    /// It changed the piece.
    Applied,
    /// The piece was so already.
    AlreadySo,
    /// A move went on.
    MoveWent {
        /// Which.
        number: u64,
        /// Whether every share has followed.
        done: bool,
        /// Whether the file is at neither of the paths.
        lost: bool,
        /// Why nothing was moved, if nothing was.
        refused: Option<MoveRefused>,
        /// How many shares have followed so far.
        followed: u64,
        /// How many have ended by it so far.
        ended: u64,
        /// The number of the first happening that tells of ends in this event.
        first: u64,
        /// The number after the last one.
        next: u64,
    },
}

/// Why an event changed nothing, or a request was refused before there was one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum ShareRefusal {
    /// No such share, or nothing of it is remembered.
    #[error("the share does not exist")]
    Unknown,
    /// It has ended, or its deadline has come.
    #[error("the share has ended: {}", .why.word())]
    Ended {
        /// Why.
        why: ShareEnding,
    },
    /// Its last download was taken.
    #[error("the share allows no more downloads")]
    Exhausted,
    /// It was changed between deciding and applying.
    #[error("the share changed at the same time: nothing was done, try again")]
    ChangedMeanwhile,
    /// Its deadline is not such that it is to be changed.
    #[error("the condition does not hold: the share ends {deadline}")]
    ConditionFails {
        /// Its deadline.
        deadline: Deadline,
    },
    /// Terms that are not allowed.
    #[error(transparent)]
    Terms(#[from] BadTerms),
    /// There are as many shares as there may be.
    #[error("the limit of {most} shares is reached (share.max_shares)")]
    Full {
        /// How many there may be.
        most: u64,
    },
    /// The owner has as many shares as an owner may have.
    #[error("this owner has {most} shares, which is the limit (share.max_per_owner)")]
    OwnerFull {
        /// How many an owner may have.
        most: u64,
    },
    /// The id is in use, or was.
    #[error("the id is already in use")]
    IdInUse,
    /// More downloads were taken than it is to allow.
    #[error("{taken} downloads were already taken: the limit cannot be {most}")]
    FewerThanTaken {
        /// How many were taken.
        taken: u32,
        /// How many it was to allow.
        most: u32,
    },
    /// Nothing can be shared from there.
    #[error("no share root is named {root}; add it to [share.roots] and reload")]
    NoRoot {
        /// The root.
        root: RootName,
    },
    /// Nothing is moved.
    #[error(transparent)]
    Move(#[from] MoveRefused),
    /// What is to be shared is being moved, or something is moved there.
    #[error("it is being moved, or what is above or below it: ask again in a moment")]
    BeingMoved,
    /// The system has no random numbers to give, so that there is no new id.
    #[error("{0}")]
    NoRandomness(String),
    /// The name of the request is that of another one.
    #[error("another request used this request id: choose another one")]
    OtherRequest,
    /// The wall clock is far ahead and not confirmed: by either clock these terms mean another
    /// deadline.
    #[error(
        "the wall clock is {} ahead of the confirmed time, so it is not known when a new deadline \
         would come: correct the clock, or wait {} until it is confirmed, or run \"reelyard share \
         confirm-clock\" if it is right",
        whole_seconds(*.ahead),
        whole_seconds(*.confirmed_in)
    )]
    ClockUnconfirmed {
        /// How far the wall clock is ahead.
        ahead: Duration,
        /// In how long it is confirmed, unless it is corrected before.
        confirmed_in: Duration,
    },
}

/// A duration in words, rounded up to whole seconds.
fn whole_seconds(span: Duration) -> humantime::FormattedDuration {
    let seconds = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    humantime::format_duration(Duration::from_secs(seconds))
}
