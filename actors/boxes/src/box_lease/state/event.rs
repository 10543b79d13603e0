//! The events of the boxes' piece, their outcomes and refusals.
//!
//! **Invariant:** the event contains every result of a clock or a setting, and `apply` checks every event
//! again: a decision on outdated state changes nothing.

use std::time::Duration;

use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;
use reelyard_core::durations::in_words;
use reelyard_core::event::{Epoch, RequestId};
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{
    BadBoxText, BoxNumber, FenceToken, Holder, HookOutput, IdRange, LeaseId, PoolName, Reason,
    SlotId,
};
use serde::{Deserialize, Serialize};

use super::leases::lease::LeaseEnd;
use super::pools::spec::{BadSpec, PoolSpec};
use super::stored::spec_of_event;

/// One durable change of the piece. Postcard numbers the variants in this order: add new ones at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxEvent {
    /// A pool is so from now on.
    PoolPut {
        /// The name of the pool.
        pool: PoolName,
        /// The wanted specification.
        #[serde(with = "spec_of_event")]
        spec: Box<PoolSpec>,
    },
    /// Removes a pool: nothing more is granted, and it disappears with its last box.
    PoolRemoved {
        /// The name of the pool.
        pool: PoolName,
    },
    /// Boxes are granted: all of them or none.
    Granted(Box<NewGrant>),
    /// The boxes of these leases are ready, and their holder gets them.
    Prepared {
        /// The leases, all granted together.
        leases: Vec<LeaseId>,
        /// How long they last from now on.
        term: Duration,
    },
    /// A box could not be made ready.
    InitFailed {
        /// The id of the lease.
        lease: LeaseId,
        /// The output of the hook.
        output: HookOutput,
    },
    /// A lease got a longer term.
    Renewed {
        /// The id of the lease.
        lease: LeaseId,
        /// The lease's fencing token.
        token: FenceToken,
        /// The new term, from now on.
        term: Duration,
    },
    /// A holder gives its box back.
    Released {
        /// The id of the lease.
        lease: LeaseId,
        /// The lease's fencing token.
        token: FenceToken,
    },
    /// The terms of these leases have passed. Skips leases that were renewed since then. Old form that also
    /// used the wall clock; only read from old stores. New events use `TermsPassed`.
    Expired {
        /// The leases, each with its number of renewals at the decision.
        leases: Vec<(LeaseId, u32)>,
    },
    /// These leases are revoked. Leases that have ended are left out.
    Revoked {
        /// The ids of the leases.
        leases: Vec<LeaseId>,
        /// The caller's name, for the audit.
        by: String,
        /// The reason, for the audit.
        reason: Option<Reason>,
    },
    /// The callers of these leases left before they got the answer. Leases that have ended are left out.
    NotTaken {
        /// The ids of the leases.
        leases: Vec<LeaseId>,
    },
    /// A cleaning succeeded.
    Cleaned {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
        /// The number of this cleaning.
        cleaning: u64,
        /// The output of the hook.
        output: Option<HookOutput>,
    },
    /// A box could not be cleaned.
    CleanFailed {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
        /// The number of this cleaning.
        cleaning: u64,
        /// The number of the attempt, counted from one.
        attempt: u32,
        /// The output of the hook.
        output: HookOutput,
    },
    /// A box is out of use until an operator changes that.
    Quarantined {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
        /// The cleaning that failed finally; none if an operator quarantined the box.
        cleaning: Option<u64>,
        /// The evidence for it.
        output: HookOutput,
        /// The caller that requested it, if any.
        by: Option<String>,
    },
    /// A box is cleaned again, and may be used afterwards.
    Unquarantined {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
        /// The caller's name, for the audit.
        by: String,
    },
    /// The host of a pool must inspect its free boxes before they are granted.
    Recheck {
        /// The name of the pool.
        pool: PoolName,
    },
    /// The host of a pool has inspected boxes. Boxes that need no inspection any more are left out.
    Reconciled {
        /// The name of the pool.
        pool: PoolName,
        /// The boxes that are clean.
        clean: Vec<BoxNumber>,
        /// The boxes that are not clean, with the evidence.
        dirty: Vec<(BoxNumber, HookOutput)>,
    },
    /// Forgets old records, the oldest first.
    Forgot {
        /// Every ended lease with a lower number.
        ended_before: u64,
        /// Every log entry of boxes with a lower number.
        box_log_before: u64,
    },
    /// A pool gets this specification, unless another one has boxes with the same numbers, host and hooks.
    /// (`PoolPut` did not check other pools; stores still hold it.)
    PoolPutAlone {
        /// The name of the pool.
        pool: PoolName,
        /// The wanted specification.
        #[serde(with = "spec_of_event")]
        spec: Box<PoolSpec>,
    },
    /// The tokens of a pool continue above this one, because its host has served its boxes with it.
    TokensRaised {
        /// The name of the pool.
        pool: PoolName,
        /// The token to exceed.
        beyond: FenceToken,
    },
    /// A leader of this epoch decides on boxes from now on.
    Led {
        /// The epoch of the new leader.
        epoch: Epoch,
        /// The tokens of all pools continue above this one, because later decisions were lost.
        beyond: Option<FenceToken>,
    },
    /// The terms of these leases have passed by the monotonic clock. Skips leases that were renewed since
    /// then.
    TermsPassed {
        /// The leases, and how often each was renewed when that was decided.
        leases: Vec<(LeaseId, u32)>,
    },
    /// A new leader gives these leases their full terms once more. Skips leases that were renewed, or got
    /// this already, since then. Old form without a clock; only read from old stores. New events use
    /// `TermsGiven`.
    TermsAgain {
        /// The leases, each with its number of renewals at the decision, and its term.
        leases: Vec<(LeaseId, u32, Duration)>,
    },
    /// A caller without the token of a lease tried to use it.
    WrongToken {
        /// The lease, live or ended.
        lease: LeaseId,
        /// The last drawn token.
        given: FenceToken,
        /// Number of tries since the last record of them.
        times: u64,
    },
    /// A new leader lets these leases last for these terms. Skips leases that were renewed since then, or
    /// got this already for the same boot. Earlier versions gave each lease its full term.
    TermsGiven {
        /// The boot of the leader's machine.
        boot: BootId,
        /// How long that was up when the terms began.
        uptime: Duration,
        /// The leases, how often each was renewed when that was decided, and how long it lasts
        /// at least.
        leases: Vec<(LeaseId, u32, Duration)>,
    },
    /// The host of a pool serves these boxes for it from now on, also boxes that it served for another
    /// pool.
    Adopted {
        /// The name of the pool.
        pool: PoolName,
        /// The pools that lost boxes.
        output: HookOutput,
        /// The caller's name, for the audit.
        by: String,
    },
    /// A pool gets the specification that a version of the cluster's settings has for it, as by `PoolPutAlone`. Each
    /// version sets a pool once: a later change by a request stays.
    PoolPutBySettings {
        /// The name of the pool.
        pool: PoolName,
        /// The wanted specification.
        #[serde(with = "spec_of_event")]
        spec: Box<PoolSpec>,
        /// The number of the version.
        version: u64,
    },
    /// The machine of the new leader. Its wall clock shows the time of this event.
    LedOn {
        /// The boot of the machine.
        boot: BootId,
        /// How long that was up.
        uptime: Duration,
    },
}

