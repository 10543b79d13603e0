//! Calls about hosts.

pub(in crate::http) mod host_changes;
pub(in crate::http) mod hosts;
