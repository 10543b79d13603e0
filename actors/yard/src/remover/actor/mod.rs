//! The actor: its reactions to messages and to commands of the journal.

pub(in crate::remover) mod observations;
pub(in crate::remover) mod orders;
pub(in crate::remover) mod requests;
pub(in crate::remover) mod tick;

use actix::{Actor, Context};
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::names::NameTable;
use reelyard_core::supervision::Route;
use reelyard_replication::{LogHandle, OwnerCommands, Replicated};

use crate::catalog::LookUpMasters;
use crate::cfw_worker::{DeleteCopy, HostRoutes, Refresh};
use crate::changes::YardChange;
use crate::remover::{
    RemovalBook, RemovalRound, RemoverPieceContext, RemoverPolicy, RemoverSettings, RemoverView,
};
use crate::task_manager::TaskManagerView;

/// The actors and views that the Remover uses.
#[derive(Clone)]
pub struct RemoverCollaborators {
    /// The Catalog, to check masters.
    pub look_up: Route<LookUpMasters>,
    /// The CfwWorker of each destination, to read the files of the host.
    pub refresh: HostRoutes<Refresh>,
    /// Each destination's CfwWorker, to have it remove a copy.
    pub delete: HostRoutes<DeleteCopy>,
    /// The view of the TaskManager: the hosts of the yard and recent arrivals.
    pub tasks: ViewHandle<TaskManagerView>,
}

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
///
/// It must be subscribed to the Catalog's `RankingChanged`, `RisingChanged`, `MastersChanged`,
/// every CfwWorker's `HostObserved` and `HostCallStatus`, and the HeartbeatSupervisor's
/// `HealthChanged`.
pub struct Remover {
    replica: Replicated<RemovalBook, RemoverView, YardChange>,
    policy: RemoverPolicy,
    clock: Clock,
    collaborators: RemoverCollaborators,
    /// When the next round starts; none before this node led.
    next_round: Option<Millis>,
    /// Whether a round waits for hosts to confirm the copies to keep.
    confirming: bool,
    last: Option<RemovalRound>,
}

impl Remover {
    /// A Remover. It registers itself with the journal when it starts.
    pub fn new(
        settings: RemoverSettings,
        names: NameTable,
        clock: Clock,
        journal: impl Into<LogHandle>,
        collaborators: RemoverCollaborators,
        view: ViewHandle<RemoverView>,
    ) -> Self {
        Remover {
            replica: Replicated::new(RemovalBook::new(names), journal, clock.clone(), view),
            policy: RemoverPolicy::new(settings),
            clock,
            collaborators,
            next_round: None,
            confirming: false,
            last: None,
        }
    }

    /// The pure part and the state that it reads.
    fn at(&mut self, now: Millis) -> (&mut RemoverPolicy, RemoverPieceContext<'_>) {
        let Remover { policy, replica, .. } = self;
        (policy, RemoverPieceContext { book: replica.piece(), in_flight: replica.in_flight(), now })
    }
}

impl Actor for Remover {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
    }
}
