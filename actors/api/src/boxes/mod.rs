//! Boxes, leases and pools.

pub(crate) mod box_info;
pub(crate) mod lease;
pub(crate) mod pool;
