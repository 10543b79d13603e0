//! The state that every decision on tasks reads, and the endings that they share. Pure.

use std::collections::HashSet;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::{Blame, TaskId};
use reelyard_replication::InFlight;

use super::hosts_in_memory::hosts::HostTable;
use super::hosts_in_memory::liveness::TaskLiveness;
use crate::task_manager::settings::TaskSettings;
use crate::task_manager::state::backoff::{self, BackingOff, Blamed};
use crate::task_manager::state::event::{GivenUp, TaskEnding, TaskEvent};
use crate::task_manager::state::task::Task;
use crate::task_manager::state::task_book::TaskBook;

/// The state that a decision reads. A decision answers with events and changes nothing.
#[derive(Clone, Copy)]
pub struct TaskDecisionContext<'a> {
    /// The piece as applied.
    pub book: &'a TaskBook,
    /// Events that are decided but not yet applied.
    pub in_flight: &'a InFlight<TaskEvent>,
    /// The hosts as last seen.
    pub hosts: &'a HostTable,
    /// Times of the last signs of life of tasks.
    pub liveness: &'a TaskLiveness,
    /// The task settings in force.
    pub settings: &'a TaskSettings,
    /// Wall clock at the decision.
    pub now: Millis,
}

impl TaskDecisionContext<'_> {
    /// The tasks whose end is in flight.
    pub fn ending(&self) -> HashSet<TaskId> {
        self.in_flight
            .events()
            .filter_map(|event| match event {
                TaskEvent::Completed { id, .. }
                | TaskEvent::CompletedUnverified { id, .. }
                | TaskEvent::Ended { id, .. } => Some(*id),
                _ => None,
            })
            .collect()
    }

    /// The backoffs in which a host takes part: as source, as destination, and in pairs.
    pub fn back_offs_of(&self, host: HostAddr) -> Vec<Blamed> {
        let held = self.book.back_offs().keys();
        held.filter(|held| held.involves(host)).cloned().collect()
    }

    /// The part to blame for a failure that is first attributed to `blame`. If a file fails again
    /// in the same way, the file itself is blamed. Otherwise a bad file among the best would delay
    /// its source, its destination or their pair, and every other file. For destinations the rule
    /// differs: the file is blamed only after a failure at a second destination. Otherwise a
    /// destination on which everything fails would cause a backoff of each file, but never of
    /// itself.
    pub fn attribute_failure(&self, task: &Task, blame: Blame) -> Blame {
        let is_bad = match blame {
            Blame::Destination => self.failed_elsewhere_too(task),
            Blame::Source | Blame::File | Blame::Pair => {
                self.book.failures_of(&task.name).any(|failed| failed.blame == Some(blame))
            }
        };
        if is_bad { Blame::File } else { blame }
    }

    /// Whether the file failed at another destination than this one before. It also counts if it
    /// failed here before, and no other destination can be tried, or other files succeeded here.
    fn failed_elsewhere_too(&self, task: &Task) -> bool {
        let host = task.destination;
        let failures = || self.book.failures_of(&task.name);
        if !failures().any(|failed| failed.blame == Some(Blame::Destination)) {
            return false;
        }
        let blamed = [Some(Blame::Destination), Some(Blame::File)];
        let mut at_destinations = failures().filter(|failed| blamed.contains(&failed.blame));
        if at_destinations.any(|failed| failed.destination != host) {
            return true;
        }
        let mut others = self.book.hosts().iter().filter(|(other, _)| **other != host);
        let is_alone = !others.any(|(_, record)| record.takes_copies());
        is_alone || self.book.has_done_at(host)
    }

    /// Ends `task` and sets a backoff for the party to blame.
    pub fn give_up(&self, task: &Task, how: GivenUp, blame: Blame, reason: String) -> TaskEvent {
        let blamed = Blamed::of(blame, task);
        let held = self.book.back_offs().get(&blamed);
        let back_off = backoff::next(self.settings.back_off, blamed, held, task, self.now);
        let ending = TaskEnding { how, reason, blame: Some(blame) };
        TaskEvent::Ended { id: task.id, ending, back_off }
    }

    /// Takes `task` back. Its file is not planned for a moment, because it would otherwise be
    /// planned again at once. This is no failure, so it does not make later backoffs longer.
    pub fn withdraw(&self, task: &Task, reason: String) -> TaskEvent {
        let until = self.now.after(self.settings.back_off.base);
        let back_off = BackingOff { blamed: Blamed::File(task.name.clone()), until };
        let ending = TaskEnding { how: GivenUp::Cancelled, reason, blame: None };
        TaskEvent::Ended { id: task.id, ending, back_off: Some(back_off) }
    }
}
