//! What can happen to boxes: the events of the piece, their outcomes and refusals.
//!
//! **Invariant:** whatever a clock or a setting decides stands in the event, and every event is checked
//! again by `apply`: what was decided on something that has changed meanwhile changes nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{BoxNumber, FenceToken, IdRange, LeaseId, SlotId};
use super::lease::LeaseEnd;
use super::spec::{BadSpec, PoolSpec};
use super::text::{BadBoxText, Holder, HookOutput, PoolName, Reason};
use crate::boot::BootId;
use crate::clock::Millis;
use crate::durations::in_words;
use crate::event::{Epoch, RequestId};
use crate::host::HostAddr;

/// One event. Postcard numbers the variants in this order: new ones go to the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxEvent {
    /// A pool is so from now on.
    PoolPut {
        /// The name of the pool.
        pool: PoolName,
        /// How it is to be.
        spec: Box<PoolSpec>,
    },
    /// A pool is to go: nothing is granted any more, and it goes with its last box.
    PoolRemoved {
        /// The name of the pool.
        pool: PoolName,
    },
    /// Boxes are somebody's: all of them or none.
    Granted(Box<NewGrant>),
    /// The boxes of these leases are ready, and their holder is told.
    Prepared {
        /// The leases, all granted together.
        leases: Vec<LeaseId>,
        /// How long they last from now on.
        term: Duration,
    },
    /// A box could not be made ready.
    InitFailed {
        /// Its lease.
        lease: LeaseId,
        /// What was said.
        said: HookOutput,
    },
    /// A lease lasts longer.
    Renewed {
        /// The id of the lease.
        lease: LeaseId,
        /// Its token.
        token: FenceToken,
        /// How long from now on.
        term: Duration,
    },
    /// A holder gives its box back.
    Released {
        /// The id of the lease.
        lease: LeaseId,
        /// Its token.
        token: FenceToken,
    },
    /// The terms of these are over. Those that were renewed since are left out.
    Expired {
        /// The leases, and how often each was renewed when that was decided.
        leases: Vec<(LeaseId, u32)>,
    },
    /// These are taken away. Those that have ended are left out.
    Revoked {
        /// The leases.
        leases: Vec<LeaseId>,
        /// The caller's name, for the audit.
        by: String,
        /// Why.
        reason: Option<Reason>,
    },
    /// Nobody was told of these: whoever waited had gone. Those that have ended are left out.
    NotTaken {
        /// The leases.
        leases: Vec<LeaseId>,
    },
    /// A box is clean.
    Cleaned {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
        /// Which cleaning that was.
        cleaning: u64,
        /// What was said.
        said: Option<HookOutput>,
    },
    /// A box is not clean yet.
    CleanFailed {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
        /// Which cleaning that was.
        cleaning: u64,
        /// Which attempt, counted from one.
        attempt: u32,
        /// What was said.
        said: HookOutput,
    },
    /// A box is out of use until somebody says otherwise.
    Quarantined {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
        /// The cleaning that failed for good; none if somebody wants it so.
        cleaning: Option<u64>,
        /// Why: the evidence.
        said: HookOutput,
        /// Who wants it so, if anybody.
        by: Option<String>,
    },
    /// A box is cleaned again, and may then be used.
    Unquarantined {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
        /// The caller's name, for the audit.
        by: String,
    },
    /// The free boxes of a pool are to be looked at by its host before they are granted.
    Recheck {
        /// The name of the pool.
        pool: PoolName,
    },
    /// The host of a pool has looked at boxes. Those that need no look any more are left out.
    Reconciled {
        /// The name of the pool.
        pool: PoolName,
        /// Those that are clean.
        clean: Vec<BoxNumber>,
        /// Those that are not, and what was found.
        dirty: Vec<(BoxNumber, HookOutput)>,
    },
    /// What is remembered goes, the oldest first.
    Forgot {
        /// Every ended lease with a lower number.
        ended_before: u64,
        /// Everything with a lower number that was told of boxes.
        care_before: u64,
    },
    /// A pool is so from now on, unless another one has boxes of the same numbers, host and hooks.
    /// (`PoolPut` did not look at other pools; stores still hold it.)
    PoolPutAlone {
        /// The name of the pool.
        pool: PoolName,
        /// How it is to be.
        spec: Box<PoolSpec>,
    },
    /// The tokens of a pool go on beyond this one: its host served its boxes for it.
    TokensRaised {
        /// The name of the pool.
        pool: PoolName,
        /// The token.
        beyond: FenceToken,
    },
    /// A leader of this epoch decides on boxes from now on.
    Led {
        /// The epoch.
        epoch: Epoch,
        /// The tokens of all pools go on beyond this one: what was decided since is forgotten.
        beyond: Option<FenceToken>,
    },
    /// The terms of these have passed by the clock that nobody sets. Those that were renewed since are
    /// left out. (`Expired` asked the clock on the wall, too; stores still hold it.)
    TermsPassed {
        /// The leases, and how often each was renewed when that was decided.
        leases: Vec<(LeaseId, u32)>,
    },
    /// A new leader gives these their full terms once more. Those that were renewed since, and those
    /// that had that before without a renewal since, are left out. (It did not say by which clock:
    /// `TermsGiven` does; stores still hold it.)
    TermsAgain {
        /// The leases, how often each was renewed when that was decided, and how long it lasts.
        leases: Vec<(LeaseId, u32, Duration)>,
    },
    /// Somebody who has not the token of a lease tried to use it.
    WrongToken {
        /// The lease, live or ended.
        lease: LeaseId,
        /// The last token that was given.
        given: FenceToken,
        /// How often that was tried since it was last on record.
        times: u64,
    },
    /// A new leader gives these their full terms once more. Those that were renewed since, and those
    /// that had that of the same boot without a renewal since, are left out.
    TermsGiven {
        /// The boot of the leader's machine.
        boot: BootId,
        /// How long that was up when the terms began.
        uptime: Duration,
        /// The leases, how often each was renewed when that was decided, and how long it lasts.
        leases: Vec<(LeaseId, u32, Duration)>,
    },
    /// The host of a pool serves its boxes for it from now on, whichever pool it served them for.
    Adopted {
        /// The name of the pool.
        pool: PoolName,
        /// Which pools lost boxes.
        said: HookOutput,
        /// Who wanted it.
        by: String,
    },
}

