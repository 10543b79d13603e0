//! How Reelyard is reached over HTTP.

pub mod api;
mod auth;
mod clean_path;
pub mod compat;
mod connections;
mod file_table;
mod guide;
mod health;
mod metrics;
pub mod node;
mod problem;
pub mod worker;
