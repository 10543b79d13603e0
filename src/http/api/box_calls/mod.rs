//! Calls for boxes, leases and pools.

pub(in crate::http) mod acquire;
pub(in crate::http) mod box_refusals;
pub(in crate::http) mod boxes;
pub(in crate::http) mod leases;
pub(in crate::http) mod pools;
