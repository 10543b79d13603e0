//! Changes requested from outside: cfm's `PATCH` and `DELETE`. Pure.

use reelyard_protocol::legacy::cfm::OldState;
use reelyard_protocol::worker::TaskId;
use reelyard_replication::Outcomes;

use crate::task_manager::messages::ChangeRefused;
use crate::task_manager::policy::decision_context::TaskDecisionContext;
use crate::task_manager::state::event::{GivenUp, TaskEnding, TaskEvent, TaskRefusal};
use crate::task_manager::state::task::{Task, TaskState};
use crate::task_manager::state::task_book::TaskBook;

impl Task {
    /// The state in the cfm interface; none for a task that it does not list. A `done` that is not
    /// confirmed yet is shown as reported, so that the old cfw stops asking. A failed task is shown as
    /// `timeout`, cfm's only word for a task that was given up. A cancelled task is not listed.
    pub fn old_state(&self) -> Option<OldState> {
        match self.state {
            TaskState::Cancelled => None,
            _ if self.claimed_done => Some(OldState::Done),
            TaskState::Ready => Some(OldState::Ready),
            TaskState::Working => Some(OldState::Working),
            TaskState::Done => Some(OldState::Done),
            TaskState::Failed | TaskState::Timeout => Some(OldState::Timeout),
        }
    }
}

impl TaskDecisionContext<'_> {
    /// Decides a change of state by cfm's table.
    ///
    /// # Errors
    /// `NoSuchTask` and `Transition`, in cfm's order.
    pub fn change(
        &self,
        id: TaskId,
        to: Option<OldState>,
    ) -> Result<Vec<TaskEvent>, ChangeRefused> {
        let task = self.book.task(id).ok_or(ChangeRefused::NoSuchTask(id))?;
        let from = task.old_state().ok_or(ChangeRefused::NoSuchTask(id))?;
        let refused = ChangeRefused::Transition { from: task.state, to };
        let event = match (from, to) {
            (_, None | Some(OldState::Ready)) => return Err(refused),
            (OldState::Ready | OldState::Working, Some(OldState::Working)) => {
                TaskEvent::Began { id }
            }
            (_, Some(OldState::Working)) => return Err(refused),
            (_, Some(OldState::Done)) => TaskEvent::Claimed { id },
            (_, Some(OldState::Timeout)) => {
                let reason = "set to timeout over the cfm interface".to_owned();
                let ending = TaskEnding { how: GivenUp::Timeout, reason, blame: None };
                TaskEvent::Ended { id, ending, back_off: None }
            }
        };
        Ok(vec![event])
    }

    /// Decides to take a task back, or to drop an ended one from the list.
    ///
    /// # Errors
    /// `NoSuchTask`.
    pub fn cancel(&self, id: TaskId, asked_by: &str) -> Result<Vec<TaskEvent>, ChangeRefused> {
        let task = self.book.task(id).ok_or(ChangeRefused::NoSuchTask(id))?;
        let event = if task.state.is_open() {
            self.withdraw(task, format!("cancelled by {asked_by}"))
        } else {
            TaskEvent::Forgot { tasks: vec![id], back_offs: Vec::new() }
        };
        Ok(vec![event])
    }
}

/// The answer to a change as a whole, from its outcomes.
///
/// # Errors
/// The first refusal, as [`ChangeRefused::at_apply`] converts it.
pub fn change_answer(
    outcomes: Outcomes<TaskBook>,
    id: TaskId,
    to: Option<OldState>,
) -> Result<(), ChangeRefused> {
    for outcome in outcomes {
        outcome.map_err(|refusal| ChangeRefused::at_apply(refusal, id, to))?;
    }
    Ok(())
}

impl ChangeRefused {
    /// A change that was decided but refused at its application, because the task changed in
    /// between.
    pub fn at_apply(refusal: TaskRefusal, id: TaskId, to: Option<OldState>) -> Self {
        match refusal {
            TaskRefusal::Transition { from, .. } => ChangeRefused::Transition { from, to },
            _ => ChangeRefused::NoSuchTask(id),
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_replication::{InFlight, Piece};

    use super::*;
    use crate::task_manager::policy::hosts_in_memory::hosts::HostTable;
    use crate::task_manager::policy::hosts_in_memory::liveness::TaskLiveness;
    use crate::task_manager::samples;
    use crate::task_manager::settings::TaskSettings;

    fn decide(
        book: &TaskBook,
        id: i64,
        to: Option<OldState>,
    ) -> Result<Vec<TaskEvent>, ChangeRefused> {
        let decision_context = TaskDecisionContext {
            book,
            in_flight: &InFlight::default(),
            hosts: &HostTable::default(),
            liveness: &TaskLiveness::default(),
            settings: &TaskSettings::default(),
            now: Millis(5000),
        };
        decision_context.change(TaskId(id), to)
    }

    /// A book with task 1 in this state.
    fn book_in(state: OldState) -> TaskBook {
        let mut book = TaskBook::default();
        let mut task = samples::task(1, "a.mpg");
        match state {
            OldState::Ready => {}
            OldState::Working => task.state = TaskState::Working,
            OldState::Done => task.state = TaskState::Done,
            OldState::Timeout => task.state = TaskState::Timeout,
        }
        if task.state.is_open() {
            book.insert_open(task)
        } else {
            book.insert_ended(task)
        }
        book
    }

    #[test]
    fn the_table_is_cfms() {
        use OldState::*;
        let from = [Ready, Working, Done, Timeout];
        let table = [
            (Some(Ready), [false, false, false, false]),
            (Some(Working), [true, true, false, false]),
            (Some(Done), [true, true, true, true]),
            (Some(Timeout), [true, true, true, true]),
            (None, [false, false, false, false]),
        ];
        for (to, allowed) in table {
            for (from, allowed) in from.into_iter().zip(allowed) {
                let mut book = book_in(from);
                let decided = decide(&book, 1, to);
                assert_eq!(decided.is_ok(), allowed, "{from:?} -> {to:?}");
                for event in decided.unwrap_or_default() {
                    book.apply(Millis(5000), &event).unwrap();
                    let task = book.task(TaskId(1)).unwrap();
                    assert_eq!(task.old_state(), to, "{from:?} -> {to:?}");
                    assert_eq!(task.changed, Millis(5000), "mtime of {from:?} -> {to:?}");
                }
            }
        }
    }

    #[test]
    fn a_missing_task_is_reported_before_a_missing_state() {
        let book = TaskBook::default();
        assert_eq!(decide(&book, 7, None), Err(ChangeRefused::NoSuchTask(TaskId(7))));
    }

    #[test]
    fn a_claim_stays_shown_as_done_and_cannot_work_again() {
        let mut book = book_in(OldState::Working);
        book.apply(Millis(1), &TaskEvent::Claimed { id: TaskId(1) }).unwrap();
        assert!(book.task(TaskId(1)).unwrap().state.is_open());
        assert!(decide(&book, 1, Some(OldState::Working)).is_err());
        assert!(decide(&book, 1, Some(OldState::Done)).is_ok());
    }

    #[test]
    fn a_failed_task_is_shown_as_timeout_and_cancelled_ones_vanish() {
        let mut book = TaskBook::default();
        for (id, state) in [(1, TaskState::Failed), (2, TaskState::Cancelled)] {
            let mut task = samples::task(id, "a.mpg");
            task.state = state;
            book.insert_ended(task);
        }
        assert!(decide(&book, 1, Some(OldState::Done)).is_ok());
        let gone = decide(&book, 2, Some(OldState::Done));
        assert_eq!(gone, Err(ChangeRefused::NoSuchTask(TaskId(2))));
    }
}
