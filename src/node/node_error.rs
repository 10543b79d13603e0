//! Why a node does not start.

use std::net::SocketAddr;

use reelyard_journal::OpenError;

use super::cluster::ClusterLinkError;

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The data directory cannot be created.
    #[error("cannot make data_dir {0}")]
    DataDir(String, #[source] std::io::Error),
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] OpenError),
    /// The node is one of several, and its directory is empty.
    #[error(
        "{0} is empty, and cluster.listen is set: the node does not found a cluster by itself, because its disk may \
         have been emptied. For the first node run \"reelyard cluster init\", for a further one \
         \"reelyard cluster join\", with the same configuration"
    )]
    NoCluster(String),
    /// The store belongs to another number.
    #[error(
        "{data_dir} is the store of node {number}, and node_id is {wanted}: remove node_id, or use the store of node {wanted}"
    )]
    AnotherNumber {
        /// The data directory.
        data_dir: String,
        /// The number in the configuration.
        wanted: u64,
        /// The number in the store.
        number: u64,
    },
    /// The network to the other nodes cannot start.
    #[error(transparent)]
    Cluster(#[from] ClusterLinkError),
    /// The system gives no threads.
    #[error("cannot start the thread for calls to hosts")]
    Threads(#[source] std::io::Error),
    /// The HTTP client for calls to hosts cannot be created.
    #[error("cannot create the HTTP client for calls to hosts")]
    Client(#[from] reqwest::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {0}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The node is stopping.
    #[error("the node is stopping: reload it after its restart")]
    Stopping,
}
