//! The actors of a node, and who tells whom.
//!
//! ```text
//! Catalog --------------- RankingChanged, RisingChanged, MastersChanged --> TaskManager, Remover
//! HeartbeatSupervisor --- HealthChanged ----------------------------------> TaskManager, Remover
//! CfwWorker (each) ------ HostObserved, HostConduct ----------------------> TaskManager, Remover
//! HeartbeatSupervisor --- Probe ------------------------------------------> CfwWorker
//! TaskManager, Remover -- LookUpMasters ----------------------------------> Catalog
//! TaskManager ----------- Refresh, CopyArrived ---------------------------> CfwWorker
//! Remover --------------- Refresh, DeleteCopy ----------------------------> CfwWorker
//! ```
//!
//! An actor that panicked is another one after its restart: it is subscribed, or subscribes
//! others, anew (`joined`). Views stay where they are: every incarnation publishes to the same
//! place.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use reelyard_actors::catalog::view::CatalogView;
use reelyard_actors::catalog::{self, Catalog};
use reelyard_actors::cfw_worker::{self, CfwWorker, HostView, HostViewHandle};
use reelyard_actors::clock::Clock;
use reelyard_actors::heartbeat::{self, AddHost, HeartbeatSupervisor, HeartbeatViewHandle};
use reelyard_actors::host::{HostAddr, HostRole};
use reelyard_actors::journal::Journal;
use reelyard_actors::manager::ManagerBadge;
use reelyard_actors::names::NameTable;
use reelyard_actors::remover::{self, Remover, RemoverBoard};
use reelyard_actors::supervision::{Supervised, Supervision, SupervisionStatus};
use reelyard_actors::task_manager::{Collaborators, TaskBoard, TaskManager};

use super::settings;
use crate::config::NodeConfig;

/// The actors of a node.
pub struct Wiring {
    /// Reads the inputs.
    pub catalog: Supervised<Catalog>,
    /// What the Catalog shows of itself.
    pub catalog_view: Arc<ArcSwap<CatalogView>>,
    /// Plans copies and follows them.
    pub task_manager: Supervised<TaskManager>,
    /// What the TaskManager shows of itself.
    pub task_board: TaskBoard,
    /// Removes copies.
    pub remover: Supervised<Remover>,
    /// What the Remover shows of itself.
    pub remover_board: RemoverBoard,
    /// Knows which hosts answer.
    pub heartbeat: Supervised<HeartbeatSupervisor>,
    /// What the HeartbeatSupervisor shows of itself.
    pub heartbeat_view: HeartbeatViewHandle,
    /// Calls the hosts, one actor each.
    pub hosts: BTreeMap<HostAddr, Host>,
}

/// The actor of one host.
pub struct Host {
    /// What the host is for.
    pub role: HostRole,
    /// Calls it.
    pub worker: Supervised<CfwWorker>,
    /// What is known of it.
    pub view: HostViewHandle,
}

/// The actors once all are started: what a restarted one is joined to.
#[derive(Clone, Default)]
struct Others(Arc<OnceLock<std::sync::Weak<Wiring>>>);

impl Others {
    /// What is done with every incarnation of an actor. The first ones start before all others are
    /// there, and are joined together once they are.
    fn joined(
        &self,
        join: impl Fn(&Wiring) + Send + Sync + 'static,
    ) -> Arc<dyn Fn() + Send + Sync> {
        let others = self.clone();
        Arc::new(move || {
            if let Some(wiring) = others.0.get().and_then(std::sync::Weak::upgrade) {
                join(&wiring);
            }
        })
    }
}

/// What every actor is given.
struct Parts<'a> {
    config: &'a NodeConfig,
    names: &'a NameTable,
    clock: &'a Clock,
    badge: ManagerBadge,
    others: Others,
}

