//! How Reelyard is reached over HTTP.

mod api;
mod auth;
pub mod compat;
mod file_table;
mod health;
pub mod node;
mod problem;
pub mod worker;
