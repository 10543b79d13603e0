//! Subjects of ranking, planning, hosts and copies.

pub mod caches;
pub mod catalog;
pub mod event_log;
pub mod host_count;
pub mod placement;
pub mod planner;
pub mod transfers;
