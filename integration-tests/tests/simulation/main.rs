//! Simulated yards: many seeds, and the command for them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod command;
mod seeds;
