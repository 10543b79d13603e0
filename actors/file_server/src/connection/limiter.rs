//! Limits the connections of one server, in total and per client.
//!
//! If all slots are taken, a new connection gets the slot of one that waits for a request. If none waits,
//! it gets the slot of a slow reader: a connection whose client takes nothing of its answer. The client
//! of that connection then counts as slow for a while. A slow client gets no slot of a slow reader, and
//! no slot of a connection whose first request is still in transit. So slow readers that connect again at
//! once do not keep out other clients.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// How long a connection can wait for a request before every client may take its slot. The first request
/// of a quick client arrives within this time.
const REQUEST_IN_TRANSIT: Duration = Duration::from_secs(1);

/// How long a client that lost a slot as a slow reader gets no slots of slow readers and new connections.
const SLOW_PENALTY: Duration = Duration::from_secs(60);

/// Limits of the connections of one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Largest number of connections.
    pub connections: usize,
    /// Largest number of connections of one client.
    pub per_client: usize,
    /// A connection whose client took nothing of its answer for this long is a slow reader, and loses its
    /// slot if no other is free. None: slow readers keep their slots.
    pub slow_reader: Option<Duration>,
}

/// The slots of one server. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ConnectionLimiter(Arc<LimiterState>);

struct LimiterState {
    limits: ConnectionLimits,
    table: Mutex<SlotTable>,
}

#[derive(Default)]
struct SlotTable {
    next: u64,
    taken: HashMap<u64, TakenSlot>,
    /// Clients that lost a slot as slow readers, each with the last time. Only those within
    /// [`SLOW_PENALTY`].
    slow_clients: HashMap<IpAddr, Instant>,
}

struct TakenSlot {
    /// None for a client without a limit of its own.
    client: Option<IpAddr>,
    evicted: Arc<Notify>,
    activity: SlotActivity,
}

/// The current activity of a connection.
#[derive(Clone, Copy, Debug)]
enum SlotActivity {
    /// It is served.
    Busy,
    /// It waits for a request since this time.
    Idle(Instant),
    /// Its client takes nothing of the answer since this time.
    Blocked(Instant),
}

/// The slot of one connection. Released when it is dropped.
pub struct ConnectionSlot {
    limiter: ConnectionLimiter,
    number: u64,
    peer: SocketAddr,
    evicted: Arc<Notify>,
}

impl ConnectionLimiter {
    /// Creates the slots for these limits.
    pub(crate) fn new(limits: ConnectionLimits) -> Self {
        ConnectionLimiter(Arc::new(LimiterState { limits, table: Mutex::default() }))
    }

    /// Takes a slot for a connection from `peer`. `client` identifies its client; none for one without a
    /// limit of its own. None if all slots are in use.
    pub(crate) fn acquire(
        &self,
        peer: SocketAddr,
        client: Option<IpAddr>,
    ) -> Option<ConnectionSlot> {
        self.acquire_at(peer, client, Instant::now())
    }

    fn acquire_at(
        &self,
        peer: SocketAddr,
        client: Option<IpAddr>,
        now: Instant,
    ) -> Option<ConnectionSlot> {
        let limits = &self.0.limits;
        let mut table = self.table();
        let of_client = table.taken.values().filter(|other| other.client == client).count();
        if client.is_some() && of_client >= limits.per_client {
            table.evict_one(limits, now, |other| other.client == client, false)?;
        } else if table.taken.len() >= limits.connections {
            let is_slow = client.is_some_and(|client| table.is_slow(client, now));
            table.evict_one(limits, now, |_| true, is_slow)?;
        }
        let number = table.next;
        table.next += 1;
        let evicted = Arc::new(Notify::new());
        let slot =
            TakenSlot { client, evicted: Arc::clone(&evicted), activity: SlotActivity::Busy };
        table.taken.insert(number, slot);
        Some(ConnectionSlot { limiter: self.clone(), number, peer, evicted })
    }

    /// Whether no slot is taken.
    pub(crate) fn is_free(&self) -> bool {
        self.table().taken.is_empty()
    }

