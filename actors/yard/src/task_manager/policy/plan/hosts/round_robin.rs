//! Round robin: destinations take turns in a fixed order. The order continues where it stopped.

use std::cmp::Reverse;

use reelyard_core::host::HostAddr;

/// The destinations of the yard in the order of their turns, and the destination that had the last turn.
///
/// The order is cfm's: by address as text, descending. cfm rebuilds it each round, and so begins at the
/// same destination each time. This order continues behind the destination of the last planned copy, also
/// in the next round and under the next leader. Every destination of the yard has its place in it, usable
/// or not. So the absence of one changes nothing for the others.
#[derive(Clone, Debug, Default)]
pub struct DestinationRoundRobin {
    /// The destinations by their text, descending.
    order: Vec<(Reverse<String>, HostAddr)>,
    /// The position of the next turn in `order`.
    next: usize,
}

impl DestinationRoundRobin {
    /// The ring of these destinations; `last` had the last turn. It marks the position even if it has
    /// left the yard since.
    pub fn new(destinations: impl Iterator<Item = HostAddr>, last: Option<HostAddr>) -> Self {
        let mut order: Vec<_> =
            destinations.map(|addr| (Reverse(addr.to_string()), addr)).collect();
        order.sort_unstable();
        let mut ring = DestinationRoundRobin { order, next: 0 };
        if let Some(last) = last {
            ring.took(last);
        }
        ring
    }

    /// The number of turns before that of `addr`; 0 if its turn is next.
    pub fn turns_until(&self, addr: HostAddr) -> usize {
        let place = self.order.iter().position(|(_, other)| *other == addr);
        let length = self.order.len();
        place.map_or(length, |place| (place + length - self.next) % length)
    }

    /// `addr` had its turn.
    pub fn took(&mut self, addr: HostAddr) {
        let behind = (Reverse(addr.to_string()), addr);
        self.next = self.order.partition_point(|place| *place <= behind);
        if self.next == self.order.len() {
            self.next = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(last: u8) -> HostAddr {
        format!("10.0.0.{last}:8888").parse().unwrap()
    }

    /// The order in which the hosts of a ring have their turns, by their last numbers.
    fn turns(ring: &DestinationRoundRobin, hosts: &[u8]) -> Vec<u8> {
        let mut hosts = hosts.to_vec();
        hosts.sort_by_key(|last| ring.turns_until(host(*last)));
        hosts
    }

    #[test]
    fn the_order_is_descending_by_text_and_continues_behind_the_last() {
        let hosts = [3, 9, 10, 21];
        let ring = |last: Option<u8>| {
            DestinationRoundRobin::new(hosts.iter().map(|last| host(*last)), last.map(host))
        };
        assert_eq!(turns(&ring(None), &hosts), [9, 3, 21, 10]);
        assert_eq!(turns(&ring(Some(3)), &hosts), [21, 10, 9, 3]);
        assert_eq!(turns(&ring(Some(10)), &hosts), [9, 3, 21, 10]);
    }

    #[test]
    fn a_destination_that_has_left_still_marks_the_place() {
        let ring = DestinationRoundRobin::new([3, 9, 21].into_iter().map(host), Some(host(30)));
        assert_eq!(turns(&ring, &[3, 9, 21]), [21, 9, 3]);
        assert_eq!(
            DestinationRoundRobin::new(std::iter::empty(), Some(host(1))).turns_until(host(1)),
            0
        );
    }
}