impl Wiring {
    /// Starts the actors on the present arbiter and joins them.
    pub fn start(
        config: &NodeConfig,
        journal: &Journal,
        calls: reqwest::Client,
        names: &NameTable,
        clock: &Clock,
    ) -> Arc<Self> {
        let badge = ManagerBadge::of_node(config.node_id.get());
        let parts = Parts { config, names, clock, badge, others: Others::default() };
        let (catalog, catalog_view) = parts.start_catalog();
        let (heartbeat, heartbeat_view) = parts.start_heartbeat();
        let start_host = |(host, role)| (host, parts.start_host(host, role, calls.clone()));
        let hosts: BTreeMap<HostAddr, Host> = config.yard().into_iter().map(start_host).collect();
        let (task_manager, task_board) = parts.start_task_manager(journal, &catalog, &hosts);
        let (remover, remover_board) =
            parts.start_remover(journal, &catalog, &hosts, &task_board);
        let wiring = Arc::new(Wiring {
            catalog,
            catalog_view,
            task_manager,
            task_board,
            remover,
            remover_board,
            heartbeat,
            heartbeat_view,
            hosts,
        });
        // Set once, here: an actor that restarts from now on joins itself.
        let _ = parts.others.0.set(Arc::downgrade(&wiring));
        wiring.join_all();
        wiring
    }

    /// Stops whoever decides or calls hosts; what they committed is the journal's.
    pub async fn stop(&self) {
        self.task_manager.stop().await;
        self.remover.stop().await;
        self.heartbeat.stop().await;
        self.catalog.stop().await;
        for host in self.hosts.values() {
            host.worker.stop().await;
        }
    }

    /// How every actor is.
    pub fn statuses(&self) -> Vec<SupervisionStatus> {
        let alone = [
            self.catalog.status(),
            self.heartbeat.status(),
            self.task_manager.status(),
            self.remover.status(),
        ];
        let hosts = self.hosts.values().map(|host| host.worker.status());
        alone.into_iter().chain(hosts).collect()
    }

    /// Everything is joined once, when all are there.
    fn join_all(&self) {
        self.join_deciders();
        for (addr, host) in &self.hosts {
            self.probe(*addr, host);
        }
    }

    /// Everybody tells those who decide: the TaskManager and the Remover. Whoever is told already
    /// is told what is known once more.
    fn join_deciders(&self) {
        self.join_catalog();
        self.subscribe_to_heartbeat();
        for host in self.hosts.values() {
            self.join_host(host);
        }
    }

    fn join_catalog(&self) {
        let (task_manager, remover) = (self.task_manager.addr(), self.remover.addr());
        self.catalog.addr().do_send(catalog::Subscribe(catalog::Subscribers {
            ranking: vec![task_manager.clone().recipient(), remover.clone().recipient()],
            rising: vec![task_manager.clone().recipient(), remover.clone().recipient()],
            masters: vec![task_manager.recipient(), remover.recipient()],
        }));
    }

    /// The HeartbeatSupervisor probes every host, and tells those who decide.
    fn join_heartbeat(&self) {
        for (addr, host) in &self.hosts {
            self.probe(*addr, host);
        }
        self.subscribe_to_heartbeat();
    }

    fn subscribe_to_heartbeat(&self) {
        let told = [self.task_manager.addr().recipient(), self.remover.addr().recipient()];
        for to in told {
            self.heartbeat.addr().do_send(heartbeat::Subscribe { to });
        }
    }

    fn probe(&self, host: HostAddr, actor: &Host) {
        let probe = actor.worker.addr().recipient();
        self.heartbeat.addr().do_send(AddHost { host, probe });
    }

    fn join_host(&self, host: &Host) {
        for to in [self.task_manager.addr().recipient(), self.remover.addr().recipient()] {
            host.worker.addr().do_send(cfw_worker::Subscribe { to });
        }
        for to in [self.task_manager.addr().recipient(), self.remover.addr().recipient()] {
            host.worker.addr().do_send(cfw_worker::SubscribeToConduct { to });
        }
    }
}

