//! Why a file is planned or not.

pub(in crate::task_manager::plan) mod explanation;
pub(in crate::task_manager::plan) mod skip;
