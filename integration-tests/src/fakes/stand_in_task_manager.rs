//! Stands in for the TaskManager behind cfm's wire. It holds tasks and applies cfm's table of changes, without
//! planning, journal or time.

use std::sync::{Arc, Mutex, PoisonError};

use actix::prelude::*;
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_yard::task_manager::{CancelTask, ChangeRefused, ChangeTask, Task, TaskState};

/// The tasks, shared with the readers.
pub type StandInTasks = Arc<Mutex<Vec<Arc<Task>>>>;

/// An actor that answers changes of tasks as a TaskManager does.
pub struct StandInTaskManager {
    /// The tasks that the wire shows; a test fills and reads them.
    pub tasks: StandInTasks,
}

impl Actor for StandInTaskManager {
    type Context = Context<Self>;
}

impl Handler<ChangeTask> for StandInTaskManager {
    type Result = Result<(), ChangeRefused>;

    fn handle(&mut self, change: ChangeTask, _: &mut Context<Self>) -> Self::Result {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tasks.iter_mut().find(|task| task.id == change.id);
        let task = found.ok_or(ChangeRefused::NoSuchTask(change.id))?;
        let from = task.state;
        let to = match (change.to, from) {
            (Some(OldState::Working), TaskState::Ready | TaskState::Working) => TaskState::Working,
            (Some(OldState::Done), _) => TaskState::Done,
            (Some(OldState::Timeout), _) => TaskState::Timeout,
            _ => return Err(ChangeRefused::Transition { from, to: change.to }),
        };
        Arc::make_mut(task).state = to;
        Ok(())
    }
}

impl Handler<CancelTask> for StandInTaskManager {
    type Result = Result<(), ChangeRefused>;

    fn handle(&mut self, cancel: CancelTask, _: &mut Context<Self>) -> Self::Result {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let before = tasks.len();
        tasks.retain(|task| task.id != cancel.id);
        if tasks.len() == before { Err(ChangeRefused::NoSuchTask(cancel.id)) } else { Ok(()) }
    }
}
