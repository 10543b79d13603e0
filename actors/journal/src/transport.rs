//! Connections between the journals of a cluster: opaque bytes as request and as answer.

use futures::future::{BoxFuture, FutureExt, ready};

/// A call that was not answered: the other node may or may not have acted on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {node} cannot be reached: {why}")]
pub struct NodeUnreachable {
    /// Id of the node that was called.
    pub node: u64,
    /// Error of the call.
    pub why: String,
}

/// Carries calls between journals. The receiving side hands the bytes to
/// [`Journal::answer`](crate::Journal::answer) and returns what that returns.
pub trait Transport: Send + Sync + 'static {
    /// Calls node `target`. The caller gives up by dropping the future.
    fn call(
        &self,
        target: u64,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Result<Vec<u8>, NodeUnreachable>>;
}

/// The transport of a node that runs alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPeers;

impl Transport for NoPeers {
    fn call(
        &self,
        target: u64,
        _: Vec<u8>,
    ) -> BoxFuture<'static, Result<Vec<u8>, NodeUnreachable>> {
        let why = "this node was started without a cluster".to_owned();
        ready(Err(NodeUnreachable { node: target, why })).boxed()
    }
}
