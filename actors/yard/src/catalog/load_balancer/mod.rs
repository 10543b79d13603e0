//! The event log of the load balancer, and the rising hits in it.

pub mod event_log;
pub mod event_row;
pub(in crate::catalog) mod followed_day;
pub(crate) mod hit_counter;
pub mod log_days;
pub(in crate::catalog) mod log_reader;
pub mod rising;
pub mod unknown_hits;
