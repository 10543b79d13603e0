//! The CfwWorkers of a node, one per host of the yard.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::dev::{Envelope, ToEnvelope};
use actix::{Actor, Handler, Message};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::supervision::Supervised;
use reelyard_yard::cfw_worker::{CfwWorker, CfwWorkerView, HostRoutes};
use tokio::sync::watch;

/// The actors of all current hosts. Clones share the state. Only [`super::Wiring`] adds and removes
/// actors.
#[derive(Clone)]
pub struct HostActors(Arc<watch::Sender<HostActorMap>>);

/// The actors of hosts, by address.
pub type HostActorMap = Arc<BTreeMap<HostAddr, Arc<HostActor>>>;

/// The actor of one host.
pub struct HostActor {
    /// Role of the host in the yard.
    pub role: HostRole,
    /// The actor that calls the host.
    pub worker: Supervised<CfwWorker>,
    /// The published state of the host.
    pub view: ViewHandle<CfwWorkerView>,
    /// Whether the host is in maintenance. The next incarnation of the actor reads it too.
    pub(super) in_maintenance: Arc<AtomicBool>,
}

impl HostActor {
    /// Whether the host gets no calls because of maintenance.
    pub fn in_maintenance(&self) -> bool {
        self.in_maintenance.load(Ordering::Relaxed)
    }
}

impl Default for HostActors {
    fn default() -> Self {
        HostActors(Arc::new(watch::Sender::new(HostActorMap::default())))
    }
}

impl HostActors {
    /// All current hosts.
    pub fn present(&self) -> HostActorMap {
        self.0.borrow().clone()
    }

    /// The actor of the host at `addr`, if there is one.
    pub fn get(&self, addr: HostAddr) -> Option<Arc<HostActor>> {
        self.0.borrow().get(&addr).cloned()
    }

    /// Routes to the actors of all current hosts, for one kind of message.
    pub fn routes<M>(&self) -> HostRoutes<M>
    where
        M: Message + Send + 'static,
        M::Result: Send,
        CfwWorker: Handler<M>,
        <CfwWorker as Actor>::Context: ToEnvelope<CfwWorker, M>,
        Envelope<CfwWorker>: Send,
    {
        let yard = self.clone();
        HostRoutes::new(move |host| Some(yard.get(host)?.worker.addr().recipient()))
    }

    /// Waits until all of these hosts have actors.
    pub(crate) async fn has(&self, hosts: impl Iterator<Item = HostAddr>) {
        let hosts: Vec<HostAddr> = hosts.collect();
        let mut present = self.0.subscribe();
        let all = present.wait_for(|present| hosts.iter().all(|host| present.contains_key(host)));
        // This handle keeps the sender alive.
        let _ = all.await;
    }

    /// Replaces the set of hosts.
    pub(super) fn set(&self, hosts: BTreeMap<HostAddr, Arc<HostActor>>) {
        self.0.send_replace(Arc::new(hosts));
    }
}
