//! Calls for shares.

pub(in crate::http::api) mod downloads;
pub(in crate::http::api) mod file_moves;
pub(in crate::http::api) mod new_share;
pub(in crate::http::api) mod share_events;
pub(in crate::http::api) mod share_password;
pub(in crate::http::api) mod shares;
