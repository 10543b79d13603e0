//! "Our destinations need one of our workers as their source, for its data port"; names that the old
//! protocol cannot carry go only to our workers.

use std::collections::BTreeMap;

use reelyard_actors::host::HostAddr;
use reelyard_actors::task_manager::NewTask;
use reelyard_actors::wire::cfm::carries;

use super::Verdict;

/// Its name.
pub const NAME: &str = "wires";

/// A task was created.
pub fn check(ours: &BTreeMap<HostAddr, bool>, task: &NewTask) -> Verdict {
    let is_ours = |host| ours.get(&host) == Some(&true);
    let verdict = if is_ours(task.destination) && !is_ours(task.source) {
        Err(format!("{} asks {} for a data port", task.id, task.source))
    } else if !is_ours(task.destination) && !carries(&task.name) {
        Err(format!("{} sends {:?} to an old cfw", task.id, task.name))
    } else {
        Ok(())
    };
    (NAME, verdict)
}
