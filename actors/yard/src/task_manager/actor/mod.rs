//! The actor: its reactions to messages and to commands of the journal.

pub(in crate::task_manager) mod by_hand;
pub(in crate::task_manager) mod host_requests;
pub(in crate::task_manager) mod observations;
pub(in crate::task_manager) mod orders;
pub(in crate::task_manager) mod requests;
pub(in crate::task_manager) mod tick;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::backoff::BackOff;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::manager::ManagerIdentity;
use reelyard_core::names::NameTable;
use reelyard_core::supervision::Route;
use reelyard_replication::{LogHandle, OwnerCommands, Replicated};

use crate::catalog::LookUpMasters;
use crate::cfw_worker::{CopyArrived, HostRoutes, Refresh};
use crate::changes::YardChange;
use crate::remover::RemoverView;
use crate::task_manager::{
    Blamed, HostRoster, HostSetting, TaskBook, TaskManagerView, TaskPieceContext, TaskPolicy,
    TaskSettings,
};

/// The actors that the TaskManager calls and notifies.
#[derive(Clone)]
pub struct TaskCollaborators {
    /// The Catalog, to check masters.
    pub look_up: Route<LookUpMasters>,
    /// Each destination's CfwWorker, to check the reports of an old cfw.
    pub refresh: HostRoutes<Refresh>,
    /// Each destination's CfwWorker, which is notified of arrived copies.
    pub arrived: HostRoutes<CopyArrived>,
    /// The view of the Remover: the removals of each host.
    pub removals: ViewHandle<RemoverView>,
}

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
///
/// It must be subscribed to the Catalog's `RankingChanged`, `RisingChanged`, `MastersChanged`,
/// every CfwWorker's `HostObserved` and the HeartbeatSupervisor's `HealthChanged`.
pub struct TaskManager {
    replica: Replicated<TaskBook, TaskManagerView, YardChange>,
    policy: TaskPolicy,
    clock: Clock,
    collaborators: TaskCollaborators,
    host_roster: ViewHandle<Option<HostRoster>>,
    /// How long the last decisions and the last view took.
    decisions_took: Duration,
    view_took: Duration,
    manager_identity: Option<ManagerIdentity>,
    /// The number of the incarnation.
    incarnation: u64,
    /// The backoffs in the last published change.
    published_back_offs: Arc<BTreeMap<Blamed, BackOff>>,
}

impl TaskManager {
    /// A TaskManager of these hosts. It registers itself with the journal when it starts.
    pub fn new(
        settings: TaskSettings,
        hosts: &[HostSetting],
        names: NameTable,
        clock: Clock,
        journal: impl Into<LogHandle>,
        collaborators: TaskCollaborators,
        view: ViewHandle<TaskManagerView>,
    ) -> Self {
        TaskManager {
            replica: Replicated::new(TaskBook::new(names), journal, clock.clone(), view),
            policy: TaskPolicy::new(settings, hosts),
            clock,
            collaborators,
            decisions_took: Duration::ZERO,
            view_took: Duration::ZERO,
            manager_identity: None,
            published_back_offs: Arc::default(),
            incarnation: 1,
            host_roster: ViewHandle::default(),
        }
    }

    /// Publishes the hosts on record to `roster` from now on.
    pub fn with_host_roster(mut self, roster: ViewHandle<Option<HostRoster>>) -> Self {
        self.incarnation = HostRoster::next_incarnation(&roster);
        self.host_roster = roster;
        self
    }

    /// Fills in `identity` once the id of the cluster is known.
    pub fn with_manager_identity(mut self, identity: ManagerIdentity) -> Self {
        self.policy.input_guard.node = Some(identity.node());
        self.manager_identity = Some(identity);
        self
    }

    /// The policy and the context of a decision at `now`.
    fn at(&mut self, now: Millis) -> (&mut TaskPolicy, TaskPieceContext<'_>) {
        let TaskManager { policy, replica, .. } = self;
        (policy, TaskPieceContext { book: replica.piece(), in_flight: replica.in_flight(), now })
    }
}

impl Actor for TaskManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
    }
}
