//! Limits the connections of an HTTP server, in total and per address.
//!
//! A waiting connection is idle, sends a request slowly, or takes nothing of its answer. It is
//! closed when a new one needs its slot. So a thousand slow connections block no other client, not
//! even one of the same address. In a burst of new connections, one whose request was not read yet may
//! lose its slot: then the client repeats the call.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures::task::AtomicWaker;

use super::connection_activity::{ConnectionActivity, ConnectionPhase, HttpLimits};
use super::spares::Spares;

/// The slots of one server. Clones share them.
#[derive(Clone)]
pub struct HttpConnectionLimiter(Arc<HttpLimiterState>);

struct HttpLimiterState {
    limits: HttpLimits,
    table: Mutex<HttpConnectionTable>,
    last_number: AtomicU64,
    refused: AtomicU64,
    ended: AtomicU64,
}

#[derive(Default)]
struct HttpConnectionTable {
    taken: HashMap<u64, Taken>,
    by_address: HashMap<IpAddr, usize>,
    spares: Spares,
}

struct Taken {
    connection: HttpConnection,
    /// Start of the time without progress; none while the connection is served.
    spare: Option<Instant>,
}

/// A connection. Clones refer to the same connection.
#[derive(Clone)]
pub struct HttpConnection(Arc<HttpConnectionState>);

/// Shared by the reader and the writer of the connection, and by the limiter.
struct HttpConnectionState {
    limiter: HttpConnectionLimiter,
    number: u64,
    peer: IpAddr,
    activity: Mutex<ConnectionActivity>,
    /// Wakes the reader and writer when the connection must end.
    waker: AtomicWaker,
    is_over: AtomicBool,
}

/// A slot; free again when it is dropped.
pub struct HttpConnectionSlot(HttpConnection);

impl HttpConnectionLimiter {
    /// Creates the slots for these limits.
    pub fn new(limits: HttpLimits) -> Self {
        HttpConnectionLimiter(Arc::new(HttpLimiterState {
            limits,
            table: Mutex::default(),
            last_number: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }))
    }

    /// The limits of this server, which never change.
    pub fn limits(&self) -> &HttpLimits {
        &self.0.limits
    }

    /// Takes a slot for a connection from `peer`. None if connections that are being served use all
    /// slots.
    pub fn acquire(&self, peer: IpAddr) -> Option<HttpConnectionSlot> {
        self.acquire_at(peer, Instant::now())
    }

    fn acquire_at(&self, peer: IpAddr, now: Instant) -> Option<HttpConnectionSlot> {
        let (peer, limits) = (peer.to_canonical(), &self.0.limits);
        let mut table = self.table();
        let of_peer = table.by_address.get(&peer).copied().unwrap_or(0);
        let among = match () {
            () if of_peer >= limits.per_address => Some(Some(peer)),
            () if table.taken.len() >= limits.connections => Some(None),
            () => None,
        };
        if let Some(among) = among {
            let Some(number) = table.spares.next(among, now) else {
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                return None;
            };
            if let Some(connection) = table.remove(number) {
                connection.end();
                self.0.ended.fetch_add(1, Ordering::Relaxed);
            }
        }
        let number = self.0.last_number.fetch_add(1, Ordering::Relaxed);
        let connection = HttpConnection::new(self.clone(), number, peer, now);
        let taken = Taken { connection: connection.clone(), spare: Some(now) };
        table.taken.insert(number, taken);
        table.spares.insert(peer, number, now);
        *table.by_address.entry(peer).or_default() += 1;
        Some(HttpConnectionSlot(connection))
    }

    /// Sets the start of the time without progress; none while the connection is served.
    pub(super) fn is_spare(&self, number: u64, spare: Option<Instant>) {
        let mut table = self.table();
        let HttpConnectionTable { taken, spares, .. } = &mut *table;
        // A connection that lost its slot is no longer in the table.
        let Some(taken) = taken.get_mut(&number) else { return };
        let peer = taken.connection.peer();
        if let Some(before) = std::mem::replace(&mut taken.spare, spare) {
            spares.remove(peer, number, before);
        }
        if let Some(spare) = spare {
            spares.insert(peer, number, spare);
        }
    }