impl BoxEvent {
    /// The grant, if the event is one of any version.
    pub fn grant(&self) -> Option<&NewGrant> {
        match self {
            BoxEvent::Granted(grant) => Some(grant),
            _ => None,
        }
    }
}

/// The version in which grants are recorded.
impl From<NewGrant> for BoxEvent {
    fn from(grant: NewGrant) -> Self {
        BoxEvent::Granted(Box::new(grant))
    }
}

/// Boxes that are granted together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewGrant {
    /// The name of the pool.
    pub pool: PoolName,
    /// One lease for each box. Tokens, and ids where the pool draws them, are given by `apply`.
    pub leases: Vec<(LeaseId, BoxNumber)>,
    /// The job that gets them.
    pub holder: Holder,
    /// The term after each renewal that sets none.
    pub ttl: Duration,
    /// Their first term, from now on or from when their boxes are ready.
    pub term: Duration,
    /// The idempotency key, if the caller gave one.
    pub request: Option<RequestId>,
    /// Ids whose rest has a lower number may be drawn.
    pub rested_before: u64,
}

/// The outcome of an applied event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxOutcome {
    /// A pool is so from now on.
    PoolPut {
        /// Whether the pool is new.
        created: bool,
    },
    /// The pool is being removed.
    PoolRemoved {
        /// Whether it is already removed.
        gone: bool,
    },
    /// Boxes were granted to a holder.
    Granted {
        /// The token of the first lease. The others have the next tokens.
        first: FenceToken,
    },
    /// Boxes are ready for their holder.
    Prepared {
        /// The ends of their leases.
        expires_at: Millis,
    },
    /// A lease got a longer term.
    Renewed {
        /// The new end, in milliseconds.
        expires_at: Millis,
        /// How often it was renewed.
        renewals: u32,
    },
    /// Leases have ended.
    Ended {
        /// The ids of the leases.
        leases: Vec<LeaseId>,
    },
    /// A box with a failed cleaning must be cleaned again.
    CleanAgain,
    /// Boxes changed their states.
    Boxes {
        /// How many boxes changed.
        changed: u32,
    },
    /// The piece changed, without details.
    Applied,
    /// The piece was so already.
    AlreadySo,
}

