//! Calls about the cluster.

pub mod cluster;
pub mod members;
pub mod transfer;
