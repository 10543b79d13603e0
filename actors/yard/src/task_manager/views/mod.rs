//! Read views. Readers use them without the mailbox.

pub mod cfm_list;
pub(in crate::task_manager) mod host_roster;
pub(in crate::task_manager) mod task_manager_view;
