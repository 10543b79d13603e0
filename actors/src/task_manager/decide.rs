//! What every decision on tasks looks at, and the endings that they share. Pure.

use std::collections::HashSet;

use super::back_off::{BackingOff, Blamed};
use super::event::{Ending, GivenUp, TaskEvent};
use super::hosts::HostTable;
use super::messages::{Task, TaskState};
use super::settings::TaskSettings;
use super::signs::Signs;
use super::state::TaskBook;
use crate::clock::Millis;
use crate::journal::InFlight;
use crate::wire::worker::{Blame, TaskId};

/// Everything a decision may look at. A decision looks and answers with events; it changes nothing.
#[derive(Clone, Copy)]
pub struct Deciding<'a> {
    /// The piece as applied.
    pub book: &'a TaskBook,
    /// What was decided but is not yet applied.
    pub in_flight: &'a InFlight<TaskEvent>,
    /// The hosts as last seen.
    pub hosts: &'a HostTable,
    /// When tasks were last heard of.
    pub signs: &'a Signs,
    /// The settings.
    pub settings: &'a TaskSettings,
    /// The present.
    pub now: Millis,
}

impl Deciding<'_> {
    /// The tasks whose end is under way.
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

    /// Whom a failure is laid to that a host blames on `blame`. A file that fails a second time in
    /// the same way is to blame itself: else a bad one that is among the best would hold back its
    /// source, its destination or their pair again and again, and with them every other file.
    pub fn lay_to(&self, task: &Task, blame: Blame) -> Blame {
        let failed_so = |ended: &&std::sync::Arc<Task>| {
            let given_up = matches!(ended.state, TaskState::Failed | TaskState::Timeout);
            given_up && ended.blame == Some(blame) && ended.name == task.name
        };
        if self.book.ended().values().any(|ended| failed_so(&ended)) { Blame::File } else { blame }
    }

    /// Ends `task` with somebody to blame, who backs off.
    pub fn give_up(&self, task: &Task, how: GivenUp, blame: Blame, reason: String) -> TaskEvent {
        let blamed = Blamed::of(blame, task);
        let standing = self.book.back_offs().get(&blamed);
        let back_off = self.settings.back_off.next(blamed, standing, task.created, self.now);
        let ending = Ending { how, reason, blame: Some(blame) };
        TaskEvent::Ended { id: task.id, ending, back_off }
    }

    /// Takes `task` back. Its file is left alone for a moment, or it would be planned again at
    /// once.
    pub fn take_back(&self, task: &Task, reason: String) -> TaskEvent {
        let until = self.now.after(self.settings.back_off.base);
        let back_off = BackingOff { blamed: Blamed::File(task.name.clone()), until };
        let ending = Ending { how: GivenUp::Cancelled, reason, blame: None };
        TaskEvent::Ended { id: task.id, ending, back_off: Some(back_off) }
    }
}
