//! The work behind the listener.

use std::net::SocketAddr;

use futures::future::BoxFuture;
use reelyard_protocol::cluster::{JoinOutcome, JoinRequest};
use reelyard_replication::{CallKind, NodeIdentity};

use crate::transport::stream::NodeStream;

/// Answers other nodes. Its futures run on the threads of the network, and must not block them.
pub trait ClusterService: Send + Sync + 'static {
    /// Answers a call of the journal of another member. Calls of one connection are handed over in their order.
    fn answer(
        &self,
        kind: CallKind,
        from: NodeIdentity,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Vec<u8>>;

    /// Decides about a node that wants to become a member. It must check the secret.
    fn join(&self, from: SocketAddr, request: JoinRequest) -> BoxFuture<'static, JoinOutcome>;

    /// Serves the requests that a member writes to this stream. It may hand the stream over to another task: the
    /// connection ends with the stream. When the listener stops, only the future ends.
    fn forward(&self, from: NodeIdentity, stream: NodeStream) -> BoxFuture<'static, ()>;
}
