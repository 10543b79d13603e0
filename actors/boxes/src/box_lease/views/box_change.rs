//! Changes of boxes, as the event stream reports them. Renewals are not reported.

use reelyard_protocol::boxes::{BoxNumber, FenceToken, Holder, PoolName, Reason, SlotId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::box_lease::{Lease, LeaseEnd};

/// A change of a box. Events carry no lease id, because a client that knows one can end the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum BoxChange {
    /// A pool was created or changed.
    PoolPut {
        /// Pool of the box.
        pool: PoolName,
        /// The wanted number of boxes.
        size: u32,
        /// Whether the pool is new.
        created: bool,
    },
    /// A pool is being removed, or was removed.
    PoolRemoved {
        /// Pool of the box.
        pool: PoolName,
        /// Whether it is already removed. Otherwise it is removed with its last box.
        gone: bool,
    },
    /// A holder got a box, or the box is being prepared for a holder.
    Granted {
        /// The lease that was granted.
        lease: LeaseOf,
    },
    /// A lease ended by release, expiry or revocation.
    Ended {
        /// The lease that ended.
        lease: LeaseOf,
        /// Cause of the end.
        how: LeaseEnd,
        /// Operator who ended it. Missing when the holder or a timer ended it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        /// Reason that the operator gave for a revocation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
    /// A cleanup of a box failed and will be repeated.
    CleanFailed {
        /// Pool of the box.
        pool: PoolName,
        /// Number of the box in its pool.
        number: BoxNumber,
        /// The number of the attempt, counted from one.
        attempt: u32,
        /// Output of the cleaning command.
        output: String,
    },
    /// The host of a box found that it is not clean.
    FoundDirty {
        /// Pool of the box.
        pool: PoolName,
        /// Number of the box in its pool.
        number: BoxNumber,
        /// The finding, as the worker reported it.
        output: String,
    },
    /// A box was taken out of use.
    Quarantined {
        /// Pool of the box.
        pool: PoolName,
        /// Number of the box in its pool.
        number: BoxNumber,
        /// Evidence for the quarantine: output of a command or the operator's reason.
        output: String,
        /// Operator who asked for the quarantine. Missing after a failed cleaning.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// A box is cleaned again, and may then be used.
    Unquarantined {
        /// Pool of the box.
        pool: PoolName,
        /// Number of the box in its pool.
        number: BoxNumber,
        /// Operator who asked for it.
        by: String,
    },
}

/// A lease, as events describe it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeaseOf {
    /// Pool of the box.
    pub pool: PoolName,
    /// Number of the box in its pool.
    pub number: BoxNumber,
    /// The id of the box for this lease, if its pool draws ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<SlotId>,
    /// Fencing token of the lease.
    pub token: FenceToken,
    /// Name of the holder of the lease.
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
