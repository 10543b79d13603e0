//! The hosts that can take a copy or give one.

pub(in crate::task_manager::plan) mod links;
pub(in crate::task_manager::plan) mod occupied;
pub(in crate::task_manager::plan) mod pairing;
pub(in crate::task_manager::plan) mod round_robin;
