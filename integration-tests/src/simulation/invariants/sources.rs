//! "No more open tasks on a source than `copies_per_source`"; "source and destination differ".

use reelyard_yard::task_manager::NewTask;

use super::InvariantCheck;
use crate::simulation::judge::JudgeRecord;

/// Its name.
pub const NAME: &str = "sources";

/// A task was created.
pub fn check(record: &JudgeRecord, task: &NewTask, copies_per_source: usize) -> InvariantCheck {
    let serving = record.open.values().filter(|open| open.source == task.source).count();
    let verdict = if task.source == task.destination {
        Err(format!("{} copies from {} to itself", task.id, task.source))
    } else if serving >= copies_per_source {
        Err(format!("{} is one more than {copies_per_source} on {}", task.id, task.source))
    } else {
        Ok(())
    };
    (NAME, verdict)
}
