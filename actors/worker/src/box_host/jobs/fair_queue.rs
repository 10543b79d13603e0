//! The order of boxes for hooks: round robin over pools, and in the order of arrival within a pool. Pure.

use std::collections::{HashMap, VecDeque};

use reelyard_protocol::boxes::PoolName;

use crate::box_host::jobs::box_key::HostedBoxKey;

/// Boxes that wait for their turn, and how many have it.
#[derive(Debug, Default)]
pub(in crate::box_host) struct FairBoxQueue {
    /// Pools with waiting boxes, the next one first.
    circle: VecDeque<PoolName>,
    waiting: HashMap<PoolName, VecDeque<HostedBoxKey>>,
    running: HashMap<PoolName, usize>,
}

impl FairBoxQueue {
    /// A box waits for its turn from now on.
    pub fn join(&mut self, pool: &PoolName, key: HostedBoxKey) {
        let boxes = self.waiting.entry(pool.clone()).or_default();
        if boxes.is_empty() {
            self.circle.push_back(pool.clone());
        }
        boxes.push_back(key);
    }

    /// The next box for a hook, while fewer than `at_once` run. A pool without a running hook gets its turn
    /// even then. So slow pools do not delay it.
    pub fn next(&mut self, at_once: usize) -> Option<HostedBoxKey> {
        let is_room = self.running() < at_once;
        let has_turn = |pool: &PoolName| is_room || !self.running.contains_key(pool);
        let place = self.circle.iter().position(has_turn)?;
        let pool = self.circle.remove(place)?;
        let boxes = self.waiting.get_mut(&pool)?;
        let key = boxes.pop_front()?;
        if boxes.is_empty() {
            self.waiting.remove(&pool);
        } else {
            self.circle.push_back(pool.clone());
        }
        *self.running.entry(pool).or_default() += 1;
        Some(key)
    }

    /// The turn of a box has ended.
    pub fn ended(&mut self, pool: &PoolName) {
        if let Some(running) = self.running.get_mut(pool) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(pool);
            }
        }
    }

    /// How many have their turn.
    pub fn running(&self) -> usize {
        self.running.values().sum()
    }

    /// How many boxes wait.
    pub fn waiting(&self) -> usize {
        self.waiting.values().map(VecDeque::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(name: &str) -> PoolName {
        PoolName::new(name).unwrap()
    }

    fn join(queue: &mut FairBoxQueue, name: &str, box_id: u32) {
        queue.join(&pool(name), HostedBoxKey { hooks: name.to_owned(), box_id });
    }

    fn turns(queue: &mut FairBoxQueue, at_once: usize) -> Vec<String> {
        let next = || queue.next(at_once);
        let all: Vec<_> = std::iter::from_fn(next).collect();
        all.into_iter().map(|key| format!("{}{}", key.hooks, key.box_id)).collect()
    }

    #[test]
    fn pools_have_their_turn_one_after_the_other() {
        let mut queue = FairBoxQueue::default();
        for number in 0..4 {
            join(&mut queue, "a", number);
        }
        join(&mut queue, "b", 0);
        join(&mut queue, "b", 1);
        assert_eq!(turns(&mut queue, 5), ["a0", "b0", "a1", "b1", "a2"]);
        assert_eq!((queue.running(), queue.waiting()), (5, 1));
        queue.ended(&pool("b"));
        assert_eq!(turns(&mut queue, 5), ["a3"]);
        assert_eq!((queue.running(), queue.waiting()), (5, 0));
    }

    #[test]
    fn a_pool_that_is_slow_does_not_delay_another() {
        let mut queue = FairBoxQueue::default();
        for number in 0..9 {
            join(&mut queue, "slow", number);
        }
        assert_eq!(turns(&mut queue, 2), ["slow0", "slow1"]);
        join(&mut queue, "b", 0);
        join(&mut queue, "b", 1);
        join(&mut queue, "c", 0);
        assert_eq!(turns(&mut queue, 2), ["b0", "c0"], "one of each");
        queue.ended(&pool("b"));
        assert_eq!(turns(&mut queue, 2), ["b1"]);
        queue.ended(&pool("b"));
        queue.ended(&pool("c"));
        queue.ended(&pool("slow"));
        assert_eq!(turns(&mut queue, 2), ["slow2"]);
    }
}
