//! What readers see, without a place in the mailbox.

pub mod cfm_list;
pub(in crate::task_manager) mod host_roster;
pub(in crate::task_manager) mod task_manager_view;
