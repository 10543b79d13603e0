//! Events that are due, and the sleep until the next.

use std::collections::HashSet;
use std::time::Duration;

use reelyard_core::host::HostAddr;

use super::{TaskPieceContext, TaskPolicy};
use crate::task_manager::policy::hosts_in_memory::inventory::next_difference;
use crate::task_manager::state::event::TaskEvent;
use crate::task_manager::state::task::TaskState;

/// The longest sleep: jumps of the clock and suspends are noticed after it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The shortest sleep before a deadline, so that the actor does not loop while the event of a passed
/// deadline is in flight.
const SHORTEST_SLEEP: Duration = Duration::from_millis(20);

impl TaskPolicy {
    /// All due work: ends of tasks, records to drop, and the next part of every inventory that differs
    /// from the placements.
    pub fn due(&mut self, context: TaskPieceContext<'_>) -> Vec<TaskEvent> {
        let mut events = self.decision_context(context).due();
        events.extend(self.arrived_elsewhere(context));
        events.extend(self.differences(context));
        events
    }

    /// Cancels tasks that have not started, if another destination has the file meanwhile. An old cfw may
    /// have carried out an earlier order, or a person may have copied the file there.
    fn arrived_elsewhere(&self, context: TaskPieceContext<'_>) -> Vec<TaskEvent> {
        let TaskPieceContext { book, .. } = context;
        let decision_context = self.decision_context(context);
        let ending = decision_context.ending();
        let mut events = Vec::new();
        for task in book.open().values() {
            let has_begun = task.state != TaskState::Ready || self.liveness.of(task.id).is_some();
            if has_begun || task.asked_by.is_some() || ending.contains(&task.id) {
                continue;
            }
            let file = book.file(&task.name);
            if !self.planner.is_placed(file, book, &self.hosts) {
                continue;
            }
            let mut holders = self.planner.holders(file, book, &self.hosts).into_iter();
            if let Some(holder) = holders.find(|holder| *holder != task.destination) {
                events.push(
                    decision_context.withdraw(task, format!("{holder} already holds the file")),
                );
            }
        }
        events
    }

    fn differences(&mut self, context: TaskPieceContext<'_>) -> Vec<TaskEvent> {
        let book = context.book;
        let differing: Vec<HostAddr> = self
            .hosts
            .iter()
            .filter(|(addr, host)| {
                host.differs && book.host(*addr).is_some_and(|record| record.role.is_destination())
            })
            .map(|(addr, _)| addr)
            .collect();
        let mut events = Vec::new();
        let under_way: HashSet<HostAddr> = match differing.is_empty() {
            true => HashSet::new(),
            false => context.in_flight.events().filter_map(differs).collect(),
        };
        for addr in differing {
            let Some(host) = self.hosts.get(addr).filter(|_| !under_way.contains(&addr)) else {
                continue;
            };
            match next_difference(book, addr, host) {
                Some(event) => {
                    let removed = self.removals.removed_from(addr);
                    self.foreign_managers.record_difference(book, &event, &removed, context.now);
                    events.push(event);
                }
                None => self.hosts.set_differs(addr, false),
            }
        }
        events
    }

    /// How long to sleep until something becomes due.
    pub fn sleep(&self, context: TaskPieceContext<'_>) -> Duration {
        let deadline = self.decision_context(context).next_deadline();
        let until = deadline.map_or(LONGEST_SLEEP, |deadline| deadline.since(context.now));
        until.clamp(SHORTEST_SLEEP, LONGEST_SLEEP)
    }
}

/// The host whose inventory an event is about.
fn differs(event: &TaskEvent) -> Option<HostAddr> {
    match event {
        TaskEvent::InventoryDiffered { host, .. } => Some(*host),
        _ => None,
    }
}
