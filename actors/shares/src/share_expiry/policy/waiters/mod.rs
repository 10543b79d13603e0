//! Requests that wait for a decision. Pure.

pub(crate) mod download_waiters;
pub(crate) mod move_end_waiters;
