//! Calls about users, tokens, sessions and the caller itself.

pub mod sessions;
pub mod tokens;
pub mod users;
pub mod whoami;
