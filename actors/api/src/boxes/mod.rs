//! Boxes, leases and pools.

pub(crate) mod box_shown;
pub(crate) mod lease;
pub(crate) mod pool;
