//! Users, tokens and callers.

pub(crate) mod caller;
pub(crate) mod token;
pub(crate) mod user;
