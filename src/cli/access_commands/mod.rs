//! Commands about callers: tokens, users, logins and contexts.

pub(in crate::cli) mod certs;
pub(in crate::cli) mod context;
pub(in crate::cli) mod login;
mod name_filter;
pub(in crate::cli) mod token;
mod token_recover;
pub(in crate::cli) mod user;
pub(in crate::cli) mod whoami;
