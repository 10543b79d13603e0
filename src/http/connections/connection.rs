//! State of one HTTP connection, shared by its reader and writer: activity, pace, and whether it
//! must end.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::task::AtomicWaker;

use super::connection_limiter::{HttpConnectionLimiter, HttpLimits};

/// A client that read a byte of its answer within this time makes progress.
const STEADY: Duration = Duration::from_secs(5);

/// Changes smaller than this do not change the order in which connections are closed.
const SAME_TIME: Duration = Duration::from_secs(1);

/// A connection. Clones refer to the same connection.
#[derive(Clone)]
pub struct HttpConnection(Arc<HttpConnectionState>);

struct HttpConnectionState {
    places: HttpConnectionLimiter,
    number: u64,
    peer: IpAddr,
    activity: Mutex<ConnectionActivity>,
    /// Wakes the reader and writer when the connection must end.
    waker: AtomicWaker,
    is_over: AtomicBool,
}

/// Activity of a connection. Pure.
#[derive(Clone, Copy, Debug)]
struct ConnectionActivity {
    phase: ConnectionPhase,
    since: Instant,
    /// Bytes of answers that the client took.
    taken: u64,
    stuck: Option<Stuck>,
    /// The value of [`ConnectionActivity::spare_from`] that the limiter knows.
    shown: Option<Instant>,
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
enum ConnectionPhase {
    /// Waits for a request, or for the rest of its head.
    Waits,
    /// The client sends the body of a request.
    Sends,
    /// The request is complete and is being answered.
    IsAnswered,
}

impl ConnectionActivity {
    fn new(now: Instant) -> Self {
        ConnectionActivity {
            phase: ConnectionPhase::Waits,
            since: now,
            taken: 0,
            stuck: None,
            shown: Some(now),
        }
    }

    fn set_phase(&mut self, phase: ConnectionPhase, now: Instant) {
        (self.phase, self.since) = (phase, now);
    }

    fn took(&mut self, bytes: usize, all: bool, now: Instant) {
        self.taken = self.taken.saturating_add(bytes as u64);
        if all {
            self.stuck = None;
        } else if let Some(stuck) = self.stuck.as_mut().filter(|_| bytes > 0) {
            stuck.last = now;
        }
    }

    fn is_stuck(&mut self, now: Instant) {
        let before = self.taken;
        self.stuck.get_or_insert(Stuck { since: now, before, last: now });
    }

    /// Start of the time without progress; none while the connection is served.
    fn spare_from(&self) -> Option<Instant> {
        match (self.stuck, self.phase) {
            (Some(stuck), _) => Some(stuck.last + STEADY),
            (None, ConnectionPhase::IsAnswered) => None,
            (None, ConnectionPhase::Waits | ConnectionPhase::Sends) => Some(self.since),
        }
    }

    /// The new value of `spare_from`, if the limiter must know it.
    fn news(&mut self) -> Option<Option<Instant>> {
        let spare = self.spare_from();
        let is_same = match (self.shown, spare) {
            (Some(before), Some(now)) => now >= before && now - before < SAME_TIME,
            (before, now) => before == now,
        };
        if is_same {
            return None;
        }
        self.shown = spare;
        Some(spare)
    }

    /// Whether a limit of time or pace is exceeded.
    fn is_overdue(&mut self, limits: &HttpLimits, now: Instant) -> bool {
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

impl HttpConnection {
    pub(super) fn new(
        places: HttpConnectionLimiter,
        number: u64,
        peer: IpAddr,
        now: Instant,
    ) -> Self {
        HttpConnection(Arc::new(HttpConnectionState {
            places,
            number,
            peer,
            activity: Mutex::new(ConnectionActivity::new(now)),
            waker: AtomicWaker::new(),
            is_over: AtomicBool::new(false),
        }))
    }

    pub(super) fn places(&self) -> &HttpConnectionLimiter {
        &self.0.places
    }

    pub(super) fn number(&self) -> u64 {
        self.0.number
    }

    pub(super) fn peer(&self) -> IpAddr {
        self.0.peer
    }

    /// The client sends the body of a request.
    pub fn sends(&self) {
        self.change(|activity| activity.set_phase(ConnectionPhase::Sends, Instant::now()));
    }

    /// The request is complete.
    pub fn is_answered(&self) {
        self.change(|activity| activity.set_phase(ConnectionPhase::IsAnswered, Instant::now()));
    }

    /// The answer was handed over completely. A client that still sends the body keeps that state.
    pub fn was_answered(&self) {
        self.change(|activity| {
            if activity.phase == ConnectionPhase::IsAnswered {
                activity.set_phase(ConnectionPhase::Waits, Instant::now());
            }
        });
    }

    /// The client took `bytes` of an answer at `now`. `all` is true if nothing more is ready to be
    /// sent.
    pub(super) fn took(&self, bytes: usize, all: bool, now: Instant) {
        self.change(|activity| activity.took(bytes, all, now));
    }

    /// The client takes no bytes now.
    pub(super) fn is_stuck(&self, now: Instant) {
        self.change(|activity| activity.is_stuck(now));
    }

    pub(super) fn is_overdue(&self, limits: &HttpLimits, now: Instant) -> bool {
        self.lock_activity().is_overdue(limits, now)
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    pub(super) fn wakes(&self, waker: &std::task::Waker) {
        self.0.waker.register(waker);
    }

    pub(super) fn end(&self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.waker.wake();
    }

    /// Changes the activity and informs the limiter. The limiter never locks an activity while it
    /// holds its own lock.
    fn change(&self, change: impl FnOnce(&mut ConnectionActivity)) {
        let mut activity = self.lock_activity();
        change(&mut activity);
        if let Some(spare) = activity.news() {
            self.0.places.is_spare(self.0.number, spare);
        }
    }

    fn lock_activity(&self) -> MutexGuard<'_, ConnectionActivity> {
        self.0.activity.lock().unwrap_or_else(PoisonError::into_inner)
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
