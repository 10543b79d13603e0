//! Decisions, and the state in memory that they need. Pure: callers pass the time.

pub(in crate::share_expiry) mod budget;
pub(in crate::share_expiry) mod clock_step;
pub(in crate::share_expiry) mod decide;
#[cfg(test)]
pub(in crate::share_expiry) mod decide_clock_tests;
pub(in crate::share_expiry) mod decide_moves;
#[cfg(test)]
pub(in crate::share_expiry) mod decide_tests;
pub(in crate::share_expiry) mod evict;
pub(in crate::share_expiry) mod lifetimes;
pub(in crate::share_expiry) mod time;
pub(in crate::share_expiry) mod timer;
pub(in crate::share_expiry) mod upkeep;
pub(crate) mod waiters;
