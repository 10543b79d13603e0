//! A cluster of real processes under load and faults, and the check of its history.

mod chaos_client;
mod faults;
mod history;
mod load;
mod round;

pub use round::{ChaosOptions, run};
