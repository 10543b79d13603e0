//! Calls for boxes, leases and pools.

pub(in crate::http::api) mod acquire;
pub(in crate::http::api) mod box_refusals;
pub(in crate::http::api) mod boxes;
pub(in crate::http::api) mod leases;
pub(in crate::http::api) mod pools;