    /// Ends every connection that exceeds its limit of time or pace.
    pub fn end_overdue(&self, now: Instant) {
        let all = self.table().taken.values().map(|one| one.connection.clone()).collect::<Vec<_>>();
        for connection in all {
            if connection.is_overdue(&self.0.limits, now) {
                connection.end();
                self.0.ended.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Number of connections that were ended for their behaviour, and of refused ones.
    pub fn ended_and_refused(&self) -> (u64, u64) {
        (self.0.ended.load(Ordering::Relaxed), self.0.refused.load(Ordering::Relaxed))
    }

    /// Number of slots in use.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.table().taken.len()
    }

    /// Whether another owner still holds a clone of these slots.
    pub fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn table(&self) -> MutexGuard<'_, HttpConnectionTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpConnectionTable {
    fn remove(&mut self, number: u64) -> Option<HttpConnection> {
        let Taken { connection, spare } = self.taken.remove(&number)?;
        let peer = connection.peer();
        if let Some(spare) = spare {
            self.spares.remove(peer, number, spare);
        }
        if let Some(count) = self.by_address.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&peer);
            }
        }
        Some(connection)
    }
}

impl HttpConnection {
    pub(super) fn new(
        limiter: HttpConnectionLimiter,
        number: u64,
        peer: IpAddr,
        now: Instant,
    ) -> Self {
        HttpConnection(Arc::new(HttpConnectionState {
            limiter,
            number,
            peer,
            activity: Mutex::new(ConnectionActivity::new(now)),
            waker: AtomicWaker::new(),
            is_over: AtomicBool::new(false),
        }))
    }

    pub(super) fn limiter(&self) -> &HttpConnectionLimiter {
        &self.0.limiter
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
            self.0.limiter.is_spare(self.0.number, spare);
        }
    }

    fn lock_activity(&self) -> MutexGuard<'_, ConnectionActivity> {
        self.0.activity.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpConnectionSlot {
    /// The connection that holds the slot.
    pub fn connection(&self) -> &HttpConnection {
        &self.0
    }
}

impl Drop for HttpConnectionSlot {
    fn drop(&mut self) {
        self.0.limiter().table().remove(self.0.number());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn limiter() -> HttpConnectionLimiter {
        HttpConnectionLimiter::new(HttpLimits {
            connections: 3,
            per_address: 2,
            request_time: Duration::from_secs(30),
            stall: Duration::from_secs(20),
            least_pace: 1000,
        })
    }

    #[test]
    fn idle_connections_are_evicted_and_served_ones_are_not() {
        let limiter = limiter();
        let [one, two] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let served = limiter.acquire(one).unwrap();
        served.connection().is_answered();
        let slow = limiter.acquire(one).unwrap();
        slow.connection().sends();
        let next = limiter.acquire(one).unwrap();
        assert!(slow.connection().is_over() && !served.connection().is_over());
        next.connection().is_answered();
        assert!(limiter.acquire(one).is_none(), "both are served");
        drop(slow);
        assert_eq!(limiter.count(), 2, "its place was given away before");
        let _other = limiter.acquire(two).unwrap();
        served.connection().is_stuck(Instant::now());
        let mapped = IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 1]);
        let _of_the_same = limiter.acquire(mapped).unwrap();
        assert!(served.connection().is_over(), "it takes nothing of its answer");
        drop(next);
        assert_eq!(limiter.count(), 2);
    }

    #[test]
    fn a_slow_steady_reader_keeps_its_connection_before_a_stuck_one() {
        let (limiter, now) = (limiter(), Instant::now());
        let after = |seconds| now + Duration::from_secs(seconds);
        let [one, two] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let [steady, stalled, newer] =
            [one, two, two].map(|peer| limiter.acquire_at(peer, now).unwrap());
        for reader in [&steady, &stalled, &newer] {
            reader.connection().is_answered();
        }
        steady.connection().is_stuck(now);
        stalled.connection().is_stuck(after(1));
        newer.connection().is_stuck(after(2));
        for seconds in 1..10 {
            steady.connection().took(300, false, after(seconds));
            newer.connection().took(300, false, after(seconds));
        }
        let next = limiter.acquire_at(two, after(10)).unwrap();
        assert!(stalled.connection().is_over() && !steady.connection().is_over());
        // All make progress: the newest one of the address with the most connections is closed.
        next.connection().is_answered();
        next.connection().is_stuck(after(10));
        let three = IpAddr::from([10, 0, 0, 3]);
        let _last = limiter.acquire_at(three, after(10)).unwrap();
        assert!(next.connection().is_over() && !newer.connection().is_over());
        assert!(!steady.connection().is_over());
    }
}
