//! What is going to happen, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use reelyard_core::clock::Millis;
use reelyard_protocol::worker::TaskId;

/// Something that happens by itself once its time has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScheduledEvent {
    /// A day begins; the first one is 1, since day 0 is there from the start.
    Day(u32),
    /// An hour is over.
    Hour,
    /// A copy is in place.
    CopyArrives(TaskId),
    /// A copy breaks off.
    CopyFails(TaskId),
    /// A copy that takes long gives a sign of life.
    SignOfLife(TaskId),
    /// The TaskManager takes a turn.
    Turn,
    /// The Remover looks at all copies.
    RemovalRound,
    /// It does so before its time: a file that got hot has no room.
    RoomRound,
}

/// Happenings by their times; those of the same instant in the order in which they were put in.
#[derive(Debug, Default)]
pub struct EventSchedule {
    heap: BinaryHeap<Reverse<(Millis, u64, ScheduledEvent)>>,
    put: u64,
}

impl EventSchedule {
    /// Something happens at `at`.
    pub fn put(&mut self, at: Millis, what: ScheduledEvent) {
        self.heap.push(Reverse((at, self.put, what)));
        self.put += 1;
    }

    /// When the next thing happens.
    pub fn next_at(&self) -> Option<Millis> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// The next thing that happens.
    pub fn take(&mut self) -> Option<(Millis, ScheduledEvent)> {
        self.heap.pop().map(|Reverse((at, _, what))| (at, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_happen_in_order() {
        let mut queue = EventSchedule::default();
        queue.put(Millis(2), ScheduledEvent::Turn);
        queue.put(Millis(1), ScheduledEvent::RemovalRound);
        queue.put(Millis(2), ScheduledEvent::Hour);
        assert_eq!(queue.next_at(), Some(Millis(1)));
        let order: Vec<_> = std::iter::from_fn(|| queue.take()).map(|(_, what)| what).collect();
        assert_eq!(
            order,
            [ScheduledEvent::RemovalRound, ScheduledEvent::Turn, ScheduledEvent::Hour]
        );
    }
}
