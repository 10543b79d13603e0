//! The records of the piece.

pub(in crate::access) mod last_use;
pub(in crate::access) mod login_link;
pub(in crate::access) mod session;
pub(in crate::access) mod token;
pub(in crate::access) mod use_queue;
pub(in crate::access) mod user;
pub(in crate::access) mod user_agent;
