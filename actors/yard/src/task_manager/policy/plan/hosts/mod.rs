//! The hosts that can take a copy or give one.

pub(in crate::task_manager::policy::plan) mod links;
pub(in crate::task_manager::policy::plan) mod occupied;
pub(in crate::task_manager::policy::plan) mod pairing;
pub(in crate::task_manager::policy::plan) mod participation;
pub(in crate::task_manager::policy::plan) mod round_robin;
pub(in crate::task_manager::policy::plan) mod usable_hosts;
