//! Ended copies and removals, and the audit.

pub mod audit;
mod ended_troubles;
pub mod history;
mod instants;
