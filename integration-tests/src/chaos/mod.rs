//! A cluster of real processes under load and faults, and the check of its histories.

mod chaos_client;
mod chaos_cluster;
mod faults;
mod histories;
mod record;
mod round;
pub mod slow_links;

pub use round::{ChaosOptions, run};
