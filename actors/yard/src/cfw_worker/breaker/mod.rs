//! The circuit breaker: when calls to a host stop, and when they start again.

pub(super) mod circuit_breaker;
pub(crate) mod circuit_state;
