//! "A deposed leader can decide nothing": a commit whose epoch is not its entry's term changes
//! nothing, however late it arrives.

use std::sync::Arc;

use reelyard_core::event::Commit;
use reelyard_replication::{AppliedEntry, CommitAnswer};
use reelyard_yard::task_manager::TaskBook;

use super::InvariantCheck;

/// Its name.
pub const NAME: &str = "deposed";

/// An entry of `term` was applied.
pub fn check(
    index: u64,
    term: u64,
    commits: &[Arc<Commit>],
    applied: &AppliedEntry<TaskBook>,
) -> InvariantCheck {
    for (commit, answer) in commits.iter().zip(&applied.answers) {
        let effect = applied.events.iter().any(|event| event.request == commit.request);
        if commit.epoch.0 != term && (effect || *answer != CommitAnswer::Deposed) {
            let epoch = commit.epoch;
            let what = format!("a commit of epoch {epoch} took effect in entry {index} of {term}");
            return (NAME, Err(what));
        }
    }
    (NAME, Ok(()))
}
