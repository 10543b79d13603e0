//! Limits the connections, in total and per address. A new connection may replace one that is idle
//! between two requests.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::client_address::client_network;

/// The slots of one listener. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LinkConnectionLimiter(Arc<LinkLimiterState>);

struct LinkLimiterState {
    most: usize,
    most_of_one: usize,
    /// Proxies, which have no limit per address.
    trusted: Vec<IpAddr>,
    table: Mutex<LinkConnectionTable>,
}

#[derive(Default)]
struct LinkConnectionTable {
    next: u64,
    taken: HashMap<u64, LinkConnectionEntry>,
}

struct LinkConnectionEntry {
    line: IpAddr,
    evicted: Arc<Notify>,
    /// Start of the current idle time; none during a request.
    idle: Option<Instant>,
}

/// The slot of one connection. Released when it is dropped.
pub(crate) struct LinkConnectionSlot {
    places: LinkConnectionLimiter,
    number: u64,
    peer: SocketAddr,
    evicted: Arc<Notify>,
}

impl LinkConnectionLimiter {
    /// Creates `most` slots. One address that is not `trusted` gets at most `most_of_one`.
    pub(crate) fn new(most: usize, most_of_one: usize, trusted: Vec<IpAddr>) -> Self {
        let table = Mutex::default();
        LinkConnectionLimiter(Arc::new(LinkLimiterState { most, most_of_one, trusted, table }))
    }

    /// Takes a slot for `peer`. None if all are in use and not idle.
    pub(crate) fn take(&self, peer: SocketAddr) -> Option<LinkConnectionSlot> {
        let line = client_network(peer.ip().to_canonical());
        let mut table = self.table();
        let of_line = table.taken.values().filter(|other| other.line == line).count();
        let is_bounded = !self.0.trusted.contains(&peer.ip().to_canonical());
        if is_bounded && of_line >= self.0.most_of_one {
            table.evict_idle(|other| other.line == line)?;
        } else if table.taken.len() >= self.0.most {
            table.evict_idle(|_| true)?;
        }
        let number = table.next;
        table.next += 1;
        let evicted = Arc::new(Notify::new());
        let taken = LinkConnectionEntry { line, evicted: Arc::clone(&evicted), idle: None };
        table.taken.insert(number, taken);
        Some(LinkConnectionSlot { places: self.clone(), number, peer, evicted })
    }

    /// Whether no connection is open.
    pub(crate) fn are_free(&self) -> bool {
        self.table().taken.is_empty()
    }

    /// Ends every idle connection.
    pub(crate) fn evict_all_idle(&self) {
        for other in self.table().taken.values().filter(|other| other.idle.is_some()) {
            other.evicted.notify_one();
        }
    }

    fn table(&self) -> MutexGuard<'_, LinkConnectionTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LinkConnectionTable {
    /// Frees the slot of the connection with the longest idle time.
    fn evict_idle(&mut self, may: impl Fn(&LinkConnectionEntry) -> bool) -> Option<()> {
        let idle = self.taken.iter().filter(|(_, other)| may(other));
        let idle = idle.filter_map(|(number, other)| Some((other.idle?, *number)));
        let (_, longest) = idle.min()?;
        self.taken.remove(&longest)?.evicted.notify_one();
        Some(())
    }
}

impl LinkConnectionSlot {
    /// Address of the other end of the connection.
    pub(crate) fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Marks the connection as idle or busy.
    pub(crate) fn is_idle(&self, is_idle: bool) {
        if let Some(taken) = self.places.table().taken.get_mut(&self.number) {
            taken.idle = is_idle.then(Instant::now);
        }
    }

    /// Returns when another connection got the slot.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for LinkConnectionSlot {
    fn drop(&mut self) {
        self.places.table().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 1))
    }

    #[tokio::test]
    async fn no_address_takes_all_slots_and_idle_connections_are_evicted() {
        let places = LinkConnectionLimiter::new(4, 2, Vec::new());
        let busy = places.take(from(1)).unwrap();
        let waits = places.take(from(1)).unwrap();
        assert!(places.take(from(1)).is_none(), "as many as one address gets");
        waits.is_idle(true);
        let _in_its_place = places.take(from(1)).unwrap();
        waits.evicted().await;
        drop(waits);
        let _others = [places.take(from(2)).unwrap(), places.take(from(2)).unwrap()];
        assert!(places.take(from(3)).is_none(), "everybody is at work");
        busy.is_idle(true);
        assert!(places.take(from(3)).is_some());
        busy.evicted().await;
    }

    #[test]
    fn a_trusted_proxy_speaks_for_many() {
        let places = LinkConnectionLimiter::new(4, 1, vec![from(1).ip()]);
        let taken: Vec<_> = (0..4).map(|_| places.take(from(1)).unwrap()).collect();
        assert!(places.take(from(1)).is_none());
        drop(taken);
        let _one = places.take(from(2)).unwrap();
        assert!(places.take(from(2)).is_none());
    }
}
