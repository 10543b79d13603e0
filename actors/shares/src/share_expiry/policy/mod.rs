//! Decisions, and what the actor keeps in memory for them. Pure: callers hand in the time.

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
pub(crate) mod waiters;
