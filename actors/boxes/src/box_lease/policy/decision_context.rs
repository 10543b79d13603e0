//! The inputs of the decisions on boxes.

use std::sync::RwLockReadGuard;

use reelyard_core::clock::ClockReading;
use reelyard_core::event::Epoch;

use crate::box_lease::state::box_table::BoxTable;

/// The state that a decision reads. It locks the table, so drop it before a commit.
pub(in crate::box_lease) struct BoxDecisionContext<'a> {
    /// The table as applied.
    pub(in crate::box_lease) table: RwLockReadGuard<'a, BoxTable>,
    /// The epoch in which this node leads.
    pub(in crate::box_lease) epoch: Option<Epoch>,
    /// The time of the decision.
    pub(in crate::box_lease) now: ClockReading,
}

impl BoxDecisionContext<'_> {
    /// Whether this leader has recorded its start. Before that nothing is granted: the store may have
    /// forgotten higher tokens, and new tokens must be above them.
    pub(in crate::box_lease) fn has_led(&self) -> bool {
        self.epoch.is_some_and(|epoch| self.table.led() >= epoch)
    }
}
