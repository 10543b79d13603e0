//! Connections that this node makes.

mod call_line;
mod cluster_transport;
mod connecting;
mod joining;

pub use cluster_transport::ClusterTransport;
pub use joining::{JoinFailed, join_cluster};