    /// Ends every connection that waits for a request.
    pub(crate) fn evict_idle(&self) {
        self.table().taken.retain(|_, slot| {
            let is_idle = matches!(slot.activity, SlotActivity::Idle(_));
            if is_idle {
                slot.evicted.notify_one();
            }
            !is_idle
        });
    }

    fn table(&self) -> MutexGuard<'_, SlotTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SlotTable {
    /// Ends one connection among those, for a new one of a client that `is_slow` or not. None if all of
    /// them keep their slots.
    fn evict_one(
        &mut self,
        limits: &ConnectionLimits,
        now: Instant,
        among: impl Fn(&TakenSlot) -> bool,
        is_slow: bool,
    ) -> Option<()> {
        let mut idle: Option<(Instant, u64)> = None;
        let mut blocked: Option<(Instant, u64)> = None;
        for (number, slot) in self.taken.iter().filter(|(_, slot)| among(slot)) {
            let (longest, since) = match slot.activity {
                SlotActivity::Busy => continue,
                SlotActivity::Idle(since) => (&mut idle, since),
                SlotActivity::Blocked(since) => (&mut blocked, since),
            };
            if longest.is_none_or(|longest| (since, *number) < longest) {
                *longest = Some((since, *number));
            }
        }
        let since_at_least = |since: Instant, least| now.saturating_duration_since(since) >= least;
        let idle_long = idle.filter(|(since, _)| since_at_least(*since, REQUEST_IN_TRANSIT));
        let slow_reader = blocked.filter(|(since, _)| {
            limits.slow_reader.is_some_and(|least| since_at_least(*since, least))
        });
        let (_, number) = match (idle_long, slow_reader) {
            (Some(idle), _) => idle,
            (None, _) if is_slow => return None,
            (None, Some(slow_reader)) => slow_reader,
            (None, None) => idle?,
        };
        let evicted = self.taken.remove(&number)?;
        evicted.evicted.notify_one();
        if let (SlotActivity::Blocked(_), Some(client)) = (evicted.activity, evicted.client) {
            self.slow_clients.retain(|_, last| !since_at_least(*last, SLOW_PENALTY));
            self.slow_clients.insert(client, now);
        }
        Some(())
    }

    fn is_slow(&self, client: IpAddr, now: Instant) -> bool {
        let last = self.slow_clients.get(&client);
        last.is_some_and(|last| now.saturating_duration_since(*last) < SLOW_PENALTY)
    }
}

impl ConnectionSlot {
    /// Address of the other end of the connection.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// The connection waits for a request from now on.
    pub(crate) fn mark_idle(&self) {
        self.set_activity(SlotActivity::Idle(Instant::now()));
    }

    /// The connection is served from now on. False if another connection got the slot.
    pub(crate) fn mark_busy(&self) -> bool {
        self.set_activity(SlotActivity::Busy)
    }

    /// The client takes nothing of its answer since this time.
    pub(crate) fn mark_blocked(&self, since: Instant) {
        self.set_activity(SlotActivity::Blocked(since));
    }

