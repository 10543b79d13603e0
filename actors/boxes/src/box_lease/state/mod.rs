//! The piece, and how events change it. Deterministic: no clock, no I/O, no randomness, no actor.

pub(in crate::box_lease) mod apply;
pub(in crate::box_lease) mod apply_boxes;
mod apply_terms;
#[cfg(test)]
pub(in crate::box_lease) mod apply_tests;
pub(in crate::box_lease) mod audit;
pub(in crate::box_lease) mod box_table;
pub(in crate::box_lease) mod event;
pub(in crate::box_lease) mod leases;
pub(in crate::box_lease) mod pools;
pub(in crate::box_lease) mod snapshot;
pub(in crate::box_lease) mod stored;
#[cfg(test)]
mod stored_shapes;
