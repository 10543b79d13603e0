//! The time of the last use of a share and the number of uses, in one word. Pure.
//!
//! A share is small, and many readers record uses of it at the same time. So both figures are in one
//! word, which changes atomically.

use reelyard_core::clock::Millis;

/// How many bits count the uses; the others are milliseconds since 1970, up to the year 2109.
/// No event depends on it.
const USE_BITS: u32 = 22;

/// Up to how many uses are counted. No event depends on it.
pub const MOST_USES: u32 = (1 << USE_BITS) - 1;

/// The last use, and the number of uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::share_expiry) struct UsageCounter {
    /// The time in milliseconds since 1970. Before the first use it is the time of creation.
    pub(in crate::share_expiry) at: u64,
    /// The number of uses, for LFU.
    pub(in crate::share_expiry) uses: u32,
}

impl UsageCounter {
    /// Not yet, since it was created.
    pub(in crate::share_expiry) fn first(created: Millis) -> Self {
        UsageCounter { at: millis(created), uses: 0 }
    }

    /// Adds one use at `now`. Neither figure gets smaller, also when the clock was set back.
    pub(in crate::share_expiry) fn once_more(self, now: Millis) -> Self {
        UsageCounter { at: self.at.max(millis(now)), uses: MOST_USES.min(self.uses + 1) }
    }

    pub(in crate::share_expiry) fn packed(self) -> u64 {
        self.at << USE_BITS | u64::from(self.uses)
    }

    pub(in crate::share_expiry) fn unpacked(word: u64) -> Self {
        // The mask makes the value fit.
        UsageCounter { at: word >> USE_BITS, uses: (word & u64::from(MOST_USES)) as u32 }
    }
}

fn millis(at: Millis) -> u64 {
    u64::try_from(at.0).unwrap_or(0).min(u64::MAX >> USE_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_usage_survives_unpacking_at_both_limits() {
        for (at, uses) in [(0, 0), (1_795_000_000_123, 7), (u64::MAX >> USE_BITS, MOST_USES)] {
            let used = UsageCounter { at, uses };
            assert_eq!(UsageCounter::unpacked(used.packed()), used);
        }
        let most = UsageCounter { at: 5, uses: MOST_USES };
        assert_eq!(most.once_more(Millis(4)), most);
        assert_eq!(UsageCounter::first(Millis(-1)), UsageCounter { at: 0, uses: 0 });
        assert_eq!(UsageCounter::first(Millis(i64::MAX)).at, u64::MAX >> USE_BITS);
    }
}
