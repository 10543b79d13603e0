//! The process around the actors of Reelyard: configuration, command line, the two roles, HTTP.
//!
//! The actors and their rules are in the crates of the folder `actors`.

pub mod box_client;
pub mod cli;
pub mod cluster_client;
pub mod config;
mod csv;
pub mod demo;
pub mod guide;
pub mod http;
pub mod logging;
pub mod node;
pub mod reloading;
pub mod role;
pub mod running_node;
pub mod terminal;
pub mod worker;