/// Boxes that are granted together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewGrant {
    /// The name of the pool.
    pub pool: PoolName,
    /// A lease for each box. Tokens, and ids where the pool draws them, are given by `apply`.
    pub leases: Vec<(LeaseId, BoxNumber)>,
    /// Who gets them.
    pub holder: Holder,
    /// How long they last after each renewal if nothing else is said.
    pub ttl: Duration,
    /// How long they last first, from now on or from when their boxes are ready.
    pub term: Duration,
    /// Names the request, if whoever asks named it.
    pub request: Option<RequestId>,
    /// Ids whose rest has a lower number may be drawn.
    pub rested_before: u64,
}

/// What an applied event did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxOutcome {
    /// A pool is so from now on.
    PoolPut {
        /// Whether there was none of that name.
        created: bool,
    },
    /// A pool goes.
    PoolRemoved {
        /// Whether it is gone already.
        gone: bool,
    },
    /// Boxes were granted.
    Granted {
        /// The token of the first lease; the others have the following ones.
        first: FenceToken,
    },
    /// Boxes are ready.
    Prepared {
        /// Until when their leases last.
        expires_at: Millis,
    },
    /// A lease lasts longer.
    Renewed {
        /// Until when.
        expires_at: Millis,
        /// How often it was renewed.
        renewals: u32,
    },
    /// Leases ended.
    Ended {
        /// Which.
        leases: Vec<LeaseId>,
    },
    /// A box that failed its cleaning is to be cleaned again.
    CleanAgain,
    /// Boxes changed their states.
    Boxes {
        /// How many.
        changed: u32,
    },
    /// It changed the piece.
    Applied,
    /// The piece was so already.
    AlreadySo,
}

