//! Commands about the cluster.

pub mod cluster;
mod forming;
mod members;
