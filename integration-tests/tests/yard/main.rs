//! Complete yards of real processes, new and old.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod by_hand;
mod cluster;
mod exchanges;
mod explains;
mod hosts;
mod inputs;
mod links;
mod moves;
mod old_programs;
mod places;
mod recovers;
mod removes;
mod slow_clients;
mod two_managers;