impl Parts<'_> {
    fn supervision(
        &self,
        name: &str,
        join: impl Fn(&Wiring) + Send + Sync + 'static,
    ) -> Supervision {
        Supervision { started: self.others.joined(join), ..Supervision::of(name) }
    }

    fn start_catalog(&self) -> (Supervised<Catalog>, Arc<ArcSwap<CatalogView>>) {
        let view = Arc::<ArcSwap<CatalogView>>::default();
        let (settings, names, clock) =
            (settings::catalog(self.config), self.names.clone(), self.clock.clone());
        let shown = view.clone();
        let actor =
            Supervised::start(self.supervision("catalog", Wiring::join_catalog), move || {
                let nobody = catalog::Subscribers::default();
                Catalog::new(settings.clone(), names.clone(), clock.clone(), nobody)
                    .publishing_to(shown.clone())
            });
        (actor, view)
    }

    fn start_heartbeat(&self) -> (Supervised<HeartbeatSupervisor>, HeartbeatViewHandle) {
        let view = HeartbeatViewHandle::default();
        let (settings, clock) = (settings::heartbeat(self.config), self.clock.clone());
        let shown = view.clone();
        let supervision = self.supervision("heartbeat", Wiring::join_heartbeat);
        let actor = Supervised::start(supervision, move || {
            HeartbeatSupervisor::new(settings, clock.clone()).publishing_to(shown.clone())
        });
        (actor, view)
    }

    fn start_host(&self, addr: HostAddr, role: HostRole, calls: reqwest::Client) -> Host {
        let view = HostViewHandle::new(ArcSwap::from_pointee(HostView::unasked(addr, role)));
        let (settings, names, clock) =
            (settings::calls(self.config), self.names.clone(), self.clock.clone());
        let shown = view.clone();
        let badge = self.badge.clone();
        let supervision = self.supervision(&format!("cfw_worker {addr}"), move |wiring| {
            if let Some(host) = wiring.hosts.get(&addr) {
                wiring.probe(addr, host);
                wiring.join_host(host);
            }
        });
        let worker = Supervised::start(supervision, move || {
            let (settings, calls) = (settings.clone(), calls.clone());
            CfwWorker::new(addr, role, settings, calls, names.clone(), clock.clone())
                .publishing_to(shown.clone())
                .speaking_as(badge.clone())
        });
        Host { role, worker, view }
    }

    fn start_remover(
        &self,
        journal: &Journal,
        catalog: &Supervised<Catalog>,
        hosts: &BTreeMap<HostAddr, Host>,
        tasks: &TaskBoard,
    ) -> (Supervised<Remover>, RemoverBoard) {
        let board = RemoverBoard::default();
        let settings = settings::remover(self.config);
        let (names, clock, journal) = (self.names.clone(), self.clock.clone(), journal.clone());
        let routes = |host: &Host| remover::HostRoutes {
            refresh: host.worker.route(),
            delete: host.worker.route(),
        };
        let collaborators = remover::Collaborators {
            look_up: catalog.route(),
            hosts: hosts.iter().map(|(addr, host)| (*addr, routes(host))).collect(),
            tasks: tasks.clone(),
        };
        let shown = board.clone();
        let actor =
            Supervised::start(self.supervision("remover", Wiring::join_deciders), move || {
                let (settings, names, clock) = (settings.clone(), names.clone(), clock.clone());
                let (journal, collaborators) = (journal.clone(), collaborators.clone());
                Remover::new(settings, names, clock, journal, collaborators, shown.clone())
            });
        (actor, board)
    }

    fn start_task_manager(
        &self,
        journal: &Journal,
        catalog: &Supervised<Catalog>,
        hosts: &BTreeMap<HostAddr, Host>,
    ) -> (Supervised<TaskManager>, TaskBoard) {
        let view = TaskBoard::default();
        let (settings, yard) = (settings::tasks(self.config), settings::hosts(self.config));
        let (names, clock, journal) = (self.names.clone(), self.clock.clone(), journal.clone());
        let collaborators = Collaborators {
            look_up: catalog.route(),
            refresh: hosts.iter().map(|(addr, host)| (*addr, host.worker.route())).collect(),
            arrived: hosts.iter().map(|(addr, host)| (*addr, host.worker.route())).collect(),
        };
        let (shown, badge) = (view.clone(), self.badge.clone());
        let supervision = self.supervision("task_manager", Wiring::join_deciders);
        let actor = Supervised::start(supervision, move || {
            let (settings, yard, names) = (settings.clone(), yard.clone(), names.clone());
            let (clock, journal, collaborators) =
                (clock.clone(), journal.clone(), collaborators.clone());
            TaskManager::new(settings, &yard, names, clock, journal, collaborators, shown.clone())
                .speaking_as(badge.clone())
        });
        (actor, view)
    }
}
