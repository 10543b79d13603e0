//! The CfwWorkers of a node, one for each host of the yard.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use actix::dev::{Envelope, ToEnvelope};
use actix::{Actor, Handler, Message};
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::supervision::Supervised;
use reelyard_yard::cfw_worker::{CfwWorker, CfwWorkerViewHandle, HostRoutes};
use tokio::sync::watch;

/// The actors of all hosts there are at present. Clones show the same; [`super::Wiring`] alone adds
/// and removes.
#[derive(Clone)]
pub struct HostActors(Arc<watch::Sender<HostActorMap>>);

/// The actors of hosts, by address.
pub type HostActorMap = Arc<BTreeMap<HostAddr, Arc<HostActor>>>;

/// The actor of one host.
pub struct HostActor {
    /// What the host is for.
    pub role: HostRole,
    /// Calls it.
    pub worker: Supervised<CfwWorker>,
    /// What is known of it.
    pub view: CfwWorkerViewHandle,
    /// Whether it is in maintenance, also for an incarnation of its actor that is yet to come.
    pub(super) in_maintenance: Arc<AtomicBool>,
}

impl HostActor {
    /// Whether nothing is asked of it.
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
    /// Every host there is now.
    pub fn present(&self) -> HostActorMap {
        self.0.borrow().clone()
    }

    /// The host at `addr`, if there is one.
    pub fn get(&self, addr: HostAddr) -> Option<Arc<HostActor>> {
        self.0.borrow().get(&addr).cloned()
    }

    /// Ways to the actors of whichever hosts there are, for one kind of message.
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

    /// Waits until all of these are there.
    pub(super) async fn has(&self, hosts: impl Iterator<Item = HostAddr>) {
        let hosts: Vec<HostAddr> = hosts.collect();
        let mut present = self.0.subscribe();
        let all = present.wait_for(|present| hosts.iter().all(|host| present.contains_key(host)));
        // The sender lives as long as this handle.
        let _ = all.await;
    }

    /// These are the hosts from now on.
    pub(super) fn set(&self, hosts: BTreeMap<HostAddr, Arc<HostActor>>) {
        self.0.send_replace(Arc::new(hosts));
    }
}
