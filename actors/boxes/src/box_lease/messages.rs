//! The messages of the BoxLeaseActor. Pure queries use the [`BoxViewHandle`](super::BoxViewHandle); a caller
//! that waits for boxes holds an [`Acquisition`](super::Acquisition).

use std::sync::Arc;
use std::time::Duration;

use actix::Message;
use reelyard_core::clock::Millis;
use reelyard_core::durations::{in_words, rounded};
use reelyard_core::event::{Epoch, RequestId};
use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, LeaseId, PoolName, Reason};
use reelyard_replication::CommitError;
use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};

use crate::box_lease::state::event::{BoxRefusal, NewGrant};
use crate::box_lease::state::leases::lease::Lease;
use crate::box_lease::state::leases::lease_answer::LeaseAnswer;
use crate::box_lease::state::pools::spec::PoolSpec;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoxError {
    /// The request was refused.
    #[error(transparent)]
    Refused(#[from] BoxRefusal),
    /// No box was free within the wait.
    #[error(
        "no box of pool {pool} was free within {}{}",
        in_words(rounded(*.wait)),
        .why.as_ref().map_or_else(String::new, |why| format!(": {why}"))
    )]
    TimedOut {
        /// The name of the pool.
        pool: PoolName,
        /// How long the request waited.
        wait: Duration,
        /// Why boxes of the pool cannot be granted, if not only because of their holders.
        why: Option<String>,
    },
    /// The queue of the pool is full.
    #[error("{waiting} requests already wait for boxes of pool {pool}; retry in {}", in_words(rounded(*.retry_after)))]
    QueueFull {
        /// The name of the pool.
        pool: PoolName,
        /// How many requests wait.
        waiting: u64,
        /// When a retry makes sense, estimated from recent hold times.
        retry_after: Duration,
    },
    /// The mailbox is full.
    #[error("too many requests are waiting, retry in {}", in_words(*.retry_after))]
    Busy {
        /// When asking again makes sense.
        retry_after: Duration,
    },
    /// Another node is the leader now: the place in the queue is lost.
    #[error("leadership changed while the request waited: try again")]
    LeaderChanged,
    /// The actor restarted while it had the request.
    #[error("outcome unknown: the actor restarted while it had the request")]
    Lost,
    /// The host of the pool did not do it.
    #[error("the host of pool {pool} did not carry out the call: {why}")]
    HostSilent {
        /// The name of the pool.
        pool: PoolName,
        /// The error text, for operators.
        why: String,
    },
    /// The outcome is unknown, or this node does not lead.
    #[error(transparent)]
    Journal(#[from] CommitError),
}

/// A request for boxes of a pool, all of them or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoxLeaseRequest {
    /// The name of the pool.
    pub pool: PoolName,
    /// The job that requests them.
    pub holder: Holder,
    /// The term of their leases from the answer on; the default of the pool if none.
    pub ttl: Option<Duration>,
    /// How long to wait for them. Zero tries once, without waiting. The preparation of a box does not count.
    pub wait: Duration,
    /// The priority of the request.
    pub priority: Priority,
    /// The number of boxes.
    pub count: u32,
    /// The idempotency key; none if no caller will repeat the request.
    pub request: Option<RequestId>,
    /// Takes over the leases of another holder that made the same request.
    pub take_over: bool,
}

impl BoxLeaseRequest {
    /// Whether this holder may take over the leases that `holder` got with the same request.
    pub(super) fn goes_on_for(&self, holder: &Holder) -> Result<(), BoxRefusal> {
        if self.take_over || self.holder == *holder {
            return Ok(());
        }
        Err(BoxRefusal::RequestOfOther { holder: holder.clone(), asker: self.holder.clone() })
    }

    /// The grant of these boxes: first for `term`, and for `ttl` after each renewal that sets none.
    pub(super) fn grant(
        &self,
        leases: Vec<(LeaseId, BoxNumber)>,
        term: Duration,
        ttl: Duration,
        rested_before: u64,
    ) -> NewGrant {
        NewGrant {
            pool: self.pool.clone(),
            leases,
            holder: self.holder.clone(),
            ttl,
            term,
            request: self.request,
            rested_before,
        }
    }

    /// One box, with the term of the pool, without waiting.
    pub fn one(pool: PoolName, holder: Holder) -> Self {
        BoxLeaseRequest {
            pool,
            holder,
            ttl: None,
            wait: Duration::ZERO,
            priority: Priority::default(),
            count: 1,
            request: None,
            take_over: false,
        }
    }
}

/// The granted boxes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// A lease for each, in the order of their tokens.
    pub leases: Vec<LeaseAnswer>,
    /// The epoch of the grant.
    pub epoch: Epoch,
}

/// The id of one waiting caller. Several callers may wait for one repeated request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AcquireTicket(pub(super) u64);

/// Sends a request for boxes. [`Acquisition`](super::Acquisition) sends it, and reports when the caller has
/// left.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct Acquire {
    pub(super) ask: BoxLeaseRequest,
    pub(super) ticket: AcquireTicket,
    pub(super) reply: oneshot::Sender<Result<Grant, BoxError>>,
    pub(super) progress: watch::Sender<AcquireProgress>,
}

/// The caller of a request has left.
#[derive(Debug, Message)]
#[rtype(result = "()")]
pub struct CancelAcquire {
    pub(super) ticket: AcquireTicket,
    /// The answer that it never read.
    pub(super) unread: Option<Grant>,
}