    /// Returns when another connection got the slot.
    pub(crate) fn evicted(&self) -> impl Future<Output = ()> + Send + 'static {
        let evicted = Arc::clone(&self.evicted);
        async move { evicted.notified().await }
    }

    fn set_activity(&self, activity: SlotActivity) -> bool {
        match self.limiter.table().taken.get_mut(&self.number) {
            Some(slot) => {
                slot.activity = activity;
                true
            }
            None => false,
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.limiter.table().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_secs(5);

    fn limiter(connections: usize, per_client: usize) -> ConnectionLimiter {
        let slow_reader = Some(SLOW);
        ConnectionLimiter::new(ConnectionLimits { connections, per_client, slow_reader })
    }

    /// A slot for the client with this number.
    fn acquire(limiter: &ConnectionLimiter, client: u8, now: Instant) -> Option<ConnectionSlot> {
        let ip = IpAddr::from([10, 0, 0, client]);
        limiter.acquire_at(SocketAddr::new(ip, 1), Some(ip), now)
    }

    #[tokio::test]
    async fn no_client_takes_all_slots_and_idle_connections_are_evicted() {
        let (limiter, now) = (limiter(4, 2), Instant::now());
        let busy = acquire(&limiter, 1, now).unwrap();
        let idle = acquire(&limiter, 1, now).unwrap();
        assert!(acquire(&limiter, 1, now).is_none(), "one client gets two");
        idle.mark_idle();
        let _replacement = acquire(&limiter, 1, now).unwrap();
        idle.evicted().await;
        assert!(!idle.mark_busy(), "its slot is taken");
        drop(idle);
        let _others = [acquire(&limiter, 2, now).unwrap(), acquire(&limiter, 2, now).unwrap()];
        assert!(acquire(&limiter, 3, now).is_none(), "all are busy");
        busy.mark_idle();
        assert!(acquire(&limiter, 3, now).is_some());
        busy.evicted().await;
    }

    #[test]
    fn a_client_without_a_limit_can_take_all_slots() {
        let (limiter, now) = (limiter(4, 1), Instant::now());
        let proxy = SocketAddr::from(([10, 0, 0, 1], 1));
        let taken: Vec<_> = (0..4).map(|_| limiter.acquire(proxy, None).unwrap()).collect();
        assert!(limiter.acquire(proxy, None).is_none());
        drop(taken);
        let _one = acquire(&limiter, 2, now).unwrap();
        assert!(acquire(&limiter, 2, now).is_none());
    }

    #[tokio::test]
    async fn the_slowest_reader_is_evicted_first() {
        let (limiter, now) = (limiter(2, 2), Instant::now());
        let (slow, quick) =
            (acquire(&limiter, 1, now).unwrap(), acquire(&limiter, 2, now).unwrap());
        slow.mark_blocked(now);
        quick.mark_blocked(now + SLOW / 2);
        let just_before = now + SLOW - Duration::from_millis(1);
        assert!(acquire(&limiter, 3, just_before).is_none());
        assert!(acquire(&limiter, 3, now + SLOW).is_some());
        slow.evicted().await;
        assert!(quick.mark_busy(), "it keeps its slot");
    }

    #[test]
    fn slow_readers_keep_their_slots_without_a_limit() {
        let limits = ConnectionLimits { connections: 1, per_client: 1, slow_reader: None };
        let (limiter, now) = (ConnectionLimiter::new(limits), Instant::now());
        let slow = acquire(&limiter, 1, now).unwrap();
        slow.mark_blocked(now);
        assert!(acquire(&limiter, 2, now + 100 * SLOW).is_none());
    }

    #[tokio::test]
    async fn slow_readers_that_return_do_not_keep_out_another_client() {
        let (limiter, begin) = (limiter(2, 2), Instant::now());
        let slow = [acquire(&limiter, 1, begin).unwrap(), acquire(&limiter, 2, begin).unwrap()];
        slow[0].mark_blocked(begin);
        slow[1].mark_blocked(begin);
        let now = begin + SLOW;
        let quick = acquire(&limiter, 3, now).unwrap();
        assert!(acquire(&limiter, 1, now).is_none(), "it lost its slot as a slow reader");
        quick.set_activity(SlotActivity::Idle(now));
        assert!(acquire(&limiter, 1, now).is_none(), "the request of the quick one is in transit");
        let _other = acquire(&limiter, 4, now).expect("the second slow reader loses its slot");
        slow[1].evicted().await;
        assert!(acquire(&limiter, 2, now).is_none(), "it is slow, too");
        let later = now + REQUEST_IN_TRANSIT;
        assert!(acquire(&limiter, 1, later).is_some(), "every client gets the slot of an idle one");
        quick.evicted().await;
    }

    #[test]
    fn the_penalty_of_a_slow_client_ends() {
        let (limiter, begin) = (limiter(1, 1), Instant::now());
        let slow = acquire(&limiter, 1, begin).unwrap();
        slow.mark_blocked(begin);
        let evicted_at = begin + SLOW;
        let second = acquire(&limiter, 2, evicted_at).unwrap();
        second.mark_blocked(evicted_at);
        let just_before = evicted_at + SLOW_PENALTY - Duration::from_millis(1);
        assert!(acquire(&limiter, 1, just_before).is_none());
        assert!(acquire(&limiter, 1, evicted_at + SLOW_PENALTY).is_some());
    }
}
