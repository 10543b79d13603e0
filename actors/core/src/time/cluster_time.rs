//! The time of the cluster, as far as one of its nodes knows it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::clock::{LatestTime, Millis, SLOWER_BY_ONE_IN};

/// An entry that is further ahead than this was decided by a wrong clock, and does not count.
const FARTHEST_ENTRY: Duration = Duration::from_secs(60 * 60);

/// The time by the clock of the leader, and by the journal. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ClusterTime(Arc<Mutex<ClusterTimes>>);

/// The time by the clock of the leader only: for an actor that keeps the time of its own entries.
#[derive(Clone, Debug)]
pub struct LeaderTime(ClusterTime);

#[derive(Debug, Default)]
struct ClusterTimes {
    /// The wall clock of the leader, at this moment of the own uptime clock.
    leader: Option<(Millis, Duration)>,
    /// The time of the last applied entry.
    applied: Option<Millis>,
}

impl ClusterTime {
    /// The leader's wall clock showed `wall` when the own uptime clock showed `uptime`.
    pub fn set_leader(&self, wall: Millis, uptime: Duration) {
        self.times().leader = Some((wall, uptime));
    }

    /// This node leads, and the wall clock of a voter showed `wall` when the own uptime clock showed `uptime`. A time that
    /// the cluster has reached stays.
    pub fn raise_leader(&self, wall: Millis, uptime: Duration) {
        let mut times = self.times();
        let reached = times.leader_at(uptime).map_or(wall, |reached| reached.max(wall));
        times.leader = Some((reached, uptime));
    }

    /// An entry was applied that was decided at this time.
    pub fn set_applied(&self, at: Millis) {
        let mut times = self.times();
        times.applied = times.applied.max(Some(at));
    }

    /// The time by the clock of the leader only.
    pub fn by_leader(&self) -> LeaderTime {
        LeaderTime(self.clone())
    }

    fn times(&self) -> MutexGuard<'_, ClusterTimes> {
        // No code under this lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClusterTimes {
    /// The clock of the leader at this moment of the own uptime clock.
    fn leader_at(&self, uptime: Duration) -> Option<Millis> {
        let (wall, then) = self.leader?;
        let passed = uptime.saturating_sub(then);
        Some(wall.after(passed - passed / SLOWER_BY_ONE_IN))
    }
}

impl LatestTime for ClusterTime {
    fn latest(&self, own: Millis, uptime: Duration) -> Millis {
        let by_leader = self.by_leader().latest(own, uptime);
        let applied = self.times().applied.filter(|at| at.since(own) <= FARTHEST_ENTRY);
        by_leader.max(applied.unwrap_or(own))
    }
}

impl LatestTime for LeaderTime {
    fn latest(&self, own: Millis, uptime: Duration) -> Millis {
        own.max(self.0.times().leader_at(uptime).unwrap_or(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::clock::Clock;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_greatest_time_counts() {
        let (own, time) = (Clock::manual(Millis(10_000)), ClusterTime::default());
        let clock = own.clone().in_cluster(Arc::new(time.clone()));
        assert_eq!(clock.now(), Millis(10_000));
        time.set_leader(Millis(10_900), clock.uptime());
        assert_eq!((clock.now(), clock.reading().wall), (Millis(10_900), Millis(10_900)));
        // The leader's clock goes on by the own uptime clock, also without a heartbeat.
        clock.advance(SECOND);
        own.step_by(-500);
        assert_eq!((clock.now(), own.now()), (Millis(11_890), Millis(10_500)));
        // Another leader has another clock. A decision stays in the past.
        time.set_applied(Millis(11_950));
        time.set_applied(Millis(11_000));
        time.set_leader(Millis(10_600), clock.uptime());
        assert_eq!(clock.now(), Millis(11_950));
        clock.advance(2 * SECOND);
        assert_eq!(clock.now(), Millis(12_580));
        let by_leader = own.clone().in_cluster(Arc::new(time.by_leader()));
        time.set_applied(Millis(13_000));
        assert_eq!((clock.now(), by_leader.now()), (Millis(13_000), Millis(12_580)));
        assert_eq!(clock.reading().monotonic, own.reading().monotonic);
    }

    #[test]
    fn a_leader_keeps_the_time_of_the_fastest_voter() {
        let (own, time) = (Clock::manual(Millis(10_000)), ClusterTime::default());
        let clock = own.clone().in_cluster(Arc::new(time.by_leader()));
        for (wall, expected) in [(9_000, 10_000), (10_800, 10_800), (10_100, 10_800)] {
            time.raise_leader(Millis(wall), clock.uptime());
            assert_eq!(clock.now(), Millis(expected), "{wall}");
        }
        // The voter is lost, and the own clock catches up.
        clock.advance(SECOND);
        time.raise_leader(Millis(11_000), clock.uptime());
        assert_eq!(clock.now(), Millis(11_790));
        clock.advance(100 * SECOND);
        assert_eq!(clock.now(), own.now());
    }

    #[test]
    fn an_entry_of_a_wrong_clock_does_not_count() {
        let (own, time) = (Clock::manual(Millis(10_000)), ClusterTime::default());
        let clock = own.in_cluster(Arc::new(time.clone()));
        time.set_applied(clock.now().after(FARTHEST_ENTRY + SECOND));
        assert_eq!(clock.now(), Millis(10_000));
        clock.advance(SECOND);
        assert_eq!(clock.now(), Millis(11_000).after(FARTHEST_ENTRY));
    }
}
