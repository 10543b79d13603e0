//! Calls for shares.

pub(in crate::http) mod downloads;
pub(in crate::http) mod file_moves;
pub(in crate::http) mod new_share;
pub(in crate::http) mod share_events;
pub(in crate::http) mod share_password;
pub(in crate::http) mod shares;
