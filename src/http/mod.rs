//! The HTTP servers of Reelyard: API, public links, workers, metrics and cfm's wire protocol.

pub mod access;
pub mod api;
mod audit;
mod called_name;
mod clean_path;
pub mod computing;
mod connections;
pub mod console;
mod file_table;
pub mod forwarding;
mod guide;
mod health;
mod host_facts;
pub mod legacy;
mod login_page;
mod metrics;
pub mod node;
pub mod node_state;
mod operations;
pub mod overview;
mod packed;
mod passed_files;
mod problem;
pub mod starting;
pub mod worker;

pub use problem::UNDECLARED;
