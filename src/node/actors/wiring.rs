//! The actors of a node, and the messages between them.
//!
//! ```text
//! Catalog --------------- RankingChanged, RisingChanged, MastersChanged --> TaskManager, Remover
//! HeartbeatSupervisor --- HealthChanged ----------------------------------> TaskManager, Remover
//! CfwWorker (each) ------ HostObserved, HostCallStatus ----------------------> TaskManager, Remover
//! HeartbeatSupervisor --- Probe ------------------------------------------> CfwWorker
//! TaskManager, Remover -- LookUpMasters ----------------------------------> Catalog
//! TaskManager ----------- Refresh, CopyArrived ---------------------------> CfwWorker
//! Remover --------------- Refresh, DeleteCopy ----------------------------> CfwWorker
//! Webhook (each) -------- GetDeliveryCursor, FetchNotifications, RecordDelivery --> ShareExpiry
//! BoxLease -------------- RunHook, LookAtBoxes ---------------------------> the worker of a pool
//! ShareFiles ------------ BeginMove, SettleMove, EndRemoved --------------> ShareExpiry
//! ```
//!
//! There is one CfwWorker per recorded host, as the TaskManager publishes them (`host_membership`).
//!
//! An actor that panicked has a new incarnation after its restart: its subscriptions are made again
//! (`joined`). Views stay: every incarnation publishes to the same place, and reads the current
//! configuration.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use reelyard_access::access::{AccessActor, AccessView};
use reelyard_api::ChangeEvent;
use reelyard_core::actor_parts::{Observer, ViewHandle};
use reelyard_core::change_feed::Feed;
use reelyard_core::clock::Clock;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::manager::ManagerIdentity;
use reelyard_core::names::NameTable;
use reelyard_core::supervision::{Supervised, Supervision, SupervisionStatus};
use reelyard_core::task_threads::TaskThreads;
use reelyard_core::token::WorkerKeys;
use reelyard_journal::Journal;
use reelyard_replication::Owner;
use reelyard_settings::cluster_settings::{ClusterSettingsActor, ClusterSettingsView};
use reelyard_shares::share_expiry::{ShareExpiry, ShareViewHandle};
use reelyard_shares::share_files::{FilesElsewhere, ShareFiles, ShareFilesView, SharedDirs};
use reelyard_shares::webhook;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::catalog::{self, Catalog};
use reelyard_yard::cfw_worker::{self, CfwWorker, CfwWorkerView};
use reelyard_yard::heartbeat::{self, HeartbeatSupervisor, HeartbeatView, WatchHost};
use reelyard_yard::remover::{self, Remover, RemoverView};
use reelyard_yard::task_manager::{HostRoster, TaskCollaborators, TaskManager, TaskManagerView};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::boxes::BoxServices;
use super::host_actors::{HostActor, HostActors};
use super::webhook_actors::WebhookActors;
use super::{leadership, share_files};
use crate::node::live_config::LiveConfig;
use crate::node::node_clocks::NodeClocks;
use crate::node::settings;

/// How long a stop waits for the checkpoint of demand: a mount with logs may hang.
const LONGEST_SAVE: Duration = Duration::from_secs(10);

/// The actors of a node.
pub struct Wiring {
    /// Reads the inputs: ranking, masters and event log.
    pub catalog: Supervised<Catalog>,
    /// Read view of the ranking and the inputs.
    pub catalog_view: ViewHandle<CatalogView>,
    /// Plans copies and tracks them.
    pub task_manager: Supervised<TaskManager>,
    /// Read view of the tasks, hosts and plans.
    pub task_views: ViewHandle<TaskManagerView>,
    /// The hosts on record.
    pub host_roster: ViewHandle<Option<HostRoster>>,
    /// Removes copies.
    pub remover: Supervised<Remover>,
    /// Read view of the pins, removals and their history.
    pub remover_views: ViewHandle<RemoverView>,
    /// Owns shares and their deadlines.
    pub share_expiry: Supervised<ShareExpiry>,
    /// View of the shares, for lookups.
    pub share_views: ShareViewHandle,
    /// The clock by which shares end.
    pub share_clock: Clock,
    /// Send events of shares to webhooks.
    pub hooks: WebhookActors,
    /// Moves shared files, and detects missing ones.
    pub share_files: Supervised<ShareFiles>,
    /// View of the ShareFilesActor.
    pub share_files_views: ViewHandle<ShareFilesView>,
    /// Owns users, tokens and sessions.
    pub access: Supervised<AccessActor>,
    /// Read view of users, tokens and sessions, which authenticates callers.
    pub access_views: ViewHandle<AccessView>,
    /// Owns the settings that the cluster has on record.
    pub settings: Supervised<ClusterSettingsActor>,
    /// Read view of the settings on record.
    pub settings_views: ViewHandle<ClusterSettingsView>,
    /// The BoxLeaseActor and its parts.
    pub boxes: BoxServices,
    /// Probes the hosts.
    pub heartbeat: Supervised<HeartbeatSupervisor>,
    /// View of the HeartbeatSupervisor.
    pub heartbeat_view: ViewHandle<HeartbeatView>,
    /// One actor per host.
    pub hosts: HostActors,
    /// Publishes changes to event listeners.
    pub changes: Feed<ChangeEvent>,
    pub(super) parts: ActorParts,
    /// The task that follows the recorded hosts.
    following: Mutex<Option<JoinHandle<()>>>,
}

