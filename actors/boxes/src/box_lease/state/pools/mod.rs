//! Pools and their boxes. Pure.

pub(in crate::box_lease) mod pool;
pub(in crate::box_lease) mod slots;
pub(in crate::box_lease) mod spec;
