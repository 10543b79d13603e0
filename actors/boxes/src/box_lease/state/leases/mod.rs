//! Leases and their terms. Pure.

pub(in crate::box_lease) mod given_terms;
pub(in crate::box_lease) mod held_lease;
pub(in crate::box_lease) mod lease;
