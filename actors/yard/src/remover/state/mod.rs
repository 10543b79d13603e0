//! The piece, and how events change it. Deterministic: no clock, no I/O, no randomness, no actor.

pub(in crate::remover) mod apply;
pub(in crate::remover) mod ending;
pub(in crate::remover) mod event;
pub(crate) mod reason;
pub(in crate::remover) mod removal_book;
pub(in crate::remover) mod snapshot;
pub(in crate::remover) mod stored;
#[cfg(test)]
mod stored_shapes;
