//! The last round of planning, for the view.

use reelyard_core::clock::Millis;

/// A round that was planned.
#[derive(Debug)]
pub(crate) struct LastRound {
    pub(crate) at: Millis,
    pub(crate) took: std::time::Duration,
    pub(crate) round: crate::task_manager::policy::plan::PlanningRound,
}
