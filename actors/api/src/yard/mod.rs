//! Files, hosts, tasks, removals and plans.

pub(crate) mod explain;
pub(crate) mod file;
pub(crate) mod host;
pub(crate) mod plan;
pub(crate) mod removal;
pub(crate) mod task;
