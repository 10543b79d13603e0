//! Commands about the cluster.

mod certs;
pub mod cluster;
mod forming;
mod members;
