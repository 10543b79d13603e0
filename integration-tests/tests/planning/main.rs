//! Copies and removals: TaskManager, Remover and the planner.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bandwidth_running_copies;
mod broken_old_hosts;
mod planner_case;
mod planner_properties;
mod remover_mailbox;
mod remover_properties;
mod task_manager_by_hand;
mod task_manager_changes;
mod task_manager_explains;
mod task_manager_failures;
mod task_manager_foreign_managers;
mod task_manager_full_disk;
mod task_manager_hosts;
mod task_manager_links;
mod task_manager_places;
mod task_manager_three_nodes;
mod task_manager_yard;
