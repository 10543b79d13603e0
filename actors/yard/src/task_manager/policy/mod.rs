//! Decisions, and the state in memory that they need. Pure: callers pass the time.

pub(in crate::task_manager) mod by_hand;
pub(crate) mod counters;
pub(in crate::task_manager) mod decision_context;
pub(in crate::task_manager) mod due;
pub(in crate::task_manager) mod foreign_managers;
pub(in crate::task_manager) mod hosts_in_memory;
pub(in crate::task_manager) mod input_guard;
pub(crate) mod last_round;
pub(in crate::task_manager) mod legacy;
pub(in crate::task_manager) mod memory;
pub(in crate::task_manager) mod plan;
pub(in crate::task_manager) mod reports;
pub(in crate::task_manager) mod time_out;
pub(in crate::task_manager) mod unsteady_lists;
