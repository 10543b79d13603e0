//! Ignored names are never placed.

use reelyard_yard::task_manager::NewTask;

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::scene::IGNORED;

/// The name of the invariant in a violation.
pub const NAME: &str = "ignored";

/// Checks a new task.
pub fn check(task: &NewTask) -> InvariantCheck {
    let verdict = match task.name.as_bytes().starts_with(IGNORED) {
        true => Err(format!("{} copies {:?}", task.id, task.name)),
        false => Ok(()),
    };
    (NAME, verdict)
}
