//! The TaskManager plans copies and follows them to their end. It owns the tasks, the backoffs and
//! the placements (the files on each host, as last confirmed).
//!
//! Pure modules: the piece (`state`, `apply`, `host_record`, `snapshot`), the planner ([`plan`]),
//! the decisions (`change`, `reports`, `due`, `host_rules`, `inventory`), and the memory (`policy`,
//! `build_view`). Modules of the actor: this file, `orders` (commands of the journal), `requests`
//! and `host_requests` (requests of others), `observations` (reports of others), `turn` (all due
//! work, and one planning round).

mod apply;
mod backoff;
mod build_view;
mod by_hand;
mod change;
mod changes;
mod copy_history;
mod decision_context;
mod due;
mod ended_index;
mod event;
mod foreign_managers;
mod host_record;
mod host_requests;
mod host_roster;
mod host_rules;
mod hosts;
mod inventory;
mod liveness;
mod messages;
mod observations;
mod orders;
pub mod plan;
mod policy;
mod rates;
mod reports;
mod requests;
#[cfg(test)]
mod samples;
mod settings;
mod snapshot;
mod state;
mod time_out;
mod turn;
mod views;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Actor, ActorFutureExt, AsyncContext, Context};

pub use backoff::{BackingOff, Blamed};
pub use change::change_answer;
pub use copy_history::CopyRecord;
pub use decision_context::TaskDecisionContext;
pub use due::forgetting;
pub use event::{GivenUp, NewTask, TaskEnding, TaskEvent, TaskOutcome, TaskRefusal};
pub use foreign_managers::{OwnLeadership, Stranger, StrangerSign};
pub use host_record::HostRecord;
pub use host_roster::{HostRoster, HostRosterViewHandle};
pub use host_rules::HostRefused;
pub use hosts::{HostState, HostTable, Landed};
pub use inventory::next_difference;
pub use liveness::{TaskLiveness, TaskProgress};
pub use messages::*;
pub use policy::{AppliedEffects, Arrival, TaskPieceContext, TaskPolicy};
pub use reports::ReportsEffect;
pub use settings::{HostSetting, LinkRules, PlacementPolicy, PlanningMode, TaskSettings, Weights};
pub use state::{Placement, TaskBook, TasksById};
pub use views::*;

use crate::backoff::BackOff;
use crate::catalog::LookUpMasters;
use crate::cfw_worker::{CopyArrived, HostRoutes, Refresh};
use crate::change_feed::ChangeFeed;
use crate::clock::{Clock, Millis};
use crate::journal::{Journal, Piece, ReplicaHandle};
use crate::manager::ManagerIdentity;
use crate::names::NameTable;
use crate::remover::RemoverViewHandle;
use crate::supervision::Route;
use crate::turns::TurnTimer;

/// The actors that the TaskManager calls and notifies.
#[derive(Clone)]
pub struct TaskCollaborators {
    /// The Catalog, to check masters.
    pub look_up: Route<LookUpMasters>,
    /// Each destination's CfwWorker, to check what an old cfw claims.
    pub refresh: HostRoutes<Refresh>,
    /// Each destination's CfwWorker, which is notified of arrived copies.
    pub arrived: HostRoutes<CopyArrived>,
    /// The view of the Remover: the removals of each host.
    pub removals: RemoverViewHandle,
}

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
///
/// It wants to be subscribed to the Catalog's `RankingChanged`, `RisingChanged`, `MastersChanged`,
/// every CfwWorker's `HostObserved` and the HeartbeatSupervisor's `HealthChanged`.
pub struct TaskManager {
    replica: ReplicaHandle<TaskBook>,
    journal: Journal,
    policy: TaskPolicy,
    clock: Clock,
    collaborators: TaskCollaborators,
    view_handle: TaskViewHandle,
    /// When the next turn begins, and its timer.
    next_turn: TurnTimer,
    turn_took: Duration,
    manager_identity: Option<ManagerIdentity>,
    /// Which incarnation this is.
    incarnation: u64,
    /// Whether the piece is the present one, not one of the past on its way there.
    is_present: bool,
    changes: Option<ChangeFeed>,
    /// The backoffs in the last published change.
    back_offs_told: Arc<BTreeMap<Blamed, BackOff>>,
}

impl TaskManager {
    /// A TaskManager of these hosts; it registers itself with the journal when it starts.
    pub fn new(
        settings: TaskSettings,
        hosts: &[HostSetting],
        names: NameTable,
        clock: Clock,
        journal: Journal,
        collaborators: TaskCollaborators,
        board: TaskViewHandle,
    ) -> Self {
        TaskManager {
            replica: ReplicaHandle::new(TaskBook::new(names), journal.clone()),
            journal,
            policy: TaskPolicy::new(settings, hosts),
            clock,
            collaborators,
            next_turn: TurnTimer::default(),
            turn_took: Duration::ZERO,
            manager_identity: None,
            changes: None,
            back_offs_told: Arc::default(),
            incarnation: board.host_roster().new_incarnation(),
            is_present: false,
            view_handle: board,
        }
    }

    /// Fills in `badge` once the id of the cluster is known.
    pub fn with_manager_identity(mut self, badge: ManagerIdentity) -> Self {
        self.manager_identity = Some(badge);
        self
    }

    /// Publishes changes on `feed` from now on.
    pub fn with_change_feed(mut self, feed: ChangeFeed) -> Self {
        self.changes = Some(feed);
        self
    }

    /// The policy and the context of a decision at `now`.
    fn at(&mut self, now: Millis) -> (&mut TaskPolicy, TaskPieceContext<'_>) {
        let TaskManager { policy: dispatcher, replica: seat, .. } = self;
        (dispatcher, TaskPieceContext { book: seat.piece(), in_flight: seat.in_flight(), now })
    }
}

impl Actor for TaskManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.journal.register(TaskBook::ID, ctx.address().recipient());
        let journal = self.journal.clone();
        let caught_up = async move { journal.caught_up(TaskBook::ID).await };
        ctx.spawn(wrap_future::<_, Self>(caught_up).map(|is_present, manager, _| {
            manager.is_present = is_present;
            manager.publish_view();
        }));
        self.publish_view();
    }
}
