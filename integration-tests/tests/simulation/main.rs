//! Yards simulated: many seeds, and the command for it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod seeds;
