//! A task of a Reelyard worker with a sign of life within the timeout is not abandoned as silent.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_yard::task_manager::{GivenUp, NewTask, TaskEnding};

use crate::simulation::invariants::InvariantCheck;

/// The name of the invariant in a violation.
pub const NAME: &str = "signs of life";

/// Checks a task that was abandoned at `at`, by the clock of `leader`. `progress` are the signs of life at each
/// leader, by its own clock.
pub fn check(
    task: &NewTask,
    ending: &TaskEnding,
    leader: Option<usize>,
    at: Millis,
    progress: &[(usize, Millis)],
    timeout: Duration,
) -> InvariantCheck {
    let before = |&&(node, sign): &&(usize, Millis)| Some(node) == leader && sign <= at;
    let last = progress.iter().filter(before).map(|(_, sign)| *sign).max();
    let verdict = match last {
        Some(last) if ending.how == GivenUp::Timeout && at.since(last) < timeout => {
            let silent = at.since(last);
            Err(format!("{} was given up after {silent:?} of silence", task.id))
        }
        _ => Ok(()),
    };
    (NAME, verdict)
}
