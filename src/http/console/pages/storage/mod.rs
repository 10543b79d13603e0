//! Hosts, files and copies, and the reasons of the planner.

pub mod failures;
pub mod file_dialogs;
pub mod file_export;
mod file_search;
pub mod files;
pub mod host;
pub mod host_dialogs;
pub mod hosts;
pub mod map;
pub mod plan;
pub mod task_dialogs;
pub mod tasks;
pub mod why;
