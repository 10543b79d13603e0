//! The hosts as the leader sees them. Pure.

pub(in crate::task_manager) mod host_rules;
pub(in crate::task_manager) mod hosts;
pub(in crate::task_manager) mod inventory;
pub(in crate::task_manager) mod liveness;
pub(in crate::task_manager) mod rates;
