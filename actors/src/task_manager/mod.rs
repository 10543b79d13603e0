//! The TaskManager: plans copies and follows them to their end. It owns the tasks, the back-offs
//! and the placements (which host holds what, as last confirmed).
//!
//! Pure rooms: the piece (`state`, `apply`, `snapshot`), the planner ([`plan`]), and the decisions
//! (`change`, `reports`, `due`, `inventory`). Rooms with a mailbox: this file, `orders` (the
//! journal's), `requests` (what others ask), `observations` (what others tell), `turn` (one look
//! at everything that is due, and one round of planning).

mod apply;
mod back_off;
mod change;
mod decide;
mod due;
mod entries;
mod event;
mod hosts;
mod inventory;
mod messages;
mod observations;
mod orders;
pub mod plan;
mod reports;
mod requests;
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

use std::collections::{HashMap, HashSet};
use std::time::Instant;

use actix::{Actor, AsyncContext, Context, SpawnHandle};

pub use back_off::{BackingOff, Blamed};
pub use decide::Deciding;
pub use event::{Ending, GivenUp, NewTask, TaskEvent, TaskOutcome, TaskRefusal};
pub use hosts::{HostState, HostTable, Landed};
pub use inventory::next_difference;
pub use messages::*;
pub use reports::Heard;
pub use settings::{HostSetting, Spread, TaskSettings};
pub use signs::{Sign, Signs};
pub use state::{Placement, TaskBook, Tasks};
pub use strangers::{Stranger, StrangerSign};
pub use time_out::OLD_COPY_SPEED;
pub use views::*;

use crate::catalog::LookUpMasters;
use crate::cfw_worker::{CopyArrived, Refresh};
use crate::clock::{Clock, Millis};
use crate::host::HostAddr;
use crate::journal::{Journal, Piece, Seat};
use crate::manager::ManagerBadge;
use crate::names::NameTable;
use crate::supervision::Route;
use plan::Planner;
use strangers::Strangers;

/// Whom the TaskManager asks and tells.
#[derive(Clone)]
pub struct Collaborators {
    /// The Catalog, for looks at masters.
    pub look_up: Route<LookUpMasters>,
    /// Each destination's CfwWorker, to check what an old cfw claims.
    pub refresh: HashMap<HostAddr, Route<Refresh>>,
    /// Each destination's CfwWorker, to tell of copies that arrived.
    pub arrived: HashMap<HostAddr, Route<CopyArrived>>,
}

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
///
/// It wants to be subscribed to the Catalog's `RankingChanged`, `RisingChanged`, `MastersChanged`,
/// every CfwWorker's `HostObserved` and the HeartbeatSupervisor's `HealthChanged`.
pub struct TaskManager {
    seat: Seat<TaskBook>,
    journal: Journal,
    settings: TaskSettings,
    clock: Clock,
    collaborators: Collaborators,
    board: TaskBoard,
    planner: Planner,
    hosts: HostTable,
    /// Also says since when this node leads.
    signs: Signs,
    /// When the next turn begins, and its timer.
    wake: Option<(Instant, SpawnHandle)>,
    /// Whether masters are being looked at.
    looking: bool,
    /// Hosts that are being asked what they hold.
    refreshing: HashSet<HostAddr>,
    /// Hosts that could not be asked, and when asking again makes sense.
    ask_again: HashMap<HostAddr, Millis>,
    last_round: Option<show::LastRound>,
    strangers: Strangers,
    badge: Option<ManagerBadge>,
    counters: TaskCounters,
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
            settings,
            clock,
            collaborators,
            board,
            planner: Planner::default(),
            hosts: HostTable::new(hosts),
            signs: Signs::default(),
            wake: None,
            looking: false,
            refreshing: HashSet::new(),
            ask_again: HashMap::new(),
            last_round: None,
            strangers: Strangers::default(),
            badge: None,
            counters: TaskCounters::default(),
        }
    }

    /// Fills in `badge` once the id of the cluster is known.
    pub fn speaking_as(mut self, badge: ManagerBadge) -> Self {
        self.badge = Some(badge);
        self
    }

    /// Everything a decision may look at.
    fn deciding(&self, now: Millis) -> Deciding<'_> {
        Deciding {
            book: self.seat.piece(),
            in_flight: self.seat.in_flight(),
            hosts: &self.hosts,
            signs: &self.signs,
            settings: &self.settings,
            now,
        }
    }
}

impl Actor for TaskManager {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.journal.register(TaskBook::ID, ctx.address().recipient());
        self.show();
    }
}
