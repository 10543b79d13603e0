//! A network in memory between the journals of one test, with links that can be cut.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use reelyard_core::event::PieceId;
use reelyard_journal::{Journal, JournalOptions, NodeUnreachable, Transport};

/// The nodes of a cluster of three.
pub const NODES: [u64; 3] = [1, 2, 3];

/// The network. Clones are the same network.
#[derive(Clone, Default)]
pub struct MemoryHub(Arc<Mutex<HubState>>);

#[derive(Default)]
struct HubState {
    journals: BTreeMap<u64, Journal>,
    /// Nodes that reach nobody and are reached by nobody.
    isolated: BTreeSet<u64>,
}

impl MemoryHub {
    /// The journal of one of three nodes, reached by the others, with the settings it would have alone.
    /// When the leader is gone, another one leads after a second or two.
    pub async fn open(&self, alone: JournalOptions, piece: PieceId) -> Journal {
        let settings = JournalOptions {
            founders: NODES.map(|node| (node, String::new())).into(),
            heartbeat: Duration::from_millis(100),
            election: (Duration::from_millis(600), Duration::from_millis(1200)),
            ..alone
        };
        let node = settings.node;
        let journal = Journal::open(settings, self.transport(node), &[piece]).await;
        let journal = journal.unwrap_or_else(|why| panic!("node {node}: {why}"));
        self.attach(node, journal.clone());
        journal
    }

    /// What node `node` reaches the others by.
    pub fn transport(&self, node: u64) -> Arc<dyn Transport> {
        Arc::new(HubTransport { hub: self.clone(), node })
    }

    /// Lets node `node` be reached.
    pub fn attach(&self, node: u64, journal: Journal) {
        self.state().journals.insert(node, journal);
    }

    /// Cuts every link of `node`, also for answers that are on their way.
    pub fn isolate(&self, node: u64) {
        self.state().isolated.insert(node);
    }

    /// Mends the links of `node` to those that are not cut off themselves.
    pub fn rejoin(&self, node: u64) {
        self.state().isolated.remove(&node);
    }

    /// Mends every link.
    pub fn heal(&self) {
        self.state().isolated.clear();
    }

    fn reach(&self, from: u64, to: u64) -> Result<Journal, NodeUnreachable> {
        let state = self.state();
        if state.isolated.contains(&from) || state.isolated.contains(&to) {
            return Err(NodeUnreachable { node: to, why: "the link is cut".to_owned() });
        }
        let unknown = || NodeUnreachable { node: to, why: "nobody is there".to_owned() };
        state.journals.get(&to).cloned().ok_or_else(unknown)
    }

    fn state(&self) -> MutexGuard<'_, HubState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct HubTransport {
    hub: MemoryHub,
    node: u64,
}

impl Transport for HubTransport {
    fn call(
        &self,
        target: u64,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Result<Vec<u8>, NodeUnreachable>> {
        let (hub, node) = (self.hub.clone(), self.node);
        Box::pin(async move {
            let answer = hub.reach(node, target)?.answer(&request).await;
            hub.reach(target, node)?;
            Ok(answer)
        })
    }
}