/// The progress of a waiting request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AcquireProgress {
    /// No position is known yet.
    #[default]
    Asked,
    /// The request waits in the queue.
    Waiting {
        /// Its position: 1 is served next.
        position: u64,
        /// The estimated wait, from recent hold times.
        estimate: Option<Duration>,
    },
    /// Its boxes are being made ready.
    Preparing,
}

/// Extends the term of a lease. Answers the lease with its new term.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<LeaseAnswer, BoxError>")]
pub struct RenewLease {
    /// The id of the lease.
    pub lease: LeaseId,
    /// The lease's fencing token.
    pub token: FenceToken,
    /// New term from now; none for the term of the first request.
    pub ttl: Option<Duration>,
}

/// Whether a lease is valid: it is recorded with this token, and its term has not passed.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<Arc<Lease>, BoxError>")]
pub struct VerifyLease {
    /// The id of the lease.
    pub lease: LeaseId,
    /// The lease's fencing token.
    pub token: FenceToken,
}

/// A holder gives its box back.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<(), BoxError>")]
pub struct ReleaseLease {
    /// The id of the lease.
    pub lease: LeaseId,
    /// The lease's fencing token.
    pub token: FenceToken,
    /// Whether the caller may have released it before, and lost the answer. A lease that was released is no refusal then.
    pub may_be_repeated: bool,
}

/// Takes a lease away from its holder.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), BoxError>")]
pub struct RevokeLease {
    /// The id of the lease.
    pub lease: LeaseId,
    /// The reason, for the audit.
    pub reason: Option<Reason>,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key; none if no caller will repeat the request.
    pub request: Option<RequestId>,
}

/// Creates a pool, or changes it to this specification. Surplus boxes are removed as soon as they are free.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<PoolPut, BoxError>")]
pub struct PutPool {
    /// The name of the pool.
    pub pool: PoolName,
    /// The wanted specification.
    pub spec: PoolSpec,
    /// The version of the cluster's settings that asks for it. It sets the pool once: a later request for the same
    /// version changes nothing. None for all other callers.
    pub by_settings: Option<u64>,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key; none if no caller will repeat the request.
    pub request: Option<RequestId>,
}

/// The effect of the request on a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolPut {
    /// No pool had this name.
    Created,
    /// The pool existed and changed.
    Changed,
    /// The pool was so already.
    AlreadySo,
}

/// Removes a pool. Nothing more is granted. The pool disappears once all its boxes are clean. Answers whether
/// it has already disappeared.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<bool, BoxError>")]
pub struct RemovePool {
    /// The name of the pool.
    pub pool: PoolName,
    /// Whether its leases are revoked, instead of waiting for their ends.
    pub revoke: bool,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key; none if no caller will repeat the request.
    pub request: Option<RequestId>,
}

/// A box is taken out of use. Refused while it is leased.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), BoxError>")]
pub struct QuarantineBox {
    /// The name of the pool.
    pub pool: PoolName,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The reason, for the audit.
    pub reason: Reason,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key; none if no caller will repeat the request.
    pub request: Option<RequestId>,
}

/// Takes a box back into use: it is cleaned, and free if that succeeds.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), BoxError>")]
pub struct UnquarantineBox {
    /// The name of the pool.
    pub pool: PoolName,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The caller's name, for the audit.
    pub asked_by: String,
    /// The idempotency key; none if no caller will repeat the request.
    pub request: Option<RequestId>,
}

/// Asks for the first requests in the queue of a pool, at most `most`. Only the leader has a queue.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Vec<QueuedRequest>, BoxError>")]
pub struct ShowQueue {
    /// The name of the pool.
    pub pool: PoolName,
    /// The largest number of requests to answer.
    pub most: usize,
}

/// A request that waits in the queue of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedRequest {
    /// The job that waits.
    pub holder: Holder,
    /// The priority of the request.
    pub priority: Priority,
    /// The number of boxes.
    pub count: u32,
    /// When it arrived.
    pub since: Millis,
}

/// The host of a pool must inspect its free boxes before they are granted, because it may have restarted.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<(), BoxError>")]
pub struct RecheckPool {
    /// The name of the pool.
    pub pool: PoolName,
}

/// An operator gives boxes to a pool on its host, although the host knows them as boxes of another pool or
/// cluster. Answers the pools that lost boxes.
#[derive(Clone, Debug, Message)]
#[rtype(result = "Result<Vec<PoolName>, BoxError>")]
pub struct AdoptPool {
    /// The name of the pool.
    pub pool: PoolName,
    /// The caller's name, for the audit.
    pub asked_by: String,
}

/// Does the due work at once, without waiting for the timer. Operators and tests send it.
#[derive(Clone, Copy, Debug, Message)]
#[rtype(result = "Result<(), CommitError>")]
pub struct ProcessDueBoxes;

/// How urgency of a request, from -100 to 100. A higher number is more urgent.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(into = "i64", try_from = "i64")]
#[schema(value_type = i8, minimum = -100, maximum = 100)]
pub struct Priority(i8);

/// A number that is no priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a priority is a whole number from -100 to 100")]
pub struct BadPriority;

impl Priority {
    /// The priority as a number.
    pub fn get(self) -> i8 {
        self.0
    }
}

impl TryFrom<i64> for Priority {
    type Error = BadPriority;

    fn try_from(number: i64) -> Result<Self, BadPriority> {
        match i8::try_from(number) {
            Ok(number) if (-100..=100).contains(&number) => Ok(Priority(number)),
            _ => Err(BadPriority),
        }
    }
}

impl From<Priority> for i64 {
    fn from(priority: Priority) -> i64 {
        i64::from(priority.0)
    }
}
