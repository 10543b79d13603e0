//! A lease, and how it ends. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::id::{BoxNumber, FenceToken, LeaseId, SlotId};
use super::text::{Holder, PoolName, Reason};
use crate::clock::Millis;
use crate::event::RequestId;

/// A box in somebody's hands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its id.
    pub id: LeaseId,
    /// The name of the pool.
    pub pool: PoolName,
    /// The number of the box in its pool.
    pub number: BoxNumber,
    /// The id that the box has for this lease, where the pool draws them.
    pub slot: Option<SlotId>,
    /// Its fencing token.
    pub token: FenceToken,
    /// Who holds it.
    pub holder: Holder,
    /// When it was granted.
    pub granted: Millis,
    /// How long it lasts after each renewal if nothing else is said.
    pub ttl: Duration,
    /// How long it lasts from when that was told last.
    pub term: Duration,
    /// Until when it lasts, as was told last; none while its box is being made ready.
    pub expires_at: Option<Millis>,
    /// How often it was renewed.
    pub renewals: u32,
    /// Names the request it was granted to, if whoever asked named it.
    pub request: Option<RequestId>,
}

impl Lease {
    /// The id by which its holder calls the box.
    pub fn box_id(&self) -> u32 {
        self.slot.map_or(self.number.0, |slot| slot.0)
    }

    /// Whether its holder was told of it.
    pub fn is_held(&self) -> bool {
        self.expires_at.is_some()
    }
}

/// How a lease ended.
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
    /// Its holder gave it back.
    Released,
    /// Its term was over.
    Expired,
    /// It was taken away.
    Revoked,
    /// Whoever waited for it had gone: nobody was told of it.
    NotTaken,
    /// Its box could not be made ready: nobody was told of it.
    InitFailed,
}

impl LeaseEnd {
    /// All there are.
    pub const ALL: [LeaseEnd; 5] = [
        LeaseEnd::Released,
        LeaseEnd::Expired,
        LeaseEnd::Revoked,
        LeaseEnd::NotTaken,
        LeaseEnd::InitFailed,
    ];

    /// A stable word for it.
    pub fn word(self) -> &'static str {
        match self {
            LeaseEnd::Released => "released",
            LeaseEnd::Expired => "expired",
            LeaseEnd::Revoked => "revoked",
            LeaseEnd::NotTaken => "not_taken",
            LeaseEnd::InitFailed => "init_failed",
        }
    }

    /// Whether its holder may not know, and still be at work.
    pub fn may_surprise(self) -> bool {
        matches!(self, LeaseEnd::Expired | LeaseEnd::Revoked)
    }

    /// Whether nobody ever had it: whoever asked for it may ask again under the same name.
    pub fn was_never_told(self) -> bool {
        matches!(self, LeaseEnd::NotTaken | LeaseEnd::InitFailed)
    }
}

/// What is remembered of a lease that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedLease {
    /// The lease as it was.
    pub lease: Lease,
    /// When it ended.
    pub at: Millis,
    /// How.
    pub how: LeaseEnd,
    /// Who ended it, unless it was its holder or a matter of time.
    pub by: Option<String>,
    /// Why it was revoked.
    pub reason: Option<Reason>,
}
