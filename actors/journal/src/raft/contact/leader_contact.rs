//! The contact of this node with its leader.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use reelyard_core::clock::Clock;
use reelyard_core::cluster_time::ClusterTime;

use super::{ContactMark, LeaderNews, RECENT};

/// The contact with the leader, as its follower sees it.
pub(in crate::raft) struct LeaderContact {
    clock: Clock,
    process: u64,
    /// When a leader last called whom this node follows, or this node gave its vote. At first its start.
    last_call: Mutex<Instant>,
    moments: Mutex<KnownMoments>,
    is_disk_full: AtomicBool,
    time: ClusterTime,
    skew: Mutex<Option<KnownSkew>>,
}

/// The distance of the own wall clock from the median, as the last leader found it.
#[derive(Clone, Copy)]
struct KnownSkew {
    ahead_ms: i64,
    /// The difference between the own wall clock and the own uptime clock then, in milliseconds.
    offset_ms: i64,
    /// When the leader called, by the uptime clock.
    called_at: Duration,
}

/// Until when the views of this node were complete.
#[derive(Default)]
struct KnownMoments {
    known: Option<Duration>,
    /// The last moment at which a quorum certainly followed the leader.
    led: Option<Duration>,
    /// The earliest and the latest moment whose entries the views do not show yet.
    waiting: Option<(LeaderMoment, LeaderMoment)>,
}

/// At this moment the leader had acknowledged nothing beyond these entries.
#[derive(Clone, Copy)]
struct LeaderMoment {
    at: Duration,
    applied: u64,
}

impl LeaderContact {
    /// No leader was heard yet.
    pub(in crate::raft) fn new(clock: Clock, time: ClusterTime) -> Self {
        LeaderContact {
            process: fastrand::u64(..),
            last_call: Mutex::new(Instant::now()),
            clock,
            moments: Mutex::default(),
            is_disk_full: AtomicBool::new(false),
            time,
            skew: Mutex::default(),
        }
    }

    /// A mark of this moment, for the leader.
    pub(in crate::raft) fn mark(&self) -> ContactMark {
        let at_us = u64::try_from(self.clock.uptime().as_micros()).unwrap_or(u64::MAX);
        ContactMark { process: self.process, at_us, wall: self.clock.reading().wall }
    }

