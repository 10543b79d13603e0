//! Calls for files, hosts, tasks and removals.

pub(in crate::http::api) mod explain;
pub(in crate::http::api) mod files;
pub(in crate::http::api) mod history;
pub(in crate::http::api) mod host_calls;
pub(in crate::http::api) mod pins;
pub(in crate::http::api) mod plan;
pub(in crate::http::api) mod planning_snapshot;
pub(in crate::http::api) mod removals;
pub(in crate::http::api) mod tasks;
pub(in crate::http::api) mod workers;
