//! Read views. Readers use them without the mailbox.

mod build_view;
pub(in crate::task_manager) mod changes;
pub(in crate::task_manager) mod host_roster;
pub mod legacy;
pub(in crate::task_manager) mod task_manager_view;
