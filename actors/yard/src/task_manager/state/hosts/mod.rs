//! Recorded hosts and changes of them. Pure.

pub(in crate::task_manager) mod host_changes;
pub(in crate::task_manager) mod host_record;
