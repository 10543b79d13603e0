//! The files of a host: the schedule of their lists, and the contents.

pub mod holdings;
pub mod list_body;
pub mod schedule;
