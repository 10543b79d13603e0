//! Calls of the journal, and streams for forwarded requests.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use futures::future::BoxFuture;
use reelyard_protocol::cluster::{ConnectionUse, RefusalKind};
use reelyard_replication::{CallKind, CallTarget, NodeUnreachable, Transport};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::call_line::CallLine;
use super::connecting::connect_member;
use crate::transport::local_node::LocalNode;
use crate::transport::peers::PeerView;
use crate::transport::stream::NodeStream;

/// Streams for forwarded requests that are opened at the same time to one peer. Its listener limits callers that
/// have not greeted yet.
const OPENING: usize = 4;

/// The line to each peer for each purpose.
type CallLines = HashMap<(u64, ConnectionUse), Arc<CallLine>>;

/// Carries calls to other nodes over TCP: one connection for each peer and purpose. Cheap to clone.
#[derive(Clone)]
pub struct ClusterTransport {
    runtime: Handle,
    local: Arc<LocalNode>,
    lines: Arc<Mutex<CallLines>>,
    opening: Arc<Mutex<HashMap<u64, Arc<Semaphore>>>>,
}

impl ClusterTransport {
    /// A transport whose connections run on `runtime`.
    pub fn new(runtime: Handle, local: Arc<LocalNode>) -> Self {
        ClusterTransport { runtime, local, lines: Arc::default(), opening: Arc::default() }
    }

    /// All nodes that were called or that called, by number.
    pub fn peers(&self) -> Vec<PeerView> {
        self.local.peers().views()
    }

    /// Number of refused callers that are no members, by reason.
    pub fn refusals_of_others(&self) -> BTreeMap<RefusalKind, u64> {
        self.local.peers().refusals_of_others()
    }

    /// Number of all refused connections since the start of this node, by reason. Either side may have refused.
    pub fn refusals(&self) -> BTreeMap<RefusalKind, u64> {
        let mut counts = self.refusals_of_others();
        for (kind, count) in self.peers().into_iter().flat_map(|peer| peer.refusals) {
            *counts.entry(kind).or_default() += count;
        }
        counts
    }

    /// Opens a stream to a member for one or more forwarded requests. The service of the listener there gets its
    /// other end.
    pub fn open_forward(
        &self,
        target: &CallTarget,
    ) -> BoxFuture<'static, Result<NodeStream, NodeUnreachable>> {
        let slots = {
            let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
            let slots = opening.entry(target.node);
            Arc::clone(slots.or_insert_with(|| Arc::new(Semaphore::new(OPENING))))
        };
        let (local, target) = (Arc::clone(&self.local), target.clone());
        let node = target.node;
        let unreachable = move |why| NodeUnreachable { node, why };
        let runtime = self.runtime.clone();
        async move {
            // A caller that gives up leaves the queue.
            let slot = slots.acquire_owned().await;
            // The sockets belong to this runtime. A caller that gives up must not cut the greeting short.
            let connecting = runtime.spawn(async move {
                let _slot = slot;
                let connected = connect_member(&local, &target, ConnectionUse::Forward).await;
                connected.map(|(stream, _)| stream).map_err(unreachable)
            });
            match connecting.await {
                Ok(connected) => connected,
                Err(_) => Err(unreachable("the network of this node has stopped".to_owned())),
            }
        }
        .boxed()
    }

    /// The line to the peer. A peer with another address or store gets a new one.
    fn line(&self, target: &CallTarget, purpose: ConnectionUse) -> Arc<CallLine> {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let place = (target.node, purpose);
        if let Some(line) = lines.get(&place)
            && line.leads_to(target)
        {
            return Arc::clone(line);
        }
        let line = CallLine::start(&self.runtime, &self.local, target, purpose);
        lines.insert(place, Arc::clone(&line));
        line
    }
}

impl Transport for ClusterTransport {
    fn call(
        &self,
        target: &CallTarget,
        kind: CallKind,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Result<Vec<u8>, NodeUnreachable>> {
        let purpose = match kind {
            CallKind::Vote => ConnectionUse::Vote,
            CallKind::Log => ConnectionUse::Log,
            CallKind::Snapshot => ConnectionUse::Snapshot,
        };
        let (line, node) = (self.line(target, purpose), target.node);
        async move { line.call(request).await.map_err(|why| NodeUnreachable { node, why }) }.boxed()
    }

    fn connect(&self, target: &CallTarget) -> BoxFuture<'static, Result<(), NodeUnreachable>> {
        let (local, target, node) = (Arc::clone(&self.local), target.clone(), target.node);
        // As a connection for calls it needs none of the places of forwarded requests.
        let connecting = self.runtime.spawn(async move {
            connect_member(&local, &target, ConnectionUse::Vote).await.map(drop)
        });
        async move {
            let stopped = |_| Err("the network of this node has stopped".to_owned());
            let connected = connecting.await.unwrap_or_else(stopped);
            connected.map_err(|why| NodeUnreachable { node, why })
        }
        .boxed()
    }
}

impl fmt::Debug for ClusterTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClusterTransport").field(&self.local).finish()
    }
}
