//! The wire of the Go programs cfm and cfw. Nothing of it is needed once none of them runs.

pub mod cfm;
pub mod cfw;
