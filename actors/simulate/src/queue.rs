//! The queue of scheduled events, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use reelyard_core::clock::Millis;
use reelyard_protocol::worker::TaskId;

/// An event that happens at its scheduled time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScheduledEvent {
    /// A day starts; the first event is day 1, because day 0 starts with the simulation.
    Day(u32),
    /// An hour ends.
    Hour,
    /// A copy is complete on its destination.
    CopyArrives(TaskId),
    /// A copy ends with an error.
    CopyFails(TaskId),
    /// A long copy reports progress.
    ProgressReport(TaskId),
    /// The TaskManager ticks.
    Tick,
    /// The Remover checks all copies.
    RemovalRound,
    /// The Remover checks early, because a hot file has no room.
    RoomRound,
}

/// Events by their times; events of the same time in the order of their insertion.
#[derive(Debug, Default)]
pub struct EventSchedule {
    heap: BinaryHeap<Reverse<(Millis, u64, ScheduledEvent)>>,
    put: u64,
}

impl EventSchedule {
    /// Schedules `what` at `at`.
    pub fn push(&mut self, at: Millis, what: ScheduledEvent) {
        self.heap.push(Reverse((at, self.put, what)));
        self.put += 1;
    }

    /// Time of the next event.
    pub fn next_at(&self) -> Option<Millis> {
        self.heap.peek().map(|Reverse((at, _, _))| *at)
    }

    /// Removes the next event.
    pub fn pop(&mut self) -> Option<(Millis, ScheduledEvent)> {
        self.heap.pop().map(|Reverse((at, _, what))| (at, what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_happen_in_order() {
        let mut queue = EventSchedule::default();
        queue.push(Millis(2), ScheduledEvent::Tick);
        queue.push(Millis(1), ScheduledEvent::RemovalRound);
        queue.push(Millis(2), ScheduledEvent::Hour);
        assert_eq!(queue.next_at(), Some(Millis(1)));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, what)| what).collect();
        assert_eq!(
            order,
            [ScheduledEvent::RemovalRound, ScheduledEvent::Tick, ScheduledEvent::Hour]
        );
    }
}
