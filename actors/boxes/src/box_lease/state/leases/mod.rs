//! Leases and their terms. Pure.

pub(in crate::box_lease) mod given_terms;
pub(in crate::box_lease) mod lease;
pub(in crate::box_lease) mod lease_answer;
