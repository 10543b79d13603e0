//! Activity and pace of one HTTP connection. Pure.

use std::time::{Duration, Instant};

/// Limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Largest number of connections.
    pub connections: usize,
    /// Largest number of connections from one address.
    pub per_address: usize,
    /// Time limit for the body of a request.
    pub request_time: Duration,
    /// Time limit for a client that reads an answer slower than `least_pace`.
    pub stall: Duration,
    /// Slowest accepted pace of a client in bytes per second, averaged over `stall`.
    pub least_pace: u64,
}

/// A client that read a byte of its answer within this time makes progress.
const STEADY: Duration = Duration::from_secs(5);

/// Changes smaller than this do not change the order in which connections are closed.
const SAME_TIME: Duration = Duration::from_secs(1);

/// The phase of a connection, and the progress of its answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionActivity {
    pub(super) phase: ConnectionPhase,
    since: Instant,
    /// Bytes of answers that the client took.
    taken: u64,
    stuck: Option<Stuck>,
    /// The value of [`ConnectionActivity::spare_from`] that the limiter knows.
    known_spare: Option<Instant>,
}

/// An answer that waits for the client.
#[derive(Clone, Copy, Debug)]
struct Stuck {
    /// Start of the measurement of the pace, and the bytes taken before.
    since: Instant,
    before: u64,
    /// Time of the last byte taken.
    last: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
    /// Waits for a request, or for the rest of its head.
    Waits,
    /// The client sends the body of a request.
    Sends,
    /// The request is complete and is being answered.
    IsAnswered,
}

impl ConnectionActivity {
    pub(super) fn new(now: Instant) -> Self {
        ConnectionActivity {
            phase: ConnectionPhase::Waits,
            since: now,
            taken: 0,
            stuck: None,
            known_spare: Some(now),
        }
    }

    pub(super) fn set_phase(&mut self, phase: ConnectionPhase, now: Instant) {
        (self.phase, self.since) = (phase, now);
    }

    pub(super) fn took(&mut self, bytes: usize, all: bool, now: Instant) {
        self.taken = self.taken.saturating_add(bytes as u64);
        if all {
            self.stuck = None;
        } else if let Some(stuck) = self.stuck.as_mut().filter(|_| bytes > 0) {
            stuck.last = now;
        }
    }

    pub(super) fn is_stuck(&mut self, now: Instant) {
        let before = self.taken;
        self.stuck.get_or_insert(Stuck { since: now, before, last: now });
    }

    /// Start of the time without progress; none while the connection is served.
    pub(super) fn spare_from(&self) -> Option<Instant> {
        match (self.stuck, self.phase) {
            (Some(stuck), _) => Some(stuck.last + STEADY),
            (None, ConnectionPhase::IsAnswered) => None,
            (None, ConnectionPhase::Waits | ConnectionPhase::Sends) => Some(self.since),
        }
    }

    /// The new value of `spare_from`, if the limiter must know it.
    pub(super) fn news(&mut self) -> Option<Option<Instant>> {
        let spare = self.spare_from();
        let is_same = match (self.known_spare, spare) {
            (Some(before), Some(now)) => now >= before && now - before < SAME_TIME,
            (before, now) => before == now,
        };
        if is_same {
            return None;
        }
        self.known_spare = spare;
        Some(spare)
    }

    /// Whether a limit of time or pace is exceeded.
    pub(super) fn is_overdue(&mut self, limits: &HttpLimits, now: Instant) -> bool {
        if self.phase == ConnectionPhase::Sends
            && now.saturating_duration_since(self.since) >= limits.request_time
        {
            return true;
        }
        let Some(stuck) = &mut self.stuck else { return false };
        let elapsed = now.saturating_duration_since(stuck.since);
        if elapsed < limits.stall {
            return false;
        }
        let taken = self.taken - stuck.before;
        (stuck.since, stuck.before) = (now, self.taken);
        taken < limits.least_pace.saturating_mul(elapsed.as_secs().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_bodies_and_slow_readers_are_overdue_and_long_polls_are_not() {
        let limits = HttpLimits {
            connections: 3,
            per_address: 2,
            request_time: Duration::from_secs(30),
            stall: Duration::from_secs(20),
            least_pace: 1000,
        };
        let now = Instant::now();
        let after = |seconds| now + Duration::from_secs(seconds);
        let mut activity = ConnectionActivity::new(now);
        assert!(!activity.is_overdue(&limits, after(3600)), "others end idle connections");
        activity.set_phase(ConnectionPhase::Sends, now);
        assert!(!activity.is_overdue(&limits, after(29)));
        assert!(activity.is_overdue(&limits, after(30)));
        activity.set_phase(ConnectionPhase::IsAnswered, now);
        assert!(!activity.is_overdue(&limits, after(3600)));
        activity.is_stuck(now);
        assert!(!activity.is_overdue(&limits, after(19)));
        activity.took(20_000, false, after(19));
        assert!(!activity.is_overdue(&limits, after(20)), "just enough");
        activity.took(19_999, false, after(39));
        assert!(activity.is_overdue(&limits, after(40)), "a byte too few");
    }
}