/// The wiring, once all actors are started. A restarted actor uses it to be joined.
#[derive(Clone, Default)]
struct WiringHandle(Arc<OnceLock<Weak<Wiring>>>);

impl WiringHandle {
    /// Called for every incarnation of an actor. The first incarnations start before all actors
    /// exist, and are joined together afterwards.
    fn joined(
        &self,
        join: impl Fn(&Wiring) + Send + Sync + 'static,
    ) -> Arc<dyn Fn() + Send + Sync> {
        let others = self.clone();
        Arc::new(move || {
            if let Some(wiring) = others.0.get().and_then(Weak::upgrade) {
                join(&wiring);
            }
        })
    }
}

/// Parts that every actor gets.
pub(super) struct ActorParts {
    pub(super) live: LiveConfig,
    names: NameTable,
    clock: Clock,
    clocks: NodeClocks,
    identity: ManagerIdentity,
    changes: Feed<ChangeEvent>,
    keys: WorkerKeys,
    /// Where the calls of all hosts run. One thread for all of them wakes less often than a pool.
    host_calls: TaskThreads,
    /// Whether this node leads, and so reads its hosts.
    leads: Arc<AtomicBool>,
    others: WiringHandle,
}

impl ActorParts {
    /// The parts of the node with this journal. Begins to publish who leads.
    fn of(
        live: &LiveConfig,
        journal: &Journal,
        names: &NameTable,
        clocks: &NodeClocks,
        host_calls: TaskThreads,
        access_views: &ViewHandle<AccessView>,
    ) -> Self {
        let clock = clocks.own.clone();
        let changes = Feed::new(&clock);
        actix_rt::spawn(leadership::publish_leadership(
            journal.clone(),
            changes.clone(),
            clock.clone(),
        ));
        leadership::mark_pieces_current(journal, &changes);
        let of_keys = access_views.clone();
        ActorParts {
            live: live.clone(),
            names: names.clone(),
            clock,
            clocks: clocks.clone(),
            identity: ManagerIdentity::of_node(journal.identity().number),
            changes,
            keys: WorkerKeys::new(move |host| of_keys.load().worker_key(host)),
            host_calls,
            leads: Arc::default(),
            others: WiringHandle::default(),
        }
    }

    fn start_hooks(
        &self,
        journal: &Journal,
        share_expiry: &Supervised<ShareExpiry>,
        share_views: &ShareViewHandle,
    ) -> WebhookActors {
        let hooks = WebhookActors::new(
            self.clock.clone(),
            webhook::WebhookCollaborators {
                notifications: share_expiry.route(),
                cursor: share_expiry.route(),
                delivered: share_expiry.route(),
                views: share_views.clone(),
                leadership: journal.leadership(),
                body: |notification| serde_json::to_vec(&ChangeEvent::from(notification)),
            },
        );
        hooks.apply_config(&self.live.now());
        hooks
    }
}

