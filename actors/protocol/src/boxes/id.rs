//! Identities of leases: ids, fencing tokens, the numbers of boxes. Pure.

use std::fmt;

use reelyard_core::secret_id;
use serde::{Deserialize, Serialize};

secret_id! {
    /// The id of a lease: 128 random bits. The id and the token are enough to end the lease.
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
    /// The id from a larger range that a box has for one lease, if its pool draws ids.
    SlotId,
    u32
);
number!(
    /// A fencing token: each lease of a pool has a higher token than all earlier ones.
    FenceToken,
    u64
);

/// A range of box ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IdRange {
    /// The first id of the range.
    pub first: u32,
    /// How many ids the range has.
    pub count: u32,
}

impl IdRange {
    /// The first id behind the range.
    pub fn end(self) -> u64 {
        u64::from(self.first) + u64::from(self.count)
    }

    /// Whether the range contains an id.
    pub fn has(self, id: u32) -> bool {
        id >= self.first && u64::from(id) < self.end()
    }

    /// The ids that are in both.
    pub fn shared(self, other: IdRange) -> Option<IdRange> {
        let first = self.first.max(other.first);
        let end = self.end().min(other.end());
        let count = end.checked_sub(u64::from(first)).filter(|count| *count > 0)?;
        Some(IdRange { first, count: u32::try_from(count).unwrap_or(u32::MAX) })
    }

    /// The parts of it that are not in `other`.
    pub fn without(self, other: IdRange) -> Vec<IdRange> {
        let Some(shared) = self.shared(other) else { return vec![self] };
        let before = IdRange { first: self.first, count: shared.first - self.first };
        let behind = u32::try_from(shared.end()).ok().map(|first| IdRange {
            first,
            count: u32::try_from(self.end() - shared.end()).unwrap_or(u32::MAX),
        });
        let parts = [Some(before), behind].into_iter().flatten();
        parts.filter(|part| part.count > 0).collect()
    }
}

impl fmt::Display for IdRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            1 => write!(f, "box {}", self.first),
            _ => write!(f, "boxes {} to {}", self.first, self.end().saturating_sub(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_share_their_common_part() {
        let range = |first, count| IdRange { first, count };
        assert_eq!(range(40, 4).shared(range(43, 9)), Some(range(43, 1)));
        assert_eq!(range(40, 4).shared(range(44, 9)), None);
        assert_eq!(range(40, 0).shared(range(40, 9)), None);
        assert_eq!(range(40, 9).without(range(42, 2)), [range(40, 2), range(44, 5)]);
        assert_eq!(range(40, 9).without(range(0, 100)), []);
        assert_eq!(range(u32::MAX, 1).without(range(0, 1)), [range(u32::MAX, 1)]);
        assert!(range(u32::MAX, 1).has(u32::MAX) && !range(3, 0).has(3));
        assert_eq!(
            (range(7, 1).to_string(), range(7, 2).to_string()),
            ("box 7".into(), "boxes 7 to 8".into())
        );
    }
}
