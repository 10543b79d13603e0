//! The actor: its reactions to messages and to commands of the journal.

pub(in crate::remover) mod changes;
pub(in crate::remover) mod observations;
pub(in crate::remover) mod orders;
pub(in crate::remover) mod requests;
pub(in crate::remover) mod turn;

use std::collections::HashMap;

use actix::{Actor, Context};
use reelyard_core::clock::{Clock, Millis};
use reelyard_core::host::HostAddr;
use reelyard_core::names::NameTable;
use reelyard_core::supervision::Route;
use reelyard_replication::{LogHandle, Owner, Replicated};

use crate::catalog::LookUpMasters;
use crate::cfw_worker::{DeleteCopy, HostRoutes, Refresh};
use crate::changes::YardChange;
use crate::remover::{
    RemovalBook, RemovalRound, RemoverCounters, RemoverPieceContext, RemoverPolicy,
    RemoverSettings, RemoverView, RemoverViewHandle,
};
use crate::task_manager::TaskViewHandle;

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
    pub tasks: TaskViewHandle,
}

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
///
/// It must be subscribed to the Catalog's `RankingChanged`, `RisingChanged`, `MastersChanged`,
/// every CfwWorker's `HostObserved` and `HostCallStatus`, and the HeartbeatSupervisor's
/// `HealthChanged`.
pub struct Remover {
    replica: Replicated<RemovalBook, YardChange>,
    policy: RemoverPolicy,
    clock: Clock,
    collaborators: RemoverCollaborators,
    view_handle: RemoverViewHandle,
    /// When the next round starts; none before this node led.
    next_round: Option<Millis>,
    /// Whether a round waits for hosts to confirm the copies to keep.
    confirming: bool,
    /// Hosts whose files are being read, or could not be read, and when the next try makes sense.
    refreshing: HashMap<HostAddr, Option<Millis>>,
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
        views: RemoverViewHandle,
    ) -> Self {
        Remover {
            replica: Replicated::new(RemovalBook::new(names), journal, clock.clone()),
            policy: RemoverPolicy::new(settings),
            clock,
            collaborators,
            view_handle: views,
            next_round: None,
            confirming: false,
            refreshing: HashMap::new(),
            last: None,
        }
    }

    /// The pure part and the state that it reads.
    fn at(&mut self, now: Millis) -> (&mut RemoverPolicy, RemoverPieceContext<'_>) {
        let Remover { policy, replica, .. } = self;
        (policy, RemoverPieceContext { book: replica.piece(), in_flight: replica.in_flight(), now })
    }

    fn build_view(&self) {
        let book = self.replica.piece();
        self.view_handle.publish(RemoverView {
            at: self.clock.now(),
            epoch: self.replica.epoch(),
            mode: self.policy.settings().mode,
            open: book.open().clone(),
            rooms_made: book.rooms_made(self.policy.settings(), self.clock.now()),
            pins: book.pins().clone(),
            doubts: book.doubts().clone(),
            history: book.history().clone(),
            last: self.last.clone(),
            counters: RemoverCounters {
                uncommitted: self.replica.uncommitted(),
                ..self.policy.counters
            },
        });
    }
}

impl Actor for Remover {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
    }
}