impl Wiring {
    /// Starts the actors on the current arbiter and joins them. Actors of hosts start when the
    /// recorded hosts are known.
    ///
    /// # Errors
    ///
    /// The HTTP client for calls to workers cannot be created.
    pub fn start(
        live: &LiveConfig,
        journal: &Journal,
        names: &NameTable,
        clocks: &NodeClocks,
        shared: (&SharedDirs, &Arc<dyn FilesElsewhere>),
        host_calls: TaskThreads,
    ) -> Result<Arc<Self>, reqwest::Error> {
        let access_views: ViewHandle<AccessView> = ViewHandle::default();
        let parts = ActorParts::of(live, journal, names, clocks, host_calls, &access_views);
        let (catalog, catalog_view) = parts.start_catalog();
        let (heartbeat, heartbeat_view) = parts.start_heartbeat();
        let hosts = HostActors::default();
        let remover_views = ViewHandle::default();
        let (task_views, host_roster) = (ViewHandle::default(), ViewHandle::default());
        let task_manager = parts.start_task_manager(
            journal,
            &catalog,
            &hosts,
            &remover_views,
            (&task_views, &host_roster),
        );
        let remover = parts.start_remover(journal, &catalog, &hosts, &task_views, &remover_views);
        let (share_expiry, share_views) = parts.start_share_expiry(journal);
        let hooks = parts.start_hooks(journal, &share_expiry, &share_views);
        let (share_files, share_files_views) = share_files::start(
            (&parts.live, &parts.clocks.shares),
            journal,
            &share_expiry,
            &share_views,
            shared,
        );
        let access = parts.start_access(journal, &access_views);
        let settings_views = ViewHandle::default();
        let settings = parts.start_cluster_settings(journal, &settings_views);
        let boxes = BoxServices::start(
            &parts.live,
            &parts.clocks.cluster,
            journal,
            &parts.changes,
            &parts.identity,
            &parts.keys,
        )?;
        let others = parts.others.clone();
        let wiring = Arc::new(Wiring {
            catalog,
            catalog_view,
            task_manager,
            task_views,
            host_roster,
            remover,
            remover_views,
            share_expiry,
            share_views,
            share_clock: clocks.shares.clone(),
            hooks,
            share_files,
            share_files_views,
            access,
            access_views,
            settings,
            settings_views,
            boxes,
            heartbeat,
            heartbeat_view,
            hosts,
            changes: parts.changes.clone(),
            parts,
            following: Mutex::default(),
        });
        // Set once, here: an actor that restarts after this joins itself.
        let _ = others.0.set(Arc::downgrade(&wiring));
        wiring.join_catalog();
        Ok(wiring)
    }

    /// Stops all actors that decide or call hosts. Committed changes are safe in the journal.
    pub async fn stop(&self) {
        if let Some(following) = self.following().take() {
            following.abort();
        }
        self.task_manager.stop().await;
        self.remover.stop().await;
        self.hooks.stop().await;
        self.share_files.stop().await;
        self.share_expiry.stop().await;
        self.boxes.stop().await;
        self.access.stop().await;
        self.settings.stop().await;
        self.heartbeat.stop().await;
        // On a timeout the rows since the last checkpoint are read again at the next start.
        let _ = timeout(LONGEST_SAVE, self.catalog.ask(catalog::SaveDemand)).await;
        self.catalog.stop().await;
        for host in self.hosts.present().values() {
            host.worker.stop().await;
        }
    }

    /// Supervision state of every actor.
    pub fn statuses(&self) -> Vec<SupervisionStatus> {
        let alone = [
            self.catalog.status(),
            self.heartbeat.status(),
            self.task_manager.status(),
            self.remover.status(),
            self.share_expiry.status(),
            self.share_files.status(),
            self.access.status(),
            self.settings.status(),
            self.boxes.actor.status(),
            self.boxes.link.status(),
        ];
        let hosts = self.hosts.present();
        let hosts = hosts.values().map(|host| host.worker.status());
        alone.into_iter().chain(self.hooks.statuses()).chain(hosts).collect()
    }

    /// Subscribes the Remover to its sources. Existing subscribers get the current state again.
    fn join_remover(&self) {
        self.join_catalog();
        self.subscribe_to_heartbeat();
        for host in self.hosts.present().values() {
            self.join_host(host);
        }
    }

    /// Subscribes the TaskManager and the Remover to the Catalog, and sends it the destinations.
    fn join_catalog(&self) {
        let (task_manager, remover) = (self.task_manager.addr(), self.remover.addr());
        self.catalog.addr().do_send(catalog::SubscribeToCatalog(catalog::Subscribers {
            ranking: vec![task_manager.clone().recipient(), remover.clone().recipient()].into(),
            rising: vec![task_manager.clone().recipient(), remover.clone().recipient()].into(),
            masters: vec![task_manager.recipient(), remover.recipient()].into(),
        }));
        self.send_destinations();
    }

    /// Sends the recorded destinations to the Catalog, once they are known.
    pub(super) fn send_destinations(&self) {
        let roster = self.host_roster.load();
        let Some(roster) = roster.as_ref() else { return };
        let destinations = roster.hosts.iter().filter(|(_, record)| record.role.is_destination());
        let ips = destinations.map(|(addr, _)| addr.ip()).collect();
        self.catalog.addr().do_send(catalog::SetDestinations { ips });
    }

    /// Gives the HeartbeatSupervisor every host to probe, and its subscribers.
    fn join_heartbeat(&self) {
        for (addr, host) in self.hosts.present().iter() {
            self.probe(*addr, host);
        }
        self.subscribe_to_heartbeat();
    }

