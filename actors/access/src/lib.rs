//! Access to a yard: rights, secrets, users, tokens, sessions and the audit.

pub mod access;
pub mod audit;
pub mod rights;
pub mod secrets;
pub mod throttle;
