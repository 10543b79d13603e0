//! A source has at most `copies_per_source` open tasks, and source and destination differ.

use reelyard_yard::task_manager::NewTask;

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::judge::record::JudgeRecord;

/// The name of the invariant in a violation.
pub const NAME: &str = "sources";

/// Checks a new task.
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
