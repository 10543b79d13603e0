//! Calls for files, hosts, tasks and removals.

pub(in crate::http) mod explain;
pub(in crate::http) mod files;
pub(in crate::http) mod history;
pub(in crate::http) mod history_order;
pub(in crate::http) mod host_calls;
pub(in crate::http) mod pins;
pub(in crate::http) mod plan;
pub(in crate::http) mod planning_snapshot;
pub(in crate::http) mod removals;
pub(in crate::http) mod tasks;
pub(in crate::http) mod workers;
