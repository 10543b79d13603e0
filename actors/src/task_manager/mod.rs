//! The TaskManager: plans copies and follows them to their end. It owns the tasks, the back-offs
//! and the placements (which host holds what, as last confirmed).
//!
//! Pure rooms: the piece (`state`, `apply`, `host_record`, `snapshot`), the planner ([`plan`]), the
//! decisions (`change`, `reports`, `due`, `host_rules`, `inventory`), and what is kept in memory and
//! made of everything that is told (`dispatcher`, `show`). Rooms with a mailbox: this file, `orders`
//! (the journal's), `requests` and `host_requests` (what others ask), `observations` (what others
//! tell), `turn` (one look at everything that is due, and one round of planning).

mod apply;
mod back_off;
mod by_hand;
mod change;
mod changes;
mod copy_history;
mod decide;
mod dispatcher;
mod due;
mod ended_index;
mod event;
mod host_record;
mod host_requests;
mod host_rules;
mod hosts;
mod inventory;
mod messages;
mod observations;
mod orders;
pub mod plan;
mod rates;
mod reports;
mod requests;
mod roll;
#[cfg(test)]
mod samples;
mod settings;
mod show;
mod signs;
mod snapshot;
mod state;
mod strangers;
mod time_out;
mod turn;
mod views;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use actix::fut::wrap_future;
use actix::{Actor, ActorFutureExt, AsyncContext, Context};

pub use back_off::{BackingOff, Blamed};
pub use change::change_answer;
pub use copy_history::CopyRecord;
pub use decide::Deciding;
pub use dispatcher::{Arrival, Dispatcher, Followed, Standing};
pub use due::forgetting;
pub use event::{Ending, GivenUp, NewTask, TaskEvent, TaskOutcome, TaskRefusal};
pub use host_record::HostRecord;
pub use host_rules::HostRefused;
pub use hosts::{HostState, HostTable, Landed};
pub use inventory::next_difference;
pub use messages::*;
pub use reports::Heard;
pub use roll::{Roll, RollBoard};
pub use settings::{HostSetting, LinkRules, PlanningMode, Spread, TaskSettings, Weights};
pub use signs::{Sign, Signs};
pub use state::{Placement, TaskBook, Tasks};
pub use strangers::{Stranger, StrangerSign, Us};
pub use views::*;

use crate::back_off::BackOff;
use crate::catalog::LookUpMasters;
use crate::cfw_worker::{CopyArrived, HostRoutes, Refresh};
use crate::change_feed::ChangeFeed;
use crate::clock::{Clock, Millis};
use crate::journal::{Journal, Piece, Seat};
use crate::manager::ManagerBadge;
use crate::names::NameTable;
use crate::remover::RemoverBoard;
use crate::supervision::Route;
use crate::turns::NextTurn;

/// Whom the TaskManager asks and tells.
#[derive(Clone)]
pub struct Collaborators {
    /// The Catalog, for looks at masters.
    pub look_up: Route<LookUpMasters>,
    /// Each destination's CfwWorker, to check what an old cfw claims.
    pub refresh: HostRoutes<Refresh>,
    /// Each destination's CfwWorker, to tell of copies that arrived.
    pub arrived: HostRoutes<CopyArrived>,
    /// What the Remover shows: what it takes from hosts.
    pub removals: RemoverBoard,
}

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
///
/// It wants to be subscribed to the Catalog's `RankingChanged`, `RisingChanged`, `MastersChanged`,
/// every CfwWorker's `HostObserved` and the HeartbeatSupervisor's `HealthChanged`.
pub struct TaskManager {
    seat: Seat<TaskBook>,
    journal: Journal,
    dispatcher: Dispatcher,
    clock: Clock,
    collaborators: Collaborators,
    board: TaskBoard,
    /// When the next turn begins, and its timer.
    next_turn: NextTurn,
    turn_took: Duration,
    badge: Option<ManagerBadge>,
    /// Which incarnation this is.
    incarnation: u64,
    /// Whether the piece is the present one, not one of the past on its way there.
    is_present: bool,
    changes: Option<ChangeFeed>,
    /// The back-offs as they were told last.
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
        collaborators: Collaborators,
        board: TaskBoard,
    ) -> Self {
        TaskManager {
            seat: Seat::new(TaskBook::new(names), journal.clone()),
            journal,
            dispatcher: Dispatcher::new(settings, hosts),
            clock,
            collaborators,
            next_turn: NextTurn::default(),
            turn_took: Duration::ZERO,
            badge: None,
            changes: None,
            back_offs_told: Arc::default(),
            incarnation: board.roll().new_incarnation(),
            is_present: false,
            board,
        }
    }

    /// Fills in `badge` once the id of the cluster is known.
    pub fn speaking_as(mut self, badge: ManagerBadge) -> Self {
        self.badge = Some(badge);
        self
    }

    /// Tells of changes on `feed` from now on.
    pub fn telling_on(mut self, feed: ChangeFeed) -> Self {
        self.changes = Some(feed);
        self
    }

    /// The pure part, with where things stand for it.
    fn at(&mut self, now: Millis) -> (&mut Dispatcher, Standing<'_>) {
        let TaskManager { dispatcher, seat, .. } = self;
        (dispatcher, Standing { book: seat.piece(), in_flight: seat.in_flight(), now })
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
            manager.show();
        }));
        self.show();
    }
}
