//! Leases of numbered sandbox boxes, and the node's link to the workers that host them.

pub mod box_lease;
pub mod host_link;
