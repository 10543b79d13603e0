//! What leases are told apart by: ids, fencing tokens, the numbers of boxes. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::secret_id::secret_id;

secret_id! {
    /// The id of a lease: 128 random bits. Whoever knows it and the token can end the lease.
    LeaseId,
    /// A text that is no id of a lease.
    BadLeaseId = "a lease"
}

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $of:ty) => {
        $(#[$doc])*
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
        #[serde(transparent)]
        pub struct $name(pub $of);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// The number of a box in its pool.
    BoxNumber,
    u32
);
number!(
    /// The id from a larger range that a box has for one lease, where its pool draws them.
    SlotId,
    u32
);
number!(
    /// A fencing token: each lease of a pool has a higher one than all before it, for ever.
    FenceToken,
    u64
);
