//! "No sign of life for too long": a task of our worker that its leader has heard of within the
//! time-out is not given up as silent.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_yard::task_manager::{GivenUp, NewTask, TaskEnding};

use super::InvariantCheck;

/// Its name.
pub const NAME: &str = "signs of life";

/// A task was given up at `at`, by the clock of `leader`. `signs` are what leaders heard of it, each
/// at its own clock.
pub fn check(
    task: &NewTask,
    ending: &TaskEnding,
    leader: Option<usize>,
    at: Millis,
    signs: &[(usize, Millis)],
    timeout: Duration,
) -> InvariantCheck {
    let before = |&&(node, sign): &&(usize, Millis)| Some(node) == leader && sign <= at;
    let last = signs.iter().filter(before).map(|(_, sign)| *sign).max();
    let verdict = match last {
        Some(last) if ending.how == GivenUp::Timeout && at.since(last) < timeout => {
            let silent = at.since(last);
            Err(format!("{} was given up after {silent:?} of silence", task.id))
        }
        _ => Ok(()),
    };
    (NAME, verdict)
}
