//! Reasons of the planner in the words of the console.

use reelyard_console::pages::why::PassedReason;
use reelyard_yard::task_manager::Skip;

/// The reason for which files are passed over. None for one that the console does not show.
pub fn passed(why: Skip) -> Option<PassedReason> {
    let word = serde_json::to_value(why).ok()?;
    PassedReason::of_api(word.as_str()?)
}