/// Why an event changed nothing, or why a request was refused before there was an event.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum BoxRefusal {
    /// No pool has this name.
    #[error("no pool is named {pool}")]
    NoPool {
        /// The name of the pool.
        pool: PoolName,
    },
    /// The pool has no such box.
    #[error("pool {pool} has no box {number}")]
    NoBox {
        /// The name of the pool.
        pool: PoolName,
        /// The number of the box in its pool.
        number: BoxNumber,
    },
    /// The specification is invalid.
    #[error(transparent)]
    BadSpec(#[from] BadSpec),
    /// A name or text is invalid.
    #[error(transparent)]
    BadText(#[from] BadBoxText),
    /// The hooks and ids of a pool can change only while none of its boxes is in use.
    #[error(
        "pool {pool} is in use: its host, hooks and ids can change only while no box is leased, \
            being cleaned or quarantined"
    )]
    PoolInUse {
        /// The name of the pool.
        pool: PoolName,
    },
    /// The pool is being removed: nothing more is granted.
    #[error("pool {pool} is being removed")]
    PoolGoes {
        /// The name of the pool.
        pool: PoolName,
    },
    /// No such lease, or it is forgotten.
    #[error("the lease does not exist")]
    UnknownLease,
    /// The token is another lease's.
    #[error("the fencing token belongs to another lease")]
    WrongToken,
    /// Its holder gave it back already.
    #[error("the lease was already released")]
    AlreadyReleased,
    /// The term of the lease is over.
    #[error("the lease has expired")]
    Expired,
    /// The lease was revoked.
    #[error("the lease was revoked{}", .reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}")))]
    Revoked {
        /// The reason that the operator gave.
        reason: Option<Reason>,
    },
    /// No caller ever received it.
    #[error("the lease was never given to a holder")]
    NeverHeld,
    /// Its box is not ready yet.
    #[error("the box of the lease is not ready yet")]
    NotReady,
    /// A term that is not allowed.
    #[error("a lease of this pool lasts from a millisecond to {}", in_words(*.most))]
    BadTtl {
        /// The longest allowed time.
        most: Duration,
    },
    /// The lease has reached the longest hold of its pool.
    #[error("the lease reached max_hold of its pool and cannot be renewed")]
    HeldTooLong,
    /// The holder has, or waits for, the largest allowed number of boxes.
    #[error(
        "this holder has or waits for {count} boxes; its quota is {most}: release a box or \
        raise the quota"
    )]
    OverQuota {
        /// The requested number of boxes.
        count: u32,
        /// The limit of this holder.
        most: u32,
    },
    /// More boxes at once than the pool has, or none.
    #[error("a request for boxes of this pool can have 1 to {most} boxes")]
    BadCount {
        /// The largest allowed number.
        most: u32,
    },
    /// A box for the grant is not free.
    #[error("the box is not free")]
    NotFree,
    /// No id is free for a box.
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
    /// A leased box cannot be taken out of use.
    #[error("the box is leased: revoke the lease first")]
    BoxInUse,
    /// The box is not quarantined.
    #[error("the box is not quarantined")]
    NotQuarantined,
    /// The box is quarantined already.
    #[error("the box is already quarantined")]
    AlreadyQuarantined,
    /// The result for a box is outdated.
    #[error("the state of the box changed at the same time: try again")]
    WentOn,
    /// The system has no random numbers to give.
    #[error("{0}")]
    NoRandomness(String),
    /// Another pool has the same boxes on the same host.
    #[error(
        "pool {pool} cannot have {ids} of the hooks \"{hooks}\" on {host}: pool {other} has them; choose other numbers, or remove pool {other} first"
    )]
    IdsTaken {
        /// The pool that is refused.
        pool: PoolName,
        /// The ids that both would have.
        ids: IdRange,
        /// The hooks of both pools.
        hooks: String,
        /// The host of both pools.
        host: HostAddr,
        /// The pool that has them.
        other: PoolName,
    },
    /// Another holder made the request, and this one did not set `take_over`.
    #[error(
        "this request was granted to holder {holder}, not to {asker}: choose another \
            request_id, or set take_over if {asker} continues the work of {holder}"
    )]
    RequestOfOther {
        /// The holder of the first request.
        holder: Holder,
        /// The holder of this repetition.
        asker: Holder,
    },
}

