//! How Reelyard is run and reached.

pub mod http;
