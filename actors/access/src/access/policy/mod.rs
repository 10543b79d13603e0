//! Decisions, and the state that only the leader keeps in memory. Pure.

pub(in crate::access) mod admins;
pub(in crate::access) mod decision_context;
#[cfg(test)]
mod decision_tests;
pub(in crate::access) mod login_failures;
pub(in crate::access) mod sessions;
pub(in crate::access) mod steady_clock;
pub(in crate::access) mod tokens;
pub(in crate::access) mod upkeep;
pub(in crate::access) mod users;
