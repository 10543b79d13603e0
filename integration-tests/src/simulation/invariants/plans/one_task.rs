//! No two open tasks copy the same file.

use reelyard_yard::task_manager::NewTask;

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::judge::record::JudgeRecord;

/// The name of the invariant in a violation.
pub const NAME: &str = "one task a file";

/// Checks a new task.
pub fn check(record: &JudgeRecord, task: &NewTask) -> InvariantCheck {
    let other = record.open.values().find(|open| open.name == task.name);
    let message = other.map(|other| format!("{} and {} copy {:?}", other.id, task.id, task.name));
    (NAME, message.map_or(Ok(()), Err))
}
