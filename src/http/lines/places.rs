//! Who may be connected to an HTTP server, and for how long somebody may keep it waiting.
//!
//! Every address gets a bounded number of places, and so do all together. A connection that only waits
//! (idle, or slowly sending a request) or takes nothing of its answer gives its place up for a new one:
//! a thousand slow connections lock nobody out, not even others of the same address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::task::AtomicWaker;

/// What connections may take.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once from one address.
    pub per_address: usize,
    /// How long a client may take for the body of a request.
    pub request_time: Duration,
    /// How long a client may take less than `least_pace` of an answer.
    pub stall: Duration,
    /// What a client must take of an answer at least, in bytes per second, averaged over `stall`.
    pub least_pace: u64,
}

/// The places of one server. Clones share them.
#[derive(Clone)]
pub struct HttpPlaces(Arc<Shared>);

struct Shared {
    limits: HttpLimits,
    table: Mutex<Table>,
    last_number: AtomicU64,
    refused: AtomicU64,
    ended: AtomicU64,
}

#[derive(Default)]
struct Table {
    taken: HashMap<u64, Connection>,
    by_address: HashMap<IpAddr, usize>,
}

/// A place; free again when it is dropped.
pub struct HttpPlace {
    places: HttpPlaces,
    number: u64,
    connection: Connection,
}

/// One connection, as those who read and answer its requests know it. Clones stand for the same one.
#[derive(Clone)]
pub struct Connection(Arc<Held>);

struct Held {
    peer: IpAddr,
    standing: Mutex<Standing>,
    /// Wakes who reads and writes, when it is to end.
    waker: AtomicWaker,
    is_over: AtomicBool,
}

/// How a connection stands. Pure.
#[derive(Clone, Copy, Debug)]
struct Standing {
    phase: Phase,
    since: Instant,
    /// Bytes of answers that were taken.
    taken: u64,
    /// Since when an answer waits to be taken, and how much was taken before.
    stuck: Option<(Instant, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// For a request, or for the rest of its head.
    Waits,
    /// The body of a request is on its way.
    Sends,
    /// The request is there, and being answered.
    IsAnswered,
}

impl Standing {
    fn new(now: Instant) -> Self {
        Standing { phase: Phase::Waits, since: now, taken: 0, stuck: None }
    }

    fn turn(&mut self, phase: Phase, now: Instant) {
        (self.phase, self.since) = (phase, now);
    }

    /// Since when it could give its place up; none while it is served.
    fn spare_since(&self) -> Option<Instant> {
        let stuck = self.stuck.map(|(since, _)| since);
        if self.phase == Phase::IsAnswered { stuck } else { Some(stuck.unwrap_or(self.since)) }
    }

    /// Whether it has kept the server waiting for too long.
    fn is_overdue(&mut self, limits: &HttpLimits, now: Instant) -> bool {
        if self.phase == Phase::Sends
            && now.saturating_duration_since(self.since) >= limits.request_time
        {
            return true;
        }
        let Some((since, before)) = self.stuck else { return false };
        let elapsed = now.saturating_duration_since(since);
        if elapsed < limits.stall {
            return false;
        }
        self.stuck = Some((now, self.taken));
        self.taken - before < limits.least_pace.saturating_mul(elapsed.as_secs().max(1))
    }
}

impl HttpPlaces {
    /// Places for these limits.
    pub fn new(limits: HttpLimits) -> Self {
        HttpPlaces(Arc::new(Shared {
            limits,
            table: Mutex::default(),
            last_number: AtomicU64::new(0),
            refused: AtomicU64::new(0),
            ended: AtomicU64::new(0),
        }))
    }

    /// The limits.
    pub fn limits(&self) -> &HttpLimits {
        &self.0.limits
    }

    /// A place for a connection from `peer`; none when all are taken by others that are being served.
    pub fn take(&self, peer: IpAddr) -> Option<HttpPlace> {
        let (peer, limits) = (peer.to_canonical(), &self.0.limits);
        let mut table = self.table();
        let of_peer = table.by_address.get(&peer).copied().unwrap_or(0);
        let among = match () {
            () if of_peer >= limits.per_address => Some(Some(peer)),
            () if table.taken.len() >= limits.connections => Some(None),
            () => None,
        };
        if let Some(among) = among {
            let Some(number) = table.longest_spare(among) else {
                self.0.refused.fetch_add(1, Ordering::Relaxed);
                return None;
            };
            if let Some(connection) = table.remove(number) {
                connection.end();
                self.0.ended.fetch_add(1, Ordering::Relaxed);
            }
        }
        let number = self.0.last_number.fetch_add(1, Ordering::Relaxed);
        let connection = Connection(Arc::new(Held {
            peer,
            standing: Mutex::new(Standing::new(Instant::now())),
            waker: AtomicWaker::new(),
            is_over: AtomicBool::new(false),
        }));
        table.taken.insert(number, connection.clone());
        *table.by_address.entry(peer).or_default() += 1;
        Some(HttpPlace { places: self.clone(), number, connection })
    }

