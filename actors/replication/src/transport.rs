//! Calls between the journals of a cluster: opaque bytes as request and as answer.

use futures::future::{BoxFuture, FutureExt, ready};

use crate::member::MemberRecord;

/// A call that was not answered: the other node may or may not have acted on it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {node} cannot be reached: {why}")]
pub struct NodeUnreachable {
    /// Number of the node that was called.
    pub node: u64,
    /// Error of the call.
    pub why: String,
}

/// The node that is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTarget {
    /// Its number.
    pub node: u64,
    /// Its record in the log.
    pub record: MemberRecord,
}

/// Calls of one kind wait for each other, and never for calls of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// Votes and heartbeats.
    Vote,
    /// Entries of the log.
    Log,
    /// Parts of snapshots.
    Snapshot,
}

/// Carries calls between journals. The receiving side hands the bytes to its journal, and returns the bytes
/// that this answers.
pub trait Transport: Send + Sync + 'static {
    /// Calls the node `target`. The caller gives up by dropping the future.
    fn call(
        &self,
        target: &CallTarget,
        kind: CallKind,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Result<Vec<u8>, NodeUnreachable>>;

    /// Makes a new connection to the node `target`, and closes it. Those in use say nothing about new ones.
    fn connect(&self, target: &CallTarget) -> BoxFuture<'static, Result<(), NodeUnreachable>>;
}

/// The transport of a node that runs alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPeers;

impl Transport for NoPeers {
    fn call(
        &self,
        target: &CallTarget,
        _: CallKind,
        _: Vec<u8>,
    ) -> BoxFuture<'static, Result<Vec<u8>, NodeUnreachable>> {
        ready(Err(without_cluster(target))).boxed()
    }

    fn connect(&self, target: &CallTarget) -> BoxFuture<'static, Result<(), NodeUnreachable>> {
        ready(Err(without_cluster(target))).boxed()
    }
}

fn without_cluster(target: &CallTarget) -> NodeUnreachable {
    NodeUnreachable { node: target.node, why: "this node was started without a cluster".to_owned() }
}
