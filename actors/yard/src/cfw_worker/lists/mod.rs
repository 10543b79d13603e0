//! The files of a host: when they are listed, and what the list says.

pub mod holdings;
pub(super) mod look;
pub mod schedule;