    /// A leader has called, and this node follows it.
    pub(in crate::raft) fn record_leader(&self) {
        *self.last_call.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// This node has given its vote. The candidate gets the same time as a leader, so that no other one replaces it
    /// before its first call.
    pub(in crate::raft) fn record_vote(&self) {
        self.record_leader();
    }

    /// The time since a leader called, since this node gave its vote, or since the start. It does not count suspends, as
    /// the lease of openraft does not: a machine that wakes first waits for a call.
    pub(in crate::raft) fn leader_silence(&self) -> Duration {
        self.last_call.lock().unwrap_or_else(PoisonError::into_inner).elapsed()
    }

    /// The leader has called, while the views show the log up to `shown`. News for an earlier process are ignored.
    pub(in crate::raft) fn record_call(&self, news: LeaderNews, shown: u64) {
        let LeaderNews { mark: ContactMark { process, at_us, .. }, age_us, applied, .. } = news;
        self.is_disk_full.store(news.disk_full, Ordering::Relaxed);
        if let Some(wall) = news.wall {
            self.time.set_leader(wall, self.clock.uptime());
        }
        let (ahead_ms, called_at) = (news.ahead_ms, self.clock.uptime());
        let known = KnownSkew { ahead_ms, offset_ms: self.offset_ms(), called_at };
        *self.skew.lock().unwrap_or_else(PoisonError::into_inner) = Some(known);
        if process != self.process {
            return;
        }
        let at = Duration::from_micros(at_us.saturating_sub(age_us));
        let latest = LeaderMoment { at, applied };
        let mut moments = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
        moments.led = moments.led.max(Some(at));
        let earliest = moments.waiting.map_or(latest, |(earliest, _)| earliest);
        moments.waiting = Some((earliest, latest));
        moments.settle(shown);
    }

    /// How far the own wall clock is ahead of the median, in milliseconds. A step of the clock since the last call of a
    /// leader counts. Zero if no leader has called for [`RECENT`]: other clocks may have changed too, and a cluster
    /// without a leader measures none.
    pub(in crate::raft) fn ahead_ms(&self) -> i64 {
        let known = *self.skew.lock().unwrap_or_else(PoisonError::into_inner);
        let recent =
            known.filter(|known| self.clock.uptime().saturating_sub(known.called_at) <= RECENT);
        recent.map_or(0, |known| known.ahead_ms + (self.offset_ms() - known.offset_ms))
    }

    fn offset_ms(&self) -> i64 {
        let uptime = i64::try_from(self.clock.uptime().as_millis()).unwrap_or(i64::MAX);
        self.clock.reading().wall.0.saturating_sub(uptime)
    }

    /// Whether the disk of the last leader was full at its last call.
    pub(in crate::raft) fn is_disk_full(&self) -> bool {
        self.is_disk_full.load(Ordering::Relaxed)
    }

    /// The last moment at which a quorum certainly followed the leader, whatever the views show. None before the first
    /// contact.
    pub(in crate::raft) fn led_at(&self) -> Option<Duration> {
        self.moments.lock().unwrap_or_else(PoisonError::into_inner).led
    }

    /// The moment until which the views were complete, if they show the log up to `shown`. None before the first
    /// contact.
    pub(in crate::raft) fn known_at(&self, shown: u64) -> Option<Duration> {
        let mut moments = self.moments.lock().unwrap_or_else(PoisonError::into_inner);
        moments.settle(shown);
        moments.known
    }
}

impl KnownMoments {
    fn settle(&mut self, shown: u64) {
        let Some((earliest, latest)) = self.waiting else { return };
        if latest.applied <= shown {
            self.known = self.known.max(Some(latest.at));
            self.waiting = None;
        } else if earliest.applied <= shown {
            self.known = self.known.max(Some(earliest.at));
            self.waiting = Some((latest, latest));
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn contact() -> (Clock, LeaderContact) {
        let clock = Clock::manual(Millis(0));
        clock.advance(10 * SECOND);
        (clock.clone(), LeaderContact::new(clock, ClusterTime::default()))
    }

    fn news(mark: ContactMark, applied: u64) -> LeaderNews {
        LeaderNews { mark, age_us: 0, applied, disk_full: false, wall: None, ahead_ms: 0 }
    }

    #[test]
    fn a_call_counts_from_the_mark_that_it_returns() {
        let (clock, contact) = contact();
        assert_eq!(contact.known_at(5), None);
        let mark = contact.mark();
        // The call waited in a buffer while this node was paused.
        clock.advance(60 * SECOND);
        contact.record_call(news(mark, 5), 5);
        assert_eq!(contact.known_at(5), Some(10 * SECOND));
        let late = LeaderNews { age_us: 400_000, ..news(contact.mark(), 5) };
        contact.record_call(late, 5);
        assert_eq!(contact.led_at(), Some(Duration::from_millis(69_600)));
        assert_eq!(contact.known_at(5), Some(Duration::from_millis(69_600)));
        // An earlier moment does not replace a later one.
        contact.record_call(news(mark, 5), 5);
        assert_eq!(contact.known_at(5), Some(Duration::from_millis(69_600)));
    }

    #[test]
    fn a_mark_of_another_process_says_nothing() {
        let (_, contact) = contact();
        let other = ContactMark { process: contact.process.wrapping_add(1), ..contact.mark() };
        contact.record_call(news(other, 0), 0);
        assert_eq!(contact.known_at(0), None);
    }

    #[test]
    fn views_are_complete_until_the_last_moment_whose_entries_they_show() {
        let (clock, contact) = contact();
        let second = |applied, shown| {
            contact.record_call(news(contact.mark(), applied), shown);
            clock.advance(SECOND);
        };
        second(7, 5);
        second(9, 5);
        second(11, 6);
        assert_eq!(contact.known_at(6), None);
        assert_eq!(contact.led_at(), Some(12 * SECOND), "slow views say nothing about the leader");
        assert_eq!(contact.known_at(7), Some(10 * SECOND));
        assert_eq!(contact.known_at(10), Some(10 * SECOND));
        assert_eq!(contact.known_at(11), Some(12 * SECOND));
    }

    #[test]
    fn a_step_of_the_own_clock_changes_its_distance_from_the_median() {
        let clock = Clock::manual(Millis(0));
        let time = ClusterTime::default();
        let contact = LeaderContact::new(clock.clone(), time.clone());
        assert_eq!(contact.ahead_ms(), 0);
        let wall = Some(Millis(5_500));
        contact.record_call(LeaderNews { ahead_ms: -5_000, wall, ..news(contact.mark(), 0) }, 0);
        clock.advance(SECOND);
        assert_eq!(contact.ahead_ms(), -5_000);
        let in_cluster = clock.clone().in_cluster(std::sync::Arc::new(time));
        assert_eq!(in_cluster.now(), Millis(6_490));
        clock.step_by(4_900);
        assert_eq!(contact.ahead_ms(), -100);
        clock.step_by(60_000);
        assert_eq!(contact.ahead_ms(), 59_900);
        // All nodes may have been set meanwhile. Somebody must be able to lead.
        clock.advance(5 * SECOND);
        assert_eq!(contact.ahead_ms(), 0);
    }
}
