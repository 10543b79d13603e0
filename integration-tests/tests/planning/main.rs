//! Copies and removals: TaskManager, Remover and the planner.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bandwidth_running_copies;
mod broken_old_hosts;
mod planner_case;
mod planner_properties;
mod remover_mailbox;
mod remover_properties;
mod task_manager;
