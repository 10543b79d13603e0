//! Subjects of leases of boxes.

pub mod box_actor;
pub mod boxes_http;
