//! How Reelyard is reached over HTTP.

mod api;
mod auth;
pub mod compat;
mod health;
pub mod node;
mod problem;
pub mod worker;
