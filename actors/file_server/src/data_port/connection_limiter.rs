//! Limits the number of connections, in total and per peer. A connection that waits between two requests
//! gives up its place for a new one. After those, connections that read hardly any of their answer do.
//! A peer that lost a place as a slow reader cannot take a place from such a connection, nor from one whose
//! request is still on its way. So many slow readers that return at once do not keep out a quick one.

use std::collections::HashMap;
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection that needs longer for a piece of a file, of 64 KiB once it was slow, gives its place up
/// where all are taken.
const SLOW: Duration = Duration::from_secs(5);

/// How long a connection can wait for a request before every peer may take its place. The first request
/// of a quick client arrives within this time.
const REQUEST_ON_ITS_WAY: Duration = Duration::from_secs(1);

/// How long a peer that lost a place as a slow reader takes none from slow readers and new connections.
const SLOW_PENALTY: Duration = Duration::from_secs(60);

/// The places of one data port. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct DataPortConnectionLimiter(Arc<DataPortLimiterShared>);

#[derive(Default)]
struct DataPortLimiterShared {
    table: Mutex<DataPortConnectionTable>,
    /// Notified when a connection ends.
    ended: Condvar,
}

#[derive(Default)]
struct DataPortConnectionTable {
    taken: HashMap<u64, DataPortConnection>,
    /// Peers that lost a place as slow readers, each with the last time. Only those within
    /// [`SLOW_PENALTY`]: few, since a place is lost after [`SLOW`].
    slow_peers: HashMap<IpAddr, Instant>,
    /// Connections that have not ended, those that lost their place to another included.
    open: usize,
}

struct DataPortConnection {
    peer: IpAddr,
    /// A second handle on the connection, so that it can be broken off.
    stream: TcpStream,
    /// Since when it waits for a request.
    idle: Option<Instant>,
    /// Since when it takes the piece of a file that it is being sent.
    taking: Option<Instant>,
}

/// One connection's place. Dropped when the connection ends.
pub(super) struct DataPortConnectionSlot {
    places: DataPortConnectionLimiter,
    number: u64,
}

impl DataPortConnectionLimiter {
    /// A place for `stream`, or none when all are taken. Half of them are the most that one peer
    /// gets.
    pub(super) fn take(
        &self,
        number: u64,
        most: usize,
        peer: IpAddr,
        stream: TcpStream,
    ) -> Option<DataPortConnectionSlot> {
        let mut table = self.table();
        let of_peer = table.taken.values().filter(|other| other.peer == peer).count();
        if of_peer >= most.div_ceil(2).max(2) {
            table.make_room(|other| other.peer == peer, false)?;
        } else if table.taken.len() >= most {
            let lost = table.slow_peers.get(&peer);
            let is_slow = lost.is_some_and(|lost| lost.elapsed() < SLOW_PENALTY);
            table.make_room(|_| true, is_slow)?;
        }
        table.taken.insert(number, DataPortConnection { peer, stream, idle: None, taking: None });
        table.open += 1;
        Some(DataPortConnectionSlot { places: self.clone(), number })
    }

    /// How many are taken.
    pub(super) fn count(&self) -> usize {
        self.table().taken.len()
    }

