//! How Reelyard is reached over HTTP.

pub mod compat;
