//! A lease, its end, and their stored forms. Pure.
//!
//! **Invariant:** a stored form never changes: snapshots of all earlier versions hold it.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_core::event::RequestId;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, LeaseId, PoolName, Reason, SlotId};
use reelyard_replication::stored_form;
use serde::{Deserialize, Serialize};

/// The right of a holder to a box.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The id of the lease.
    pub id: LeaseId,
    /// The name of the pool.
    pub pool: PoolName,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The id of the box for this lease, if its pool draws ids.
    pub slot: Option<SlotId>,
    /// Its fencing token, for services.
    pub token: FenceToken,
    /// The job that holds it.
    pub holder: Holder,
    /// When it was granted, in milliseconds.
    pub granted: Millis,
    /// The term after each renewal that sets none.
    pub ttl: Duration,
    /// The length of the term, from the last answer to the holder.
    pub term: Duration,
    /// The end of the term by the last answer to the holder; none while its box is being prepared.
    pub expires_at: Option<Millis>,
    /// How often it was renewed.
    pub renewals: u32,
    /// The idempotency key of its request, if the caller gave one.
    pub request: Option<RequestId>,
}

impl Lease {
    /// The id of the box for its holder.
    pub fn box_id(&self) -> u32 {
        self.slot.map_or(self.number.0, |slot| slot.0)
    }

    /// Whether its holder got it in an answer.
    pub fn is_held(&self) -> bool {
        self.expires_at.is_some()
    }
}

/// The reasons for the end of a lease.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LeaseEnd {
    /// Its holder released it.
    Released,
    /// Its term has passed.
    Expired,
    /// An operator revoked it.
    Revoked,
    /// The caller left before the answer.
    NotTaken,
    /// Its box could not be made ready, and no caller got it.
    InitFailed,
}

impl LeaseEnd {
    /// Every end, for counters.
    pub const ALL: [LeaseEnd; 5] = [
        LeaseEnd::Released,
        LeaseEnd::Expired,
        LeaseEnd::Revoked,
        LeaseEnd::NotTaken,
        LeaseEnd::InitFailed,
    ];

    /// Its stable word in JSON.
    pub fn word(self) -> &'static str {
        match self {
            LeaseEnd::Released => "released",
            LeaseEnd::Expired => "expired",
            LeaseEnd::Revoked => "revoked",
            LeaseEnd::NotTaken => "not_taken",
            LeaseEnd::InitFailed => "init_failed",
        }
    }

    /// Whether the holder may still use the box because it does not know of the end.
    pub fn may_surprise(self) -> bool {
        matches!(self, LeaseEnd::Expired | LeaseEnd::Revoked)
    }

    /// Whether no holder ever had it. Then its request may be repeated under the same name.
    pub fn reached_no_client(self) -> bool {
        matches!(self, LeaseEnd::NotTaken | LeaseEnd::InitFailed)
    }
}

/// The record of an ended lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedLease {
    /// The lease as it ended.
    pub lease: Lease,
    /// When it ended, in milliseconds.
    pub at: Millis,
    /// How the lease ended.
    pub how: LeaseEnd,
    /// The caller that ended it. None if its holder ended it, or its term passed.
    pub by: Option<String>,
    /// The operator's reason, if it was revoked.
    pub reason: Option<Reason>,
}

stored_form! {
    /// The stored fields of a lease.
    pub(in crate::box_lease) struct StoredLease of Lease {
        id: LeaseId,
        pool: PoolName,
        number: BoxNumber,
        slot: Option<SlotId>,
        token: FenceToken,
        holder: Holder,
        granted: Millis,
        ttl: Duration,
        term: Duration,
        expires_at: Option<Millis>,
        renewals: u32,
        request: Option<RequestId>,
    }
}

stored_form! {
    /// The record of an ended lease.
    pub(in crate::box_lease) struct StoredEndedLease of EndedLease {
        lease: StoredLease,
        at: Millis,
        how: LeaseEnd,
        by: Option<String>,
        reason: Option<Reason>,
    }
}
