//! Decisions, and the state in memory that they need. Pure: callers pass the time.

pub(in crate::share_expiry) mod budget;
pub(in crate::share_expiry) mod clock_step;
pub(in crate::share_expiry) mod decision_context;
pub(in crate::share_expiry) mod decisions;
pub(in crate::share_expiry) mod evict;
pub(in crate::share_expiry) mod lifetimes;
pub(in crate::share_expiry) mod memory;
pub(in crate::share_expiry) mod time;
pub(in crate::share_expiry) mod timer;
pub(in crate::share_expiry) mod upkeep;
pub(crate) mod waiters;
