//! Invariants of boxes and their leases.

pub mod clean_boxes;
pub mod leases;
