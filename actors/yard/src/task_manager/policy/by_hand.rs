//! Copies that a user requests. Pure.

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;

use super::memory::{TaskPieceContext, TaskPolicy};
use crate::task_manager::messages::{CopyFile, CopyRefused};
use crate::task_manager::state::backoff::Blamed;
use crate::task_manager::state::event::TaskEvent;
use crate::task_manager::state::task::TaskState;
use crate::task_manager::state::task_book::TaskBook;

impl TaskPolicy {
    /// The events of a copy that a user requested. A backoff of the file ends, because the operator asks for
    /// it although it failed before.
    ///
    /// # Errors
    /// Why it cannot be done.
    pub fn copy_events(
        &mut self,
        asked: &CopyFile,
        context: TaskPieceContext<'_>,
    ) -> Result<Vec<TaskEvent>, CopyRefused> {
        let task = self.by_hand(asked, context)?;
        let mut events = Vec::new();
        let failed = Blamed::File(asked.name.clone());
        if context.book.back_offs().contains_key(&failed) {
            events.push(TaskEvent::Forgot { tasks: Vec::new(), back_offs: vec![failed] });
        }
        events.push(TaskEvent::Created(task));
        Ok(events)
    }
}

/// The copy that repeats an ended task: its file and its destination.
///
/// # Errors
/// `NoSuchTask` and `NotEndedBadly`.
pub fn repeated_copy(book: &TaskBook, id: TaskId) -> Result<(FileName, HostAddr), CopyRefused> {
    let task = book.task(id).ok_or(CopyRefused::NoSuchTask(id))?;
    if task.state.is_open() || task.state == TaskState::Done {
        return Err(CopyRefused::NotEndedBadly { id, state: task.state });
    }
    Ok((task.name.clone(), task.destination))
}

/// The last task that copies a file to a destination, or to any. Zero if it is forgotten.
pub fn newest_task(book: &TaskBook, name: &FileName, destination: Option<HostAddr>) -> TaskId {
    let tasks = book.open().values().chain(book.ended().values());
    let is_meant = |host| destination.is_none_or(|destination| destination == host);
    let same = tasks.filter(|task| task.name == *name && is_meant(task.destination));
    same.map(|task| task.id).max().unwrap_or(TaskId(0))
}