    /// Breaks every connection off and returns when all have ended.
    pub(super) fn clear(&self) {
        let mut table = self.table();
        for one in table.taken.values() {
            // It fails only for a connection that is gone already.
            let _ = one.stream.shutdown(Shutdown::Both);
        }
        while table.open > 0 {
            table = self.0.ended.wait(table).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn table(&self) -> MutexGuard<'_, DataPortConnectionTable> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DataPortConnectionTable {
    /// Ends one connection among those, for a new one of a peer that `is_slow` or not: the one that waits
    /// the longest for a request, or the one that has taken its piece the longest. None if all of them
    /// are at work.
    fn make_room(
        &mut self,
        among: impl Fn(&DataPortConnection) -> bool,
        is_slow: bool,
    ) -> Option<()> {
        let among = || self.taken.iter().filter(|(_, other)| among(other));
        let waits = among().filter_map(|(number, other)| Some((other.idle?, *number))).min();
        let waits_long = waits.filter(|(since, _)| since.elapsed() >= REQUEST_ON_ITS_WAY);
        let takes = among().filter_map(|(number, other)| Some((other.taking?, *number))).min();
        let takes_long = takes.filter(|(since, _)| since.elapsed() >= SLOW);
        let longest = match (waits_long, takes_long) {
            (Some((_, number)), _) => number,
            (None, _) if is_slow => return None,
            (None, Some((_, number))) => number,
            (None, None) => waits?.1,
        };
        // Its thread finds it closed; its place is another's from here on.
        let gone = self.taken.remove(&longest)?;
        // It fails only for a connection that is gone already.
        let _ = gone.stream.shutdown(Shutdown::Both);
        if gone.idle.is_none() {
            self.slow_peers.retain(|_, lost| lost.elapsed() < SLOW_PENALTY);
            self.slow_peers.insert(gone.peer, Instant::now());
        }
        Some(())
    }
}

impl DataPortConnectionSlot {
    /// Whether it waits for a request.
    pub(super) fn is_idle(&self, is_idle: bool) {
        if let Some(taken) = self.places.table().taken.get_mut(&self.number) {
            (taken.idle, taken.taking) = (is_idle.then(Instant::now), None);
        }
    }

    /// It is sent the next piece of a file.
    pub(super) fn takes_a_piece(&self) {
        if let Some(taken) = self.places.table().taken.get_mut(&self.number) {
            taken.taking = Some(Instant::now());
        }
    }
}

impl Drop for DataPortConnectionSlot {
    fn drop(&mut self) {
        let mut table = self.places.table();
        table.taken.remove(&self.number);
        table.open -= 1;
        self.places.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    fn connection(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    #[test]
    fn the_slowest_connection_is_evicted_first() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let places = DataPortConnectionLimiter::default();
        let peers = [1, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]));
        let mut near = Vec::new();
        let mut take = |number, peer| {
            let (client, far) = connection(&listener);
            near.push(client);
            places.take(number, 2, peer, far)
        };
        let (slow, quick) = (take(1, peers[0]).unwrap(), take(2, peers[1]).unwrap());
        slow.takes_a_piece();
        quick.takes_a_piece();
        assert!(take(3, peers[2]).is_none());
        let before = Instant::now().checked_sub(SLOW).unwrap();
        places.table().taken.get_mut(&1).unwrap().taking = Some(before);
        assert!(take(4, peers[2]).is_some());
        assert_eq!(near[0].read(&mut [0]).unwrap(), 0, "it was closed");
    }

    #[test]
    fn slow_readers_that_return_do_not_keep_out_another_peer() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let places = DataPortConnectionLimiter::default();
        let [one, two, three, four] = [1, 2, 3, 4].map(|last| IpAddr::from([10, 0, 0, last]));
        let mut near = Vec::new();
        let mut take = |number, peer| {
            let (client, far) = connection(&listener);
            near.push(client);
            places.take(number, 2, peer, far)
        };
        let reads_since = |number, since| {
            places.table().taken.get_mut(&number).unwrap().taking = Some(since);
        };
        let long_ago = Instant::now().checked_sub(SLOW).unwrap();
        let _slow = [take(1, one).unwrap(), take(2, two).unwrap()];
        reads_since(1, long_ago);
        reads_since(2, long_ago);
        let quick = take(3, three).unwrap();
        assert!(take(4, one).is_none(), "it lost its place as a slow reader");
        quick.is_idle(true);
        assert!(take(5, one).is_none(), "the request of the quick one is on its way");
        let _other = take(6, four).expect("the second slow reader gives its place up");
        assert!(take(7, two).is_none(), "it is slow, too");
        places.table().taken.get_mut(&3).unwrap().idle = Some(long_ago);
        assert!(
            take(8, one).is_some(),
            "a connection without a request gives its place to every peer"
        );
        assert_eq!(near[1].read(&mut [0]).unwrap(), 0, "the second slow reader was closed");
    }

    #[test]
    fn no_peer_takes_all_slots_and_idle_connections_are_evicted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let places = DataPortConnectionLimiter::default();
        let [one, two, three] = [1, 2, 3].map(|last| IpAddr::from([10, 0, 0, last]));
        let mut near = Vec::new();
        let mut take = |number, peer| {
            let (client, far) = connection(&listener);
            near.push(client);
            places.take(number, 4, peer, far)
        };
        let busy = take(1, one).unwrap();
        let waits = take(2, one).unwrap();
        assert!(take(3, one).is_none(), "half of all places");
        waits.is_idle(true);
        let _in_its_place = take(4, one).unwrap();
        assert_eq!(places.count(), 2);
        let _others = [take(5, two).unwrap(), take(6, two).unwrap()];
        assert!(take(7, three).is_none(), "everybody is at work");
        busy.is_idle(true);
        assert!(take(8, three).is_some());
        assert_eq!(near[1].read(&mut [0]).unwrap(), 0, "it was closed");
    }
}
