//! The read view of a worker's hook runs.

use reelyard_core::durations::Durations;
use reelyard_protocol::boxes::{HookAnswer, HookKind};
use serde::{Deserialize, Serialize};

/// Hook runs of a worker, since its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxHostView {
    /// How many hooks run now.
    pub running: usize,
    /// How many boxes wait for one.
    pub waiting: usize,
    /// Inits of boxes, by their results.
    pub inits: HookCounts,
    /// Cleanups of boxes, by their results.
    pub cleanups: HookCounts,
    /// Cleanups that ran again at once because their exit code requested it.
    #[serde(default)]
    pub cleanups_again: u64,
    /// The number of checked boxes.
    pub looked_at: u64,
    /// The number of checked boxes that were dirty.
    pub found_dirty: u64,
    /// Refused requests: of a deposed leader, too late, or under an unknown name.
    pub refused: u64,
}

/// Hooks of one kind that ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookCounts {
    /// Runs that succeeded.
    pub done: u64,
    /// Runs that failed.
    pub failed: u64,
    /// It was ended because of another request for the box, or because the worker stopped.
    pub given_up: u64,
    /// The durations of the runs.
    pub took: Durations,
}

impl BoxHostView {
    pub(super) fn count_answer(
        &mut self,
        kind: HookKind,
        answer: &HookAnswer,
        took: std::time::Duration,
    ) {
        let counts = match kind {
            HookKind::Init => &mut self.inits,
            HookKind::Cleanup => &mut self.cleanups,
        };
        counts.took.record(took);
        match answer {
            HookAnswer::Done { .. } => counts.done += 1,
            HookAnswer::Failed { .. } => counts.failed += 1,
            HookAnswer::Silent { .. } => counts.given_up += 1,
        }
    }
}
