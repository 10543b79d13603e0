//! The results of a simulation.

pub(crate) mod measures;
pub mod plots;
pub(crate) mod references;
pub(crate) mod report;
