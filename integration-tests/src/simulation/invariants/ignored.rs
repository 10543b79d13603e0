//! "An ignored name goes nowhere."

use reelyard_yard::task_manager::NewTask;

use super::InvariantCheck;
use crate::simulation::scene::IGNORED;

/// Its name.
pub const NAME: &str = "ignored";

/// A task was created.
pub fn check(task: &NewTask) -> InvariantCheck {
    let verdict = match task.name.as_bytes().starts_with(IGNORED) {
        true => Err(format!("{} copies {:?}", task.id, task.name)),
        false => Ok(()),
    };
    (NAME, verdict)
}
