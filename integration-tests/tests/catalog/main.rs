//! The catalogue: its inputs, its ranking, its log of events.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod event_log;
mod masters;
mod ranking;
mod watch;
