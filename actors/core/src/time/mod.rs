//! Clocks and durations: the time that is set, the time that only grows, and waits between attempts.

pub mod backoff;
pub mod boot;
pub mod burst_limit;
pub mod clock;
pub mod cluster_time;
pub mod durations;
pub mod elapsed_time;
