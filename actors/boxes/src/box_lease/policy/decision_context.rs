//! The inputs of the decisions on boxes.

use std::sync::RwLockReadGuard;

use reelyard_core::clock::ClockReading;
use reelyard_core::event::Epoch;

use crate::box_lease::state::box_table::BoxTable;

/// The state that a decision reads. It locks the table: it must end before anything is committed.
pub(in crate::box_lease) struct BoxDecisionContext<'a> {
    /// The table as applied.
    pub(in crate::box_lease) table: RwLockReadGuard<'a, BoxTable>,
    /// The epoch in which this node leads.
    pub(in crate::box_lease) epoch: Option<Epoch>,
    /// The time of the decision.
    pub(in crate::box_lease) now: ClockReading,
}

impl BoxDecisionContext<'_> {
    /// Whether it is on record that this leader decides. Nothing is granted before: its tokens may have
    /// to go on beyond those of a past that its store has forgotten.
    pub(in crate::box_lease) fn has_led(&self) -> bool {
        self.epoch.is_some_and(|epoch| self.table.led() >= epoch)
    }
}
