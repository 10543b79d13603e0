//! An index of ended tasks for each failure: the failed copies of a file, and the destinations with
//! successful copies. Pure.
//!
//! **Invariant:** it equals the result of a search through all ended tasks.

use std::collections::{BTreeSet, HashMap};

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_protocol::worker::TaskId;

use crate::task_manager::state::task::{Task, TaskState};

/// The index of the ended tasks of a book.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::task_manager) struct EndedIndex {
    /// The copies that failed, by file.
    failed: HashMap<FileId, BTreeSet<TaskId>>,
    /// How many copies succeeded, by destination.
    done_at: HashMap<HostAddr, usize>,
}

impl EndedIndex {
    /// A copy of `file` is among the ended tasks, in the state that `task` is in.
    pub(in crate::task_manager) fn enter(&mut self, file: FileId, task: &Task) {
        if task.has_failed() {
            self.failed.entry(file).or_default().insert(task.id);
        }
        if task.state == TaskState::Done {
            *self.done_at.entry(task.destination).or_default() += 1;
        }
    }

    /// It no longer exists, or is about to change its state.
    pub(in crate::task_manager) fn leave(&mut self, file: FileId, task: &Task) {
        if let Some(ids) = self.failed.get_mut(&file).filter(|_| task.has_failed()) {
            ids.remove(&task.id);
            if ids.is_empty() {
                self.failed.remove(&file);
            }
        }
        let done = self.done_at.get_mut(&task.destination);
        if let Some(count) = done.filter(|_| task.state == TaskState::Done) {
            *count -= 1;
            if *count == 0 {
                self.done_at.remove(&task.destination);
            }
        }
    }

    /// The failed copies of `file`, in order.
    pub(in crate::task_manager) fn failed(&self, file: FileId) -> impl Iterator<Item = TaskId> {
        self.failed.get(&file).into_iter().flatten().copied()
    }

    /// Whether a copy succeeded at `host`.
    pub(in crate::task_manager) fn has_done_at(&self, host: HostAddr) -> bool {
        self.done_at.contains_key(&host)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use reelyard_core::clock::Millis;
    use reelyard_core::host::HostRole;
    use reelyard_replication::Piece;

    use super::*;
    use crate::task_manager::samples::{host, name, new_task};
    use crate::task_manager::state::event::{GivenUp, NewTask, TaskEnding, TaskEvent};
    use crate::task_manager::state::task_book::TaskBook;

    const FILES: i64 = 4;

    fn event(kind: u8, id: i64) -> TaskEvent {
        let task = TaskId(id);
        let end = |how| {
            let ending = TaskEnding { how, reason: String::new(), blame: None };
            TaskEvent::Ended { id: task, ending, back_off: None }
        };
        match kind {
            0 => {
                let copy = new_task(id, &format!("{}.mpg", id % FILES));
                let destination = host(if id % 3 == 0 { 22 } else { 21 });
                TaskEvent::Created(NewTask { destination, source_cap: 99, ..copy })
            }
            1 => end(GivenUp::Failed),
            2 => end(GivenUp::Timeout),
            3 => end(GivenUp::Cancelled),
            4 => TaskEvent::Completed { id: task, size: None, hash: None },
            5 => TaskEvent::Claimed { id: task },
            _ => TaskEvent::Forgot { tasks: vec![task], back_offs: Vec::new() },
        }
    }

    proptest! {
        #[test]
        fn the_index_equals_a_scan_of_all_ended_tasks(
            events in prop::collection::vec((0_u8..7, 1_i64..20), 1..200)
        ) {
            let mut book = TaskBook::default();
            let hosts = vec![
                (host(1), HostRole::Source),
                (host(21), HostRole::Destination),
                (host(22), HostRole::Destination),
            ];
            book.apply(Millis(0), &TaskEvent::HostsConfigured { hosts }).unwrap();
            for (kind, id) in events {
                // A refused event changes nothing.
                let _ = book.apply(Millis(1), &event(kind, id));
                for file in 0..FILES {
                    let file = name(&format!("{file}.mpg"));
                    let indexed: Vec<TaskId> = book.failures_of(&file).map(|task| task.id).collect();
                    let ended = book.ended().values();
                    let failed = ended.filter(|task| task.has_failed() && task.name == file);
                    let failed: Vec<TaskId> = failed.map(|task| task.id).collect();
                    prop_assert_eq!(indexed, failed);
                }
                for at in [host(21), host(22)] {
                    let is_done = |task: &Task| task.state == TaskState::Done && task.destination == at;
                    prop_assert_eq!(
                        book.has_done_at(at),
                        book.ended().values().any(|task| is_done(task))
                    );
                }
            }
        }
    }
}
