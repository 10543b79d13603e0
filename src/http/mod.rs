//! What is reached over HTTP.

mod api;
mod auth;
mod health;
pub mod node;
mod problem;
pub mod worker;
//! How Reelyard is reached over HTTP.

pub mod compat;
