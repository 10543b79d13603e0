//! Invariants of the copies on disks, of reports about them, and of their removals.

pub mod holdings;
pub mod removals;
pub mod reports;
pub mod right_bytes;
