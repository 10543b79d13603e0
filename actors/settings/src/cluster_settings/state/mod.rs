//! The piece, and how events change it. Deterministic: no clock, no I/O, no randomness, no actor.

pub(in crate::cluster_settings) mod apply;
pub(in crate::cluster_settings) mod constants;
pub(in crate::cluster_settings) mod event;
pub(in crate::cluster_settings) mod settings_book;
pub(in crate::cluster_settings) mod settings_text;
pub(in crate::cluster_settings) mod snapshot;
#[cfg(test)]
mod stored_shapes;
