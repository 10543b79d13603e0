//! Ended copies and removals, and the audit.

pub mod audit;
pub mod history;
mod instants;
