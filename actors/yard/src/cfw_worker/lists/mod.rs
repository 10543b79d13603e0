//! The files of a host: the schedule of their lists, and the contents.

pub mod holdings;
pub(super) mod look;
pub mod schedule;