    pub(super) fn subscribe_to_heartbeat(&self) {
        for to in [self.task_manager.addr().recipient(), self.remover.addr().recipient()] {
            self.heartbeat.addr().do_send(heartbeat::SubscribeToHealth { to });
        }
    }

    pub(super) fn probe(&self, host: HostAddr, actor: &HostActor) {
        let probe = actor.worker.addr().recipient();
        let in_maintenance = actor.in_maintenance();
        self.heartbeat.addr().do_send(WatchHost { host, probe, in_maintenance });
    }

    pub(super) fn join_host(&self, host: &HostActor) {
        for to in [self.task_manager.addr().recipient(), self.remover.addr().recipient()] {
            host.worker.addr().do_send(cfw_worker::SubscribeToHost { to });
        }
        for to in [self.task_manager.addr().recipient(), self.remover.addr().recipient()] {
            host.worker.addr().do_send(cfw_worker::SubscribeToCallStatus { to });
        }
    }

    /// Lets all hosts be read, or only be probed. Hosts that are added later are treated the same.
    pub(super) fn set_reading(&self, on: bool) {
        self.parts.leads.store(on, Ordering::Relaxed);
        for host in self.hosts.present().values() {
            host.worker.addr().do_send(cfw_worker::SetHostReading { on });
        }
    }

    /// Registers the task that follows the recorded hosts, so that `stop` ends it.
    pub(super) fn set_following(&self, task: JoinHandle<()>) {
        *self.following() = Some(task);
    }

