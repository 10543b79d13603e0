//! The files that want a copy.

pub(in crate::task_manager::policy::plan) mod candidates;
pub(in crate::task_manager::policy::plan) mod master_cache;
pub(in crate::task_manager::policy::plan) mod passed_over;
pub(in crate::task_manager::policy::plan) mod smallest;
pub(in crate::task_manager::policy::plan) mod unschedulable;
