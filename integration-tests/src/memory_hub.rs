//! A network in memory between the journals of one test, with links that can be cut.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use reelyard_actors::journal::{Journal, Transport, Unreachable};

/// The network. Clones are the same network.
#[derive(Clone, Default)]
pub struct MemoryHub(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    journals: BTreeMap<u64, Journal>,
    /// Nodes that reach nobody and are reached by nobody.
    isolated: BTreeSet<u64>,
}

impl MemoryHub {
    /// What node `node` reaches the others by.
    pub fn transport(&self, node: u64) -> Arc<dyn Transport> {
        Arc::new(Link { hub: self.clone(), node })
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

    fn reach(&self, from: u64, to: u64) -> Result<Journal, Unreachable> {
        let state = self.state();
        if state.isolated.contains(&from) || state.isolated.contains(&to) {
            return Err(Unreachable { node: to, why: "the link is cut".to_owned() });
        }
        let unknown = || Unreachable { node: to, why: "nobody is there".to_owned() };
        state.journals.get(&to).cloned().ok_or_else(unknown)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Link {
    hub: MemoryHub,
    node: u64,
}

impl Transport for Link {
    fn call(
        &self,
        target: u64,
        request: Vec<u8>,
    ) -> BoxFuture<'static, Result<Vec<u8>, Unreachable>> {
        let (hub, node) = (self.hub.clone(), self.node);
        Box::pin(async move {
            let answer = hub.reach(node, target)?.answer(&request).await;
            hub.reach(target, node)?;
            Ok(answer)
        })
    }
}
