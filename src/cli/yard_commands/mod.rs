//! Commands about files, hosts, tasks and removals.

pub(in crate::cli) mod events;
pub(in crate::cli) mod explain;
mod file_name;
pub(in crate::cli) mod files;
pub(in crate::cli) mod history;
pub(in crate::cli) mod hosts;
pub(in crate::cli) mod plan;
pub(in crate::cli) mod removals;
pub(in crate::cli) mod tasks;