/// Why an event changed nothing, or a request was refused before there was one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum BoxRefusal {
    /// No such pool.
    #[error("no pool is named {pool}")]
    NoPool {
        /// The name of the pool.
        pool: PoolName,
    },
    /// No such box.
    #[error("pool {pool} has no box {number}")]
    NoBox {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
    },
    /// A pool cannot be so.
    #[error(transparent)]
    BadSpec(#[from] BadSpec),
    /// A name that is none.
    #[error(transparent)]
    BadText(#[from] BadBoxText),
    /// What runs for the boxes of a pool, or their ids, is changed only while nobody uses them.
    #[error(
        "pool {pool} is in use: its host, hooks and ids are changed when no box is leased, being cleaned or quarantined"
    )]
    PoolInUse {
        /// The name of the pool.
        pool: PoolName,
    },
    /// A pool goes: nothing is granted any more.
    #[error("pool {pool} is being removed")]
    PoolGoes {
        /// The name of the pool.
        pool: PoolName,
    },
    /// No such lease, or nothing of it is remembered.
    #[error("the lease does not exist")]
    UnknownLease,
    /// The token is another lease's.
    #[error("the fencing token belongs to another lease")]
    WrongToken,
    /// Its holder gave it back already.
    #[error("the lease was already released")]
    AlreadyReleased,
    /// Its term was over.
    #[error("the lease has expired")]
    Expired,
    /// It was taken away.
    #[error("the lease was revoked{}", .reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}")))]
    Revoked {
        /// Why.
        reason: Option<Reason>,
    },
    /// Nobody was ever told of it.
    #[error("the lease was never given to a holder")]
    NeverHeld,
    /// Its box is not ready.
    #[error("the box of the lease is not ready yet")]
    NotReady,
    /// A term that is not allowed.
    #[error("a lease of this pool lasts from a millisecond to {}", in_words(*.most))]
    BadTtl {
        /// How long at most.
        most: Duration,
    },
    /// It has been held as long as it may be in all.
    #[error("the lease reached max_hold of its pool and cannot be renewed")]
    HeldTooLong,
    /// The holder has, or waits for, as many boxes as a holder may have.
    #[error("this holder has or waits for {count} boxes; its quota is {most}")]
    OverQuota {
        /// How many.
        count: u32,
        /// How many it may have.
        most: u32,
    },
    /// More boxes at once than there are, or none.
    #[error("a request for boxes of this pool can have 1 to {most} boxes")]
    BadCount {
        /// How many at most.
        most: u32,
    },
    /// A box that was to be granted is not free.
    #[error("the box is not free")]
    NotFree,
    /// No id is to be drawn for a box.
    #[error("every id of the pool is in use or in its rest time")]
    NoSlot,
    /// The id is in use, or was.
    #[error("the id is already in use")]
    IdInUse,
    /// The request was granted already.
    #[error("the request was already granted")]
    GrantedBefore,
    /// The name of the request is that of another one.
    #[error("another request used this request id: choose another one")]
    OtherRequest,
    /// A box that is leased is not taken out of use.
    #[error("the box is leased: revoke the lease first")]
    BoxInUse,
    /// The box is not quarantined.
    #[error("the box is not quarantined")]
    NotQuarantined,
    /// The box is quarantined already.
    #[error("the box is already quarantined")]
    AlreadyQuarantined,
    /// What came of a box is no longer of interest.
    #[error("the state of the box changed at the same time: try again")]
    WentOn,
    /// The system has no random numbers to give.
    #[error("{0}")]
    NoRandomness(String),
    /// Another pool has the same boxes of the same host.
    #[error(
        "pool {pool} cannot have {ids} of the hooks \"{hooks}\" on {host}: pool {other} has them; choose other numbers, or remove pool {other} first"
    )]
    IdsTaken {
        /// The pool that is refused.
        pool: PoolName,
        /// The ids that both would have.
        ids: IdRange,
        /// The hooks of both.
        hooks: String,
        /// The host of both.
        host: HostAddr,
        /// The pool that has them.
        other: PoolName,
    },
    /// The request was made by another holder, and nobody said that this one goes on with it.
    #[error(
        "this request was granted to holder {holder}, not to {asker}: choose another request_id, or say take_over if {asker} goes on with the work of {holder}"
    )]
    RequestOfOther {
        /// Who made it.
        holder: Holder,
        /// Who repeats it.
        asker: Holder,
    },
}

impl BoxRefusal {
    /// What is said of a lease that ended so.
    pub fn of_end(how: LeaseEnd, reason: Option<&Reason>) -> Self {
        match how {
            LeaseEnd::Released => BoxRefusal::AlreadyReleased,
            LeaseEnd::Expired => BoxRefusal::Expired,
            LeaseEnd::Revoked => BoxRefusal::Revoked { reason: reason.cloned() },
            LeaseEnd::NotTaken | LeaseEnd::InitFailed => BoxRefusal::NeverHeld,
        }
    }
}

/// What happened to a box beside its leases: what was run for it, and who took it out of use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxLogEvent {
    /// It could not be made ready.
    InitFailed(HookOutput),
    /// It was cleaned.
    Cleaned(Option<HookOutput>),
    /// It was not.
    CleanFailed {
        /// Which attempt, counted from one.
        attempt: u32,
        /// What was said.
        said: HookOutput,
    },
    /// Its host found that it is not clean.
    FoundDirty(HookOutput),
    /// It was taken out of use.
    Quarantined {
        /// Why.
        said: HookOutput,
        /// Who wanted it, unless it could not be cleaned.
        by: Option<String>,
    },
    /// It is cleaned again, to be used.
    Unquarantined {
        /// Who wanted it.
        by: String,
    },
    /// Somebody tried to renew, release or verify its lease with the token of another one.
    WrongToken {
        /// The last token that was given.
        given: FenceToken,
        /// How often.
        times: u64,
    },
    /// The boxes of the pool were handed over to it on its host. One line for all of them, at the first.
    Adopted {
        /// Which pools lost boxes.
        said: HookOutput,
        /// Who wanted it.
        by: String,
    },
}

/// One line of what happened to boxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxLogEntry {
    /// When.
    pub at: Millis,
    /// The name of the pool.
    pub pool: PoolName,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The token of its last lease.
    pub token: Option<FenceToken>,
    /// The id it had for that lease, where the pool draws them.
    pub slot: Option<SlotId>,
    /// What.
    pub news: BoxLogEvent,
}
