//! What changes about boxes, as the stream of events tells it. Renewals are not told.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::box_lease::{BoxNumber, FenceToken, Holder, Lease, LeaseEnd, PoolName, Reason, SlotId};

/// What changed about boxes. Ids of leases are not told: whoever knows one can end it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum BoxChange {
    /// A pool was created, or is otherwise from now on.
    PoolPut {
        /// The pool.
        pool: PoolName,
        /// How many boxes it is to have.
        size: u32,
        /// Whether there was none of that name.
        created: bool,
    },
    /// A pool is being removed, or is gone.
    PoolRemoved {
        /// The pool.
        pool: PoolName,
        /// Whether it is gone; else it goes with its last box.
        gone: bool,
    },
    /// A box is somebody's, or is being made ready for somebody.
    Granted {
        /// The lease.
        lease: LeaseOf,
    },
    /// A lease has ended.
    Ended {
        /// The lease.
        lease: LeaseOf,
        /// How.
        how: LeaseEnd,
        /// Who ended it, unless it was its holder or a matter of time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Why it was revoked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
    /// A box could not be cleaned, and that is tried again.
    CleanFailed {
        /// The pool.
        pool: PoolName,
        /// The box.
        number: BoxNumber,
        /// Which attempt, counted from one.
        attempt: u32,
        /// What was said.
        said: String,
    },
    /// The host of a box found that it is not clean.
    FoundDirty {
        /// The pool.
        pool: PoolName,
        /// The box.
        number: BoxNumber,
        /// What was found.
        said: String,
    },
    /// A box was taken out of use.
    Quarantined {
        /// The pool.
        pool: PoolName,
        /// The box.
        number: BoxNumber,
        /// Why: the evidence.
        said: String,
        /// Who wanted it, unless it could not be cleaned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A box is cleaned again, and may then be used.
    Unquarantined {
        /// The pool.
        pool: PoolName,
        /// The box.
        number: BoxNumber,
        /// Who wanted it.
        by: String,
    },
}

/// A lease, where something is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseOf {
    /// The pool.
    pub pool: PoolName,
    /// The box.
    pub number: BoxNumber,
    /// The id that the box has for this lease, where the pool draws them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotId>,
    /// Its fencing token.
    pub token: FenceToken,
    /// Who holds it.
    pub holder: Holder,
}

impl From<&Lease> for LeaseOf {
    fn from(lease: &Lease) -> Self {
        LeaseOf {
            pool: lease.pool.clone(),
            number: lease.number,
            slot: lease.slot,
            token: lease.token,
            holder: lease.holder.clone(),
        }
    }
}
