//! The outcomes of all planned copies, kept longer than the tasks themselves. Pure.

use reelyard_core::history::BoundedLog;
use reelyard_protocol::worker::TaskId;

use super::event::TaskEvent;
use super::task_book::TaskBook;
use crate::task_manager::state::copy_record::CopyRecord;
use crate::task_manager::state::task::Task;

impl TaskBook {
    /// Ended copies and their outcomes, newest last.
    pub fn history(&self) -> &BoundedLog<CopyRecord> {
        &self.history
    }

    /// Adds a line for a task that has just ended.
    pub(in crate::task_manager) fn record_end(&mut self, id: TaskId) {
        let Some(task) = self.ended.get(&id) else { return };
        let Task { name, source, destination, grade, hits, size, state, .. } = &**task;
        let record = CopyRecord {
            task: id,
            file: self.names.intern(name),
            source: *source,
            destination: *destination,
            grade: *grade,
            hits: *hits,
            size: *size,
            state: *state,
            reason: task.reason.clone(),
            is_unverified: task.is_unverified,
            blame: task.blame,
            asked_by: task.asked_by.clone(),
            planned: task.created,
            at: task.changed,
        };
        self.history.push(record);
    }

    /// The event that deletes the oldest rows, once the history holds a tenth more than `keep`.
    pub(in crate::task_manager) fn history_to_forget(&self, keep: u64) -> Option<TaskEvent> {
        let too_many = self.history.len() > keep + keep / 10;
        too_many.then(|| TaskEvent::HistoryForgotten { before: self.history.next() - keep })
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::host::HostRole;
    use reelyard_replication::Piece;

    use super::*;
    use crate::task_manager::samples::{host, new_task};
    use crate::task_manager::state::event::{GivenUp, TaskEnding};
    use crate::task_manager::state::task::TaskState;

    #[test]
    fn every_end_is_a_line_that_outlives_its_task() {
        let mut book = TaskBook::default();
        let mut apply = |at, event| book.apply(Millis(at), &event).unwrap();
        let hosts = vec![(host(1), HostRole::Source), (host(21), HostRole::Destination)];
        apply(1, TaskEvent::HostsConfigured { hosts });
        apply(2, TaskEvent::Created(new_task(1, "a.mpg")));
        let ending = TaskEnding { how: GivenUp::Failed, reason: "torn".to_owned(), blame: None };
        apply(3, TaskEvent::Ended { id: TaskId(1), ending, back_off: None });
        apply(4, TaskEvent::Created(new_task(2, "a.mpg")));
        apply(5, TaskEvent::Completed { id: TaskId(2), size: Some(9), hash: None });
        apply(6, TaskEvent::Completed { id: TaskId(2), size: Some(9), hash: None });
        apply(7, TaskEvent::Forgot { tasks: vec![TaskId(1), TaskId(2)], back_offs: vec![] });
        let lines: Vec<_> = book
            .history()
            .oldest_first()
            .map(|(number, line)| (number, line.state, line.size, line.at))
            .collect();
        let size = new_task(1, "a.mpg").size;
        let expected =
            [(0, TaskState::Failed, size, Millis(3)), (1, TaskState::Done, 9, Millis(5))];
        assert_eq!(lines, expected);
        assert!(book.history_to_forget(2).is_none());
        let event = book.history_to_forget(1).unwrap();
        book.apply(Millis(8), &event).unwrap();
        assert_eq!(book.history().first(), 1);
    }
}