impl BoxRefusal {
    /// The error for a lease that ended in this way.
    pub fn of_end(how: LeaseEnd, reason: Option<&Reason>) -> Self {
        match how {
            LeaseEnd::Released => BoxRefusal::AlreadyReleased,
            LeaseEnd::Expired => BoxRefusal::Expired,
            LeaseEnd::Revoked => BoxRefusal::Revoked { reason: reason.cloned() },
            LeaseEnd::NotTaken | LeaseEnd::InitFailed => BoxRefusal::NeverHeld,
        }
    }
}

/// Log events of a box beside its leases: cleanings and quarantines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BoxLogEvent {
    /// It could not be made ready.
    InitFailed(HookOutput),
    /// The box was cleaned.
    Cleaned(Option<HookOutput>),
    /// The box could not be cleaned.
    CleanFailed {
        /// The number of the attempt, counted from one.
        attempt: u32,
        /// The output of the hook.
        output: HookOutput,
    },
    /// Its host found that it is not clean.
    FoundDirty(HookOutput),
    /// The box was quarantined.
    Quarantined {
        /// The evidence for it.
        output: HookOutput,
        /// The caller that requested it, unless cleaning failed.
        by: Option<String>,
    },
    /// It is cleaned again, to be used.
    Unquarantined {
        /// The caller's name, for the audit.
        by: String,
    },
    /// A caller tried to renew, release or verify its lease with the token of another one.
    WrongToken {
        /// The last drawn token.
        given: FenceToken,
        /// Number of failed tries so far.
        times: u64,
    },
    /// The boxes of the pool were given to it on its host. One line for all boxes, at the first one.
    Adopted {
        /// The pools that lost boxes.
        output: HookOutput,
        /// The caller's name, for the audit.
        by: String,
    },
}

/// One entry in the log of boxes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxLogEntry {
    /// Time of the entry, in milliseconds.
    pub at: Millis,
    /// The name of the pool.
    pub pool: PoolName,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The token of its last lease.
    pub token: Option<FenceToken>,
    /// The id of the box for that lease, if its pool draws ids.
    pub slot: Option<SlotId>,
    /// The kind of log event.
    pub news: BoxLogEvent,
}
