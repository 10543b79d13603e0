//! Why a node does not start.

use std::net::SocketAddr;

use reelyard_journal::OpenError;

/// Why a node does not start.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The data directory cannot be created.
    #[error("cannot make data_dir {0}")]
    DataDir(String, #[source] std::io::Error),
    /// The journal cannot be opened.
    #[error(transparent)]
    Journal(#[from] OpenError),
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
