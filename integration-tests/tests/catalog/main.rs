//! The catalogue: its inputs, its ranking and its event log.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod event_log;
mod masters;
mod ranking;
mod watch;
