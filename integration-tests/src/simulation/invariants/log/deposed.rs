//! A deposed leader can decide nothing: a commit whose epoch differs from its entry's term has no effect, at
//! any time.

use std::sync::Arc;

use reelyard_core::event::Commit;
use reelyard_replication::CommitAnswer;

use crate::simulation::invariants::InvariantCheck;

/// The name of the invariant in a violation.
pub const NAME: &str = "deposed";

/// Checks an applied entry of `term`.
pub fn check(
    index: u64,
    term: u64,
    commits: &[Arc<Commit>],
    answers: &[CommitAnswer],
) -> InvariantCheck {
    for (commit, answer) in commits.iter().zip(answers) {
        if commit.epoch.0 != term && *answer != CommitAnswer::Deposed {
            let epoch = commit.epoch;
            let what = format!("a commit of epoch {epoch} took effect in entry {index} of {term}");
            return (NAME, Err(what));
        }
    }
    (NAME, Ok(()))
}