    fn following(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        // No code under this lock can panic during a change.
        self.following.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ActorParts {
    fn supervision(
        &self,
        name: &str,
        join: impl Fn(&Wiring) + Send + Sync + 'static,
    ) -> Supervision {
        Supervision { started: self.others.joined(join), ..Supervision::of(name) }
    }

    fn start_catalog(&self) -> (Supervised<Catalog>, ViewHandle<CatalogView>) {
        let view = ViewHandle::default();
        let (live, names, clock) = (self.live.clone(), self.names.clone(), self.clock.clone());
        let (view_handle, changes) = (view.clone(), self.changes.clone());
        let actor =
            Supervised::start(self.supervision("catalog", Wiring::join_catalog), move || {
                let nobody = catalog::Subscribers::default();
                let in_force = live.now();
                let checkpoint = in_force.config.data_dir.join(settings::DEMAND_CHECKPOINT);
                let settings = settings::catalog(&in_force.config);
                Catalog::new(settings, names.clone(), clock.clone(), nobody)
                    .keeping_demand_at(&checkpoint)
                    .publishing_to(view_handle.clone())
                    .with_change_feed(changes.publisher())
            });
        (actor, view)
    }

    fn start_heartbeat(&self) -> (Supervised<HeartbeatSupervisor>, ViewHandle<HeartbeatView>) {
        let view = ViewHandle::default();
        let (live, clock) = (self.live.clone(), self.clock.clone());
        let (view_handle, changes) = (view.clone(), self.changes.clone());
        let supervision = self.supervision("heartbeat", Wiring::join_heartbeat);
        let actor = Supervised::start(supervision, move || {
            let settings = settings::heartbeat(&live.now().config);
            HeartbeatSupervisor::new(settings, clock.clone())
                .publishing_to(view_handle.clone())
                .with_change_feed(changes.publisher())
        });
        (actor, view)
    }

    pub(super) fn start_host(
        &self,
        addr: HostAddr,
        role: HostRole,
        in_maintenance: bool,
    ) -> HostActor {
        let view = ViewHandle::new(CfwWorkerView::unasked(addr, role));
        let (live, names, clock) = (self.live.clone(), self.names.clone(), self.clock.clone());
        let (view_handle, identity) = (view.clone(), self.identity.clone());
        let (keys, threads) = (self.keys.clone(), self.host_calls.handle().clone());
        let supervision = self.supervision(&format!("cfw_worker {addr}"), move |wiring| {
            if let Some(host) = wiring.hosts.get(addr) {
                wiring.probe(addr, &host);
                wiring.join_host(&host);
            }
        });
        let in_maintenance = Arc::new(AtomicBool::new(in_maintenance));
        let (rests, leads) = (Arc::clone(&in_maintenance), Arc::clone(&self.leads));
        let worker = Supervised::start(supervision, move || {
            let in_force = live.now();
            let (settings, calls) = (settings::calls(&in_force.config), in_force.calls.clone());
            CfwWorker::new(addr, role, settings, calls, names.clone(), clock.clone())
                .publishing_to(view_handle.clone())
                .with_manager_identity(identity.clone())
                .with_keys(keys.clone())
                .calling_on(threads.clone())
                .in_maintenance(rests.load(Ordering::Relaxed))
                .reading(leads.load(Ordering::Relaxed))
        });
        HostActor { role, worker, view, in_maintenance }
    }

    fn start_remover(
        &self,
        journal: &Journal,
        catalog: &Supervised<Catalog>,
        hosts: &HostActors,
        tasks: &ViewHandle<TaskManagerView>,
        views: &ViewHandle<RemoverView>,
    ) -> Supervised<Remover> {
        let (live, names, clock) = (self.live.clone(), self.names.clone(), self.clock.clone());
        let journal = journal.clone();
        let collaborators = remover::RemoverCollaborators {
            look_up: catalog.route(),
            refresh: hosts.routes(),
            delete: hosts.routes(),
            tasks: tasks.clone(),
        };
        let (view_handle, changes) = (views.clone(), self.changes.clone());
        let supervision = self.supervision("remover", Wiring::join_remover);
        Supervised::start(supervision, move || {
            let settings = settings::remover(&live.now().config);
            let (names, clock) = (names.clone(), clock.clone());
            let (journal, collaborators) = (journal.clone(), collaborators.clone());
            Remover::new(settings, names, clock, journal, collaborators, view_handle.clone())
                .with_change_feed(changes.publisher())
        })
    }

    fn start_share_expiry(&self, journal: &Journal) -> (Supervised<ShareExpiry>, ShareViewHandle) {
        let views = ShareViewHandle::default();
        let (live, clock, journal) =
            (self.live.clone(), self.clocks.shares.clone(), journal.clone());
        let (view_handle, changes) = (views.clone(), self.changes.clone());
        let actor = Supervised::start(Supervision::of("share_expiry"), move || {
            let settings = settings::shares(&live.now().config);
            ShareExpiry::new(settings, clock.clone(), journal.clone(), view_handle.clone())
                .keeping_time_at(&live.now().config.data_dir.join(settings::SHARE_CLOCK))
                .with_change_feed(changes.publisher())
        });
        (actor, views)
    }

    fn start_access(
        &self,
        journal: &Journal,
        views: &ViewHandle<AccessView>,
    ) -> Supervised<AccessActor> {
        let (live, clock, journal) =
            (self.live.clone(), self.clocks.cluster.clone(), journal.clone());
        let view_handle = views.clone();
        Supervised::start(Supervision::of("access"), move || {
            let settings = settings::access(&live.now().config);
            AccessActor::new(settings, clock.clone(), journal.clone(), view_handle.clone())
        })
    }

    fn start_cluster_settings(
        &self,
        journal: &Journal,
        views: &ViewHandle<ClusterSettingsView>,
    ) -> Supervised<ClusterSettingsActor> {
        let (clock, journal, view_handle) = (self.clock.clone(), journal.clone(), views.clone());
        Supervised::start(Supervision::of("cluster_settings"), move || {
            ClusterSettingsActor::new(clock.clone(), journal.clone(), view_handle.clone())
        })
    }

    fn start_task_manager(
        &self,
        journal: &Journal,
        catalog: &Supervised<Catalog>,
        hosts: &HostActors,
        removals: &ViewHandle<RemoverView>,
        (view, roster): (&ViewHandle<TaskManagerView>, &ViewHandle<Option<HostRoster>>),
    ) -> Supervised<TaskManager> {
        let (live, names, clock) = (self.live.clone(), self.names.clone(), self.clock.clone());
        let journal = journal.clone();
        let collaborators = TaskCollaborators {
            look_up: catalog.route(),
            refresh: hosts.routes(),
            arrived: hosts.routes(),
            removals: removals.clone(),
        };
        let (view_handle, roster, identity) = (view.clone(), roster.clone(), self.identity.clone());
        let changes = self.changes.clone();
        // The sources of hosts are joined after it knows the hosts: see `host_membership`.
        let supervision = self.supervision("task_manager", Wiring::join_catalog);
        Supervised::start(supervision, move || {
            let in_force = live.now();
            let (settings, yard) =
                (settings::tasks(&in_force.config), settings::hosts(&in_force.config));
            let (names, clock) = (names.clone(), clock.clone());
            let (journal, collaborators) = (journal.clone(), collaborators.clone());
            TaskManager::new(
                settings,
                &yard,
                names,
                clock,
                journal,
                collaborators,
                view_handle.clone(),
            )
            .with_host_roster(roster.clone())
            .with_manager_identity(identity.clone())
            .with_change_feed(changes.publisher())
        })
    }
}
