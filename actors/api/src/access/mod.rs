//! Users, tokens, callers and the audit.

pub(crate) mod audit;
pub(crate) mod caller;
pub(crate) mod session;
pub(crate) mod token;
pub(crate) mod user;
