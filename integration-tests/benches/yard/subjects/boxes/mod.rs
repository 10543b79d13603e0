//! Subjects of leases of boxes.

pub mod box_actor;
pub mod box_cluster;
pub mod boxes_http;
