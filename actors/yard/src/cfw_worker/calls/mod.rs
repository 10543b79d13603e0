//! Calls to a host, and their failures.

pub(super) mod ask_failure;
pub(super) mod client;
pub(crate) mod refresh_reply;
pub(super) mod routes;
