//! The piece, and how events change it. Deterministic: no clock, no I/O, no randomness, no actor.

pub(in crate::share_expiry) mod apply;
mod apply_moves;
#[cfg(test)]
pub(in crate::share_expiry) mod apply_tests;
pub(in crate::share_expiry) mod constants;
pub(in crate::share_expiry) mod download_cache;
pub(in crate::share_expiry) mod event;
pub(in crate::share_expiry) mod event_v1;
pub(in crate::share_expiry) mod event_v2;
pub(in crate::share_expiry) mod moves;
pub(crate) mod notification;
pub(in crate::share_expiry) mod snapshot;
#[cfg(test)]
pub(in crate::share_expiry) mod snapshot_tests;
pub(in crate::share_expiry) mod stored;
#[cfg(test)]
mod stored_shapes;
pub(in crate::share_expiry) mod table;
pub(in crate::share_expiry) mod values;
