//! The piece, and how events change it. Deterministic: no clock, no I/O, no randomness, no actor.

pub(in crate::access) mod access_table;
pub(in crate::access) mod apply;
#[cfg(test)]
mod apply_tests;
pub(in crate::access) mod constants;
pub(in crate::access) mod event;
pub(in crate::access) mod rules;
pub(in crate::access) mod shared_map;
pub(in crate::access) mod snapshot;
pub(in crate::access) mod stored;
#[cfg(test)]
mod stored_shapes;
pub(in crate::access) mod values;
