//! Calls about hosts.

pub(in crate::http::api) mod holdings;
pub(in crate::http::api) mod host_changes;
pub(in crate::http::api) mod hosts;
