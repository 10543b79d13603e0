//! What a simulation reports.

pub(crate) mod measures;
pub mod plots;
pub(crate) mod report;
