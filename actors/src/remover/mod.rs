#![doc = include_str!("README.md")]

mod apply;
mod arrivals;
mod changes;
mod desk;
mod duplicates;
mod event;
mod explain;
mod holders;
mod make_room;
mod messages;
mod observations;
mod orders;
mod over_limit;
mod reason;
mod repeats;
mod requests;
mod room;
mod round;
#[cfg(test)]
mod samples;
mod settings;
mod snapshot;
mod state;
mod survey;
mod turn;
mod views;

use std::collections::HashMap;

use actix::{Actor, AsyncContext, Context};

pub use arrivals::Arrivals;
pub use desk::{Desk, Standpoint};
pub use duplicates::Stock;
pub use event::{Ending, Intent, RemovalEvent, RemovalOutcome, RemovalRefusal};
pub use holders::{Holder, Holders, Standing};
pub use messages::*;
pub use over_limit::Relief;
pub use reason::{KeptBy, Reason, Spared};
pub use room::{RoomMade, RoomSought, RoomVerdict, RoomWanted};
pub use round::{Confirmation, Proposal, Removal, RemoverWaits};
pub use settings::{RemovalMode, RemoverSettings};
pub use state::{Copy, OpenRemoval, Pin, RemovalBook, RemovalRecord};
pub use survey::{Inputs, Survey, UnderWay};
pub use turn::WHILE_THERE_IS_MORE;
pub use views::*;

use crate::catalog::LookUpMasters;
use crate::cfw_worker::{DeleteCopy, HostRoutes, Refresh};
use crate::change_feed::ChangeFeed;
use crate::clock::{Clock, Millis};
use crate::host::HostAddr;
use crate::journal::{CommitHold, Journal, Piece, Seat};
use crate::names::NameTable;
use crate::supervision::Route;
use crate::task_manager::TaskBoard;
use crate::turns::NextTurn;

/// Whom the Remover asks.
#[derive(Clone)]
pub struct Collaborators {
    /// The Catalog, for looks at masters.
    pub look_up: Route<LookUpMasters>,
    /// Each destination's CfwWorker, to have it list what the host holds.
    pub refresh: HostRoutes<Refresh>,
    /// Each destination's CfwWorker, to have it remove a copy.
    pub delete: HostRoutes<DeleteCopy>,
    /// What the TaskManager shows: the hosts of the yard, and what arrived lately.
    pub tasks: TaskBoard,
}

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
///
/// It wants to be subscribed to the Catalog's `RankingChanged`, `RisingChanged`, `MastersChanged`,
/// every CfwWorker's `HostObserved` and `HostConduct`, and the HeartbeatSupervisor's
/// `HealthChanged`.
pub struct Remover {
    seat: Seat<RemovalBook>,
    journal: Journal,
    desk: Desk,
    clock: Clock,
    collaborators: Collaborators,
    board: RemoverBoard,
    hold: CommitHold,
    /// When the next turn begins, and its timer.
    next_turn: NextTurn,
    /// When all copies are looked at next; none before this node led.
    next_round: Option<Millis>,
    /// Whether a round waits for hosts to confirm what stays.
    confirming: bool,
    /// Hosts that are being asked what they hold, or could not be and when that makes sense again.
    refreshing: HashMap<HostAddr, Option<Millis>>,
    last: Option<RemovalRound>,
    changes: Option<ChangeFeed>,
}

impl Remover {
    /// A Remover; it registers itself with the journal when it starts.
    pub fn new(
        settings: RemoverSettings,
        names: NameTable,
        clock: Clock,
        journal: Journal,
        collaborators: Collaborators,
        board: RemoverBoard,
    ) -> Self {
        Remover {
            seat: Seat::new(RemovalBook::new(names), journal.clone()),
            journal,
            desk: Desk::new(settings),
            clock,
            collaborators,
            board,
            hold: CommitHold::default(),
            next_turn: NextTurn::default(),
            next_round: None,
            confirming: false,
            refreshing: HashMap::new(),
            last: None,
            changes: None,
        }
    }

    /// Tells of changes on `feed` from now on.
    pub fn telling_on(mut self, feed: ChangeFeed) -> Self {
        self.changes = Some(feed);
        self
    }

    /// The pure part, with where things stand for it.
    fn at(&mut self, now: Millis) -> (&mut Desk, Standpoint<'_>) {
        let Remover { desk, seat, .. } = self;
        (desk, Standpoint { book: seat.piece(), in_flight: seat.in_flight(), now })
    }

    /// Renews the view on the board.
    fn show(&self) {
        let book = self.seat.piece();
        self.board.show(RemoverView {
            at: self.clock.now(),
            epoch: self.seat.epoch(),
            mode: self.desk.settings().mode,
            open: book.open().clone(),
            rooms_made: book.rooms_made(self.desk.settings(), self.clock.now()),
            pins: book.pins().clone(),
            doubts: book.doubts().clone(),
            history: book.history().clone(),
            last: self.last.clone(),
            counters: self.desk.counters,
        });
    }
}

impl Actor for Remover {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.journal.register(RemovalBook::ID, ctx.address().recipient());
        self.show();
    }
}
