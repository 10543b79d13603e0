//! Hosts, files and copies, and the reasons of the planner.

pub mod dialogs;
pub mod failures;
pub mod file_export;
mod file_search;
pub mod files;
pub mod host;
mod host_obstacles;
pub mod hosts;
pub mod map;
mod most_asked;
pub mod plan;
mod sized_files;
pub mod tasks;
pub mod why;
