//! The files that want a copy.

pub(in crate::task_manager::plan) mod candidates;
pub(in crate::task_manager::plan) mod master_cache;
pub(in crate::task_manager::plan) mod passed_over;
pub(in crate::task_manager::plan) mod smallest;
pub(in crate::task_manager::plan) mod unschedulable;
