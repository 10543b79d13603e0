//! The TaskManager with simulated hosts.

mod task_manager_by_hand;
mod task_manager_changes;
mod task_manager_explains;
mod task_manager_failures;
mod task_manager_foreign_managers;
mod task_manager_full_disk;
mod task_manager_hosts;
pub(super) mod task_manager_inputs;
mod task_manager_links;
mod task_manager_places;
mod task_manager_three_nodes;
pub(super) mod task_manager_yard;
