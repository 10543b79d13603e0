//! The dialogs that ask before an action on files, hosts or copies.

pub mod drain_dialog;
pub mod file_dialogs;
pub mod host_dialogs;
pub mod new_hosts;
pub mod task_dialogs;
