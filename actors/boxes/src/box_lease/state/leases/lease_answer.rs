//! A lease as an answer describes it to its holder. Pure.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::{Millis, SLOWER_BY_ONE_IN};

use super::lease::Lease;

/// A live lease, and the longest time that its holder may use the box without a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseAnswer {
    /// The lease as it is on record.
    pub lease: Arc<Lease>,
    /// The rest of its term by the monotonic clock of the leader, counted from the commit.
    pub left_from_commit: Duration,
}

impl LeaseAnswer {
    /// How long the holder may use the box if the time of the cluster is `now`. Counted from the decision,
    /// because another leader may have seen the commit earlier. The clock may run slowly since then, or a
    /// step may have moved it.
    pub fn left(&self, now: Millis) -> Duration {
        // A lease is only reported once its end is set.
        let Some(expires_at) = self.lease.expires_at else { return Duration::ZERO };
        let by_wall = expires_at.since(now);
        let shown = self.lease.term.saturating_sub(by_wall);
        let lost = shown / (SLOWER_BY_ONE_IN - 1);
        by_wall.saturating_sub(lost).min(self.left_from_commit)
    }
}

impl Deref for LeaseAnswer {
    type Target = Lease;

    fn deref(&self) -> &Lease {
        &self.lease
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::box_lease::samples::{TERM, granted, table};
    use crate::box_lease::state::pools::spec::PoolSpec;
    use reelyard_protocol::boxes::LeaseId;

    #[test]
    fn a_holder_is_promised_no_more_than_the_leader_keeps() {
        let mut table = table(PoolSpec::of(0, 1));
        granted(&mut table, 1, 0);
        let lease = Arc::clone(table.live(LeaseId(1)).unwrap());
        let left = |wall: i64, from_commit: u64| {
            let left_from_commit = Duration::from_millis(from_commit);
            LeaseAnswer { lease: Arc::clone(&lease), left_from_commit }.left(Millis(wall))
        };
        let micros = Duration::from_micros;
        assert_eq!(left(0, 100), TERM);
        // The clock shows 99 ms. It may have lost 1 ms of 100.
        assert_eq!(left(99, 5), Duration::ZERO);
        assert_eq!(left(50, 100), TERM / 2 - Duration::from_millis(50) / 99);
        assert_eq!(left(1, 100), micros(99_000) - Duration::from_millis(1) / 99);
        // The wall clock was set back.
        assert_eq!(left(-600_000, 20), Duration::from_millis(20));
        assert_eq!(left(600_000, 20), Duration::ZERO);
    }
}