    /// Ends every connection that has kept the server waiting for too long.
    pub fn end_overdue(&self, now: Instant) {
        let all: Vec<Connection> = self.table().taken.values().cloned().collect();
        for connection in all {
            if connection.standing().is_overdue(&self.0.limits, now) {
                connection.end();
                self.0.ended.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// How many connections were ended for what they did, and how many were refused.
    pub fn ended_and_refused(&self) -> (u64, u64) {
        (self.0.ended.load(Ordering::Relaxed), self.0.refused.load(Ordering::Relaxed))
    }

    /// How many places are taken.
    #[cfg(test)]
    fn count(&self) -> usize {
        self.table().taken.len()
    }

    /// Whether anybody but the caller still holds on to these places.
    pub fn is_in_use(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The connection, of that address or of all, that could give its place up for longest.
    fn longest_spare(&self, among: Option<IpAddr>) -> Option<u64> {
        let candidates =
            self.taken.iter().filter(|(_, one)| among.is_none_or(|peer| one.0.peer == peer));
        let spare =
            candidates.filter_map(|(number, one)| Some((one.standing().spare_since()?, *number)));
        spare.min().map(|(_, number)| number)
    }

    fn remove(&mut self, number: u64) -> Option<Connection> {
        let connection = self.taken.remove(&number)?;
        if let Some(count) = self.by_address.get_mut(&connection.0.peer) {
            *count -= 1;
            if *count == 0 {
                self.by_address.remove(&connection.0.peer);
            }
        }
        Some(connection)
    }
}

impl HttpPlace {
    /// The connection that has it.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for HttpPlace {
    fn drop(&mut self) {
        self.places.table().remove(self.number);
    }
}

impl Connection {
    /// The body of a request is on its way.
    pub fn sends(&self) {
        self.standing().turn(Phase::Sends, Instant::now());
    }

    /// A request is there as a whole.
    pub fn is_answered(&self) {
        self.standing().turn(Phase::IsAnswered, Instant::now());
    }

    /// The answer was handed over as a whole. A client that still sends the body stays one that does.
    pub fn was_answered(&self) {
        let mut standing = self.standing();
        if standing.phase == Phase::IsAnswered {
            standing.turn(Phase::Waits, Instant::now());
        }
    }

    /// The client took `bytes` of an answer; `all` is whether nothing is left of what was offered.
    pub(super) fn took(&self, bytes: usize, all: bool) {
        let mut standing = self.standing();
        standing.taken = standing.taken.saturating_add(bytes as u64);
        if all {
            standing.stuck = None;
        }
    }

    /// The client takes nothing at the moment.
    pub(super) fn is_stuck(&self) {
        let mut standing = self.standing();
        let taken = standing.taken;
        standing.stuck.get_or_insert_with(|| (Instant::now(), taken));
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Acquire)
    }

    pub(super) fn wakes(&self, waker: &std::task::Waker) {
        self.0.waker.register(waker);
    }

    fn end(&self) {
        self.0.is_over.store(true, Ordering::Release);
        self.0.waker.wake();
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.0.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> HttpPlaces {
        HttpPlaces::new(HttpLimits {
            connections: 3,
            per_address: 2,
            request_time: Duration::from_secs(30),
            stall: Duration::from_secs(20),
            least_pace: 1000,
        })
    }

    #[test]
    fn who_only_waits_or_takes_nothing_makes_room_and_who_is_served_does_not() {
        let places = places();
        let [one, two] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let served = places.take(one).unwrap();
        served.connection().is_answered();
        let slow = places.take(one).unwrap();
        slow.connection().sends();
        let next = places.take(one).unwrap();
        assert!(slow.connection().is_over() && !served.connection().is_over());
        next.connection().is_answered();
        assert!(places.take(one).is_none(), "both are served");
        drop(slow);
        assert_eq!(places.count(), 2, "its place was given away before");
        let _other = places.take(two).unwrap();
        served.connection().is_stuck();
        let mapped = IpAddr::from([0, 0, 0, 0, 0, 0xffff, 0x0a00, 1]);
        let _of_the_same = places.take(mapped).unwrap();
        assert!(served.connection().is_over(), "it takes nothing of its answer");
        drop(next);
        assert_eq!(places.count(), 2);
    }

    #[test]
    fn slow_bodies_and_slow_readers_are_overdue_and_long_polls_are_not() {
        let (places, now) = (places(), Instant::now());
        let limits = *places.limits();
        let after = |seconds| now + Duration::from_secs(seconds);
        let mut standing = Standing::new(now);
        assert!(!standing.is_overdue(&limits, after(3600)), "others end idle connections");
        standing.turn(Phase::Sends, now);
        assert!(!standing.is_overdue(&limits, after(29)));
        assert!(standing.is_overdue(&limits, after(30)));
        standing.turn(Phase::IsAnswered, now);
        assert!(!standing.is_overdue(&limits, after(3600)));
        standing.stuck = Some((now, 0));
        assert!(!standing.is_overdue(&limits, after(19)));
        standing.taken = 20_000;
        assert!(!standing.is_overdue(&limits, after(20)), "just enough");
        standing.taken = 39_999;
        assert!(standing.is_overdue(&limits, after(40)), "a byte too few");
    }
}
