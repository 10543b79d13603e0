//! The process of a node: its actors, as in production. To kill it is to drop it.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;

use actix::{Actor, Addr, Context, Handler, Message};
use reelyard_boxes::box_lease::{BoxLease, BoxLeaseSettings, BoxViewHandle};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::Clock;
use reelyard_core::event::PieceId;
use reelyard_core::host::HostAddr;
use reelyard_core::names::NameTable;
use reelyard_core::secret_id::IdSource;
use reelyard_core::supervision::Route;
use reelyard_protocol::boxes::BoxHosts;
use reelyard_replication::{Leadership, LogHandle, Owner};
use reelyard_shares::share_expiry::{ShareExpiry, ShareExpirySettings, ShareViewHandle};
use reelyard_yard::cfw_worker::{CopyArrived, DeleteCopy, HostRoutes, Refresh};
use reelyard_yard::remover::{Remover, RemoverCollaborators};
use reelyard_yard::task_manager::{TaskCollaborators, TaskManager, TaskManagerView};
use tokio::sync::{Notify, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::agents::{SimulatedBoxLink, SimulatedCatalog, SimulatedHostAgent, SimulatedLog};
use super::outbox::ProcessOutbox;
use crate::simulation::clients::visitor::root;
use crate::simulation::environment::runtime::CountedTask;
use crate::simulation::scene::Scene;

/// An owner: its present address, and the task to end for a panic.
pub struct RunningOwner<A: Actor> {
    /// The address of the present incarnation.
    pub addr: Addr<A>,
    task: AbortHandle,
}

/// The parts from which each incarnation of an owner is built.
pub struct OwnerParts {
    scene: Arc<Scene>,
    /// The clock of the process.
    pub clock: Clock,
    /// The file names of the process.
    pub names: NameTable,
    log: LogHandle,
    task_collaborators: TaskCollaborators,
    remover_collaborators: RemoverCollaborators,
    box_hosts: BoxHosts,
    /// The read view of the TaskManager.
    pub tasks_view: ViewHandle<TaskManagerView>,
    /// The read view of the ShareExpiryActor.
    pub shares_view: ShareViewHandle,
    /// The read view of the BoxLeaseActor.
    pub boxes_view: BoxViewHandle,
}

impl OwnerParts {
    fn task_manager(&self, rng: &mut fastrand::Rng) -> TaskManager {
        let task_manager = TaskManager::new(
            self.scene.settings.clone(),
            &self.scene.host_settings(),
            self.names.clone(),
            self.clock.clone(),
            self.log.clone(),
            self.task_collaborators.clone(),
            self.tasks_view.clone(),
        );
        task_manager.with_id_source(IdSource::seeded(rng.u64(..)))
    }

    fn remover(&self, rng: &mut fastrand::Rng) -> Remover {
        let remover = Remover::new(
            self.scene.removals.clone(),
            self.names.clone(),
            self.clock.clone(),
            self.log.clone(),
            self.remover_collaborators.clone(),
            self.task_collaborators.removals.clone(),
        );
        remover.with_id_source(IdSource::seeded(rng.u64(..)))
    }

    fn shares(&self, rng: &mut fastrand::Rng) -> ShareExpiry {
        let settings = ShareExpirySettings {
            roots: BTreeSet::from([root()]),
            ..ShareExpirySettings::default()
        };
        let (clock, log) = (self.clock.clone(), self.log.clone());
        let shares = ShareExpiry::new(settings, clock, log, self.shares_view.clone());
        shares.with_id_source(IdSource::seeded(rng.u64(..)))
    }

    fn boxes(&self, rng: &mut fastrand::Rng) -> BoxLease {
        let boxes = BoxLease::new(
            BoxLeaseSettings::default(),
            self.clock.clone(),
            self.log.clone(),
            self.box_hosts.clone(),
            self.boxes_view.clone(),
        );
        boxes.with_id_source(IdSource::seeded(rng.u64(..)))
    }
}

/// All that runs in the process of a node. It dereferences to the parts of its owners.
pub struct NodeProcess {
    tasks: JoinSet<()>,
    /// The requests of its actors.
    pub outbox: ProcessOutbox,
    /// Shows its owners who leads.
    pub leadership: watch::Sender<Leadership>,
    /// The TaskManager.
    pub task_manager: RunningOwner<TaskManager>,
    /// The owner of removals.
    pub remover: RunningOwner<Remover>,
    /// The ShareExpiryActor.
    pub shares: RunningOwner<ShareExpiry>,
    /// The BoxLeaseActor.
    pub boxes: RunningOwner<BoxLease>,
    parts: OwnerParts,
    rng: fastrand::Rng,
}

impl Deref for NodeProcess {
    type Target = OwnerParts;

    fn deref(&self) -> &OwnerParts {
        &self.parts
    }
}

impl NodeProcess {
    /// Starts all actors. They draw their ids from `rng`.
    pub fn start(
        scene: &Arc<Scene>,
        clock: Clock,
        wake: &Arc<Notify>,
        mut rng: fastrand::Rng,
    ) -> Self {
        let mut tasks = JoinSet::new();
        let outbox = ProcessOutbox::new(wake);
        let leadership = watch::Sender::new(Leadership::Nobody);
        let log = LogHandle::from(SimulatedLog::new(outbox.clone(), leadership.subscribe()));
        let catalog = start_actor(&mut tasks, SimulatedCatalog(outbox.clone())).addr;
        let hosts: HashMap<HostAddr, Addr<SimulatedHostAgent>> = scene
            .hosts
            .iter()
            .map(|host| {
                let agent = SimulatedHostAgent { host: host.addr, outbox: outbox.clone() };
                (host.addr, start_actor(&mut tasks, agent).addr)
            })
            .collect();
        let hosts = Arc::new(hosts);
        let tasks_view = ViewHandle::default();
        let task_collaborators = TaskCollaborators {
            look_up: Route::fixed(catalog.clone().recipient()),
            refresh: routes::<Refresh>(&hosts),
            arrived: routes::<CopyArrived>(&hosts),
            removals: ViewHandle::default(),
        };
        let remover_collaborators = RemoverCollaborators {
            look_up: Route::fixed(catalog.recipient()),
            refresh: routes::<Refresh>(&hosts),
            delete: routes::<DeleteCopy>(&hosts),
            tasks: tasks_view.clone(),
        };
        let link = start_actor(&mut tasks, SimulatedBoxLink(outbox.clone())).addr;
        let box_hosts = BoxHosts {
            run: Route::fixed(link.clone().recipient()),
            look: Route::fixed(link.clone().recipient()),
            adopt: Route::fixed(link.clone().recipient()),
            probe: Route::fixed(link.recipient()),
        };
        let parts = OwnerParts {
            scene: Arc::clone(scene),
            clock,
            names: NameTable::new(),
            log,
            task_collaborators,
            remover_collaborators,
            box_hosts,
            tasks_view,
            shares_view: ShareViewHandle::default(),
            boxes_view: BoxViewHandle::default(),
        };
        let task_manager = start_actor(&mut tasks, parts.task_manager(&mut rng));
        let remover = start_actor(&mut tasks, parts.remover(&mut rng));
        let shares = start_actor(&mut tasks, parts.shares(&mut rng));
        let boxes = start_actor(&mut tasks, parts.boxes(&mut rng));
        NodeProcess { tasks, outbox, leadership, task_manager, remover, shares, boxes, parts, rng }
    }

    /// Ends the owner of a piece in the middle of its work, and starts the next incarnation.
    pub fn restart_owner(&mut self, piece: PieceId) {
        let NodeProcess { tasks, parts, rng, .. } = self;
        match piece {
            PieceId::Boxes => {
                self.boxes.task.abort();
                self.boxes = start_actor(tasks, parts.boxes(rng));
            }
            PieceId::Shares => {
                self.shares.task.abort();
                self.shares = start_actor(tasks, parts.shares(rng));
            }
            PieceId::Removals => {
                self.remover.task.abort();
                self.remover = start_actor(tasks, parts.remover(rng));
            }
            _ => {
                self.task_manager.task.abort();
                self.task_manager = start_actor(tasks, parts.task_manager(rng));
            }
        }
    }

    /// Runs a future until it or the process ends.
    pub fn spawn(&mut self, future: impl Future<Output = ()> + 'static) -> AbortHandle {
        self.tasks.spawn_local(CountedTask::new(future))
    }

    /// The text of a panic since the last call.
    pub fn panicked(&mut self) -> Option<String> {
        while let Some(ended) = self.tasks.try_join_next() {
            match ended {
                Ok(()) => {}
                Err(error) if error.is_cancelled() => {}
                Err(error) => return Some(error.to_string()),
            }
        }
        None
    }
}

fn start_actor<A: Actor<Context = Context<A>>>(
    tasks: &mut JoinSet<()>,
    actor: A,
) -> RunningOwner<A> {
    let running = Context::new().into_future(actor);
    let addr = running.address();
    let task = tasks.spawn_local(CountedTask::new(running));
    RunningOwner { addr, task }
}

fn routes<M>(hosts: &Arc<HashMap<HostAddr, Addr<SimulatedHostAgent>>>) -> HostRoutes<M>
where
    M: Message + Send + 'static,
    M::Result: Send,
    SimulatedHostAgent: Handler<M>,
{
    let hosts = Arc::clone(hosts);
    HostRoutes::new(move |host| hosts.get(&host).map(|agent| agent.clone().recipient()))
}
