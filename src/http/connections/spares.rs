//! The connections that can be closed for a new one, in the order in which they are closed. Pure.
//!
//! Connections without progress are closed first, starting with the longest waiting one. If all
//! make progress, the newest connection of the address with the most connections is closed. So
//! early slow readers keep their slots against a client that opens many connections. Each step
//! costs O(log n).

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::time::Instant;

/// Connections that can be closed, each with the time since which it makes no progress.
#[derive(Debug, Default)]
pub(super) struct Spares {
    all: BTreeSet<(Instant, u64)>,
    of: HashMap<IpAddr, OfAddress>,
    /// Every address by its number of spare connections.
    by_count: BTreeSet<(usize, IpAddr)>,
}

/// The spare connections of one address.
#[derive(Debug, Default)]
struct OfAddress {
    by_time: BTreeSet<(Instant, u64)>,
    by_number: BTreeSet<u64>,
}

impl Spares {
    pub(super) fn insert(&mut self, peer: IpAddr, number: u64, from: Instant) {
        let of_peer = self.of.entry(peer).or_default();
        let before = of_peer.by_number.len();
        of_peer.by_number.insert(number);
        of_peer.by_time.insert((from, number));
        self.all.insert((from, number));
        let count = of_peer.by_number.len();
        self.recount(peer, before, count);
    }

    /// Undoes [`Spares::insert`] with the same arguments.
    pub(super) fn remove(&mut self, peer: IpAddr, number: u64, from: Instant) {
        let Some(of_peer) = self.of.get_mut(&peer) else { return };
        let before = of_peer.by_number.len();
        of_peer.by_number.remove(&number);
        of_peer.by_time.remove(&(from, number));
        self.all.remove(&(from, number));
        let count = of_peer.by_number.len();
        if count == 0 {
            self.of.remove(&peer);
        }
        self.recount(peer, before, count);
    }

    /// The next connection to close, of that address or of all.
    pub(super) fn next(&self, among: Option<IpAddr>, now: Instant) -> Option<u64> {
        let by_time = match among {
            Some(peer) => &self.of.get(&peer)?.by_time,
            None => &self.all,
        };
        let &(from, number) = by_time.first()?;
        if from <= now {
            return Some(number);
        }
        let (_, most) = self.by_count.last()?;
        self.of.get(&among.unwrap_or(*most))?.by_number.last().copied()
    }

    fn recount(&mut self, peer: IpAddr, before: usize, count: usize) {
        self.by_count.remove(&(before, peer));
        if count > 0 {
            self.by_count.insert((count, peer));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn stalled_connections_go_first_then_the_newest_of_the_busiest_address() {
        let [one, two] = [1, 2].map(|last| IpAddr::from([10, 0, 0, last]));
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut spares = Spares::default();
        assert_eq!(spares.next(None, now), None);
        let all = [
            (one, 1, now + second),
            (two, 2, now + second),
            (one, 3, now + 3 * second),
            (one, 4, now - second),
            (two, 5, now - 2 * second),
            (two, 6, now + 2 * second),
            (two, 7, now + second),
        ];
        for (peer, number, from) in all {
            spares.insert(peer, number, from);
        }
        assert_eq!(spares.next(Some(one), now), Some(4));
        assert_eq!(spares.next(None, now), Some(5), "it waits longer than 4");
        spares.remove(two, 5, now - 2 * second);
        assert_eq!(spares.next(None, now), Some(4));
        spares.remove(one, 4, now - second);
        assert_eq!(spares.next(Some(one), now), Some(3));
        assert_eq!(spares.next(None, now), Some(7), "three readers are of that address");
        assert_eq!(spares.next(None, now + second), Some(1), "it reads no longer");
        for (peer, number, from) in all {
            spares.remove(peer, number, from);
        }
        assert!(spares.of.is_empty() && spares.all.is_empty() && spares.by_count.is_empty());
    }
}
