//! The waiting requests of one pool, in order. Pure.
//!
//! The position of a waiting request never changes: it is the time of arrival, minus the worth of its
//! priority. One step of priority is worth a fixed time of waiting. So a request that waits long enough
//! is ahead of all new ones. The first request is served first, even if it wants more boxes than are
//! free. Later requests wait, so that it does not starve. Only a request for more boxes than the pool can
//! give now is skipped, and it keeps its position.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::box_lease::messages::Priority;

/// Identifies a waiter among all pools, while this node leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaiterId(pub u64);

/// A position in the queue: a lower one is served earlier. Equal ones are served in their order of arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseQueuePosition {
    rank: i128,
    waiter: WaiterId,
}

impl LeaseQueuePosition {
    /// The position of a request that arrived at `came`, where a step of priority is worth `step`.
    pub fn of(waiter: WaiterId, priority: Priority, came: Duration, step: Duration) -> Self {
        let micros = |time: Duration| i128::try_from(time.as_micros()).unwrap_or(i128::MAX / 256);
        LeaseQueuePosition {
            rank: micros(came) - i128::from(priority.get()) * micros(step),
            waiter,
        }
    }

    /// The waiting request of this position.
    pub fn waiter(self) -> WaiterId {
        self.waiter
    }
}

/// The queue of one pool. Every operation but [`LeaseQueue::all`] takes logarithmic time in the number of
/// waiting requests. [`LeaseQueue::first`] also takes time for each skipped request.
#[derive(Clone, Debug, Default)]
pub struct LeaseQueue {
    /// The number of boxes of each request.
    order: BTreeMap<LeaseQueuePosition, u32>,
    positions: HashMap<WaiterId, LeaseQueuePosition>,
    /// The number of boxes of all requests.
    wanted: u64,
}

impl LeaseQueue {
    /// A request waits for `count` boxes at this position.
    pub fn push(&mut self, position: LeaseQueuePosition, count: u32) {
        self.remove(position.waiter);
        self.positions.insert(position.waiter, position);
        self.order.insert(position, count);
        self.wanted += u64::from(count);
    }

    /// A request stops waiting. Returns whether it was in the queue.
    pub fn remove(&mut self, waiter: WaiterId) -> bool {
        let Some(position) = self.positions.remove(&waiter) else { return false };
        self.wanted -= u64::from(self.order.remove(&position).unwrap_or(0));
        true
    }

    /// The first request for at most this many boxes, and its number of boxes.
    pub fn first(&self, most: u32) -> Option<(WaiterId, u32)> {
        self.all().find(|(_, count)| *count <= most)
    }

    /// The last request in the queue.
    pub fn last(&self) -> Option<WaiterId> {
        self.order.last_key_value().map(|(position, _)| position.waiter)
    }

    /// Whether this request waits.
    pub fn has(&self, waiter: WaiterId) -> bool {
        self.positions.contains_key(&waiter)
    }

    /// All requests in order, each with its number of boxes.
    pub fn all(&self) -> impl Iterator<Item = (WaiterId, u32)> {
        self.order.iter().map(|(position, count)| (position.waiter, *count))
    }

    /// How many requests wait.
    pub fn len(&self) -> usize {
        self.positions.len()
    }

    /// Whether no request waits.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// The number of boxes of all requests.
    pub fn wanted(&self) -> u64 {
        self.wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_secs(60);

    fn position(waiter: u64, priority: i64, came_ms: u64) -> LeaseQueuePosition {
        let priority = Priority::try_from(priority).unwrap();
        LeaseQueuePosition::of(WaiterId(waiter), priority, Duration::from_millis(came_ms), STEP)
    }

    fn order(positions: &[LeaseQueuePosition]) -> Vec<u64> {
        let mut queue = LeaseQueue::default();
        for position in positions {
            queue.push(*position, 1);
        }
        queue.all().map(|(waiter, _)| waiter.0).collect()
    }

    #[test]
    fn first_come_first_served_within_a_priority() {
        assert_eq!(order(&[position(2, 0, 5), position(1, 0, 5), position(3, 0, 4)]), [3, 1, 2]);
        assert_eq!(order(&[position(1, 0, 0), position(2, 1, 1), position(3, -1, 0)]), [2, 1, 3]);
    }

    #[test]
    fn a_waiting_request_gains_priority_with_age() {
        // Two steps equal two minutes: a request that has waited that long is ahead of all that arrive
        // then.
        assert_eq!(order(&[position(1, 0, 0), position(2, 2, 119_999)]), [2, 1]);
        assert_eq!(order(&[position(1, 0, 0), position(2, 2, 120_000)]), [1, 2]);
        assert_eq!(order(&[position(1, -100, 0), position(2, 100, 200 * 60_000)]), [1, 2]);
    }

    #[test]
    fn a_waiter_that_leaves_does_not_move_the_others() {
        let mut queue = LeaseQueue::default();
        for waiter in 0..5 {
            queue.push(position(waiter, 0, waiter), 2);
        }
        assert!(queue.remove(WaiterId(0)) && queue.remove(WaiterId(3)));
        assert!(!queue.remove(WaiterId(3)) && !queue.has(WaiterId(3)));
        assert_eq!((queue.len(), queue.wanted(), queue.first(2)), (3, 6, Some((WaiterId(1), 2))));
        assert_eq!(queue.last(), Some(WaiterId(4)));
        // A request whose grant failed goes back to its position.
        let first = position(1, 0, 1);
        queue.remove(first.waiter());
        queue.push(first, 2);
        assert_eq!(queue.first(2), Some((WaiterId(1), 2)));
    }

    #[test]
    fn a_request_for_more_boxes_than_are_free_is_passed_over() {
        let mut queue = LeaseQueue::default();
        for (waiter, count) in [(1, 3), (2, 2), (3, 1)] {
            queue.push(position(waiter, 0, waiter), count);
        }
        let firsts = [0, 1, 2, 3].map(|most| queue.first(most).map(|(waiter, _)| waiter.0));
        assert_eq!(firsts, [None, Some(3), Some(2), Some(1)]);
    }

    #[test]
    fn a_priority_is_from_minus_100_to_100() {
        assert!([-101, 101, 1000].iter().all(|number| Priority::try_from(*number).is_err()));
        assert_eq!(serde_json::from_str::<Priority>("-100").unwrap().get(), -100);
        assert!(serde_json::from_str::<Priority>("200").is_err());
    }
}
