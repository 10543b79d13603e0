#![doc = include_str!("README.md")]

mod anchor;
mod apply;
mod apply_moves;
#[cfg(test)]
mod apply_moves_tests;
#[cfg(test)]
mod apply_tests;
mod board;
mod budget;
mod changes;
mod cuts;
mod decide;
#[cfg(test)]
mod decide_clock_tests;
mod decide_moves;
#[cfg(test)]
mod decide_tests;
mod downloads;
mod event;
mod evict;
mod facts;
mod id;
mod jumps;
mod messages;
mod moves;
mod moving;
mod order;
mod path;
mod path_chunk;
mod path_key;
mod path_order;
mod recent;
mod reclaim;
mod requests;
#[cfg(test)]
mod samples;
mod settings;
mod shards;
mod share;
mod snapshot;
#[cfg(test)]
mod snapshot_tests;
mod state;
mod terms;
mod text;
mod time;
mod timer;
mod turn;
mod upkeep;
mod used;
mod views;
mod watch_clock;

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use actix::{Actor, ActorFutureExt, AsyncContext, Context, WrapFuture};

pub use board::{LARGEST_PAGE, ShareBoard, ShareFilter, SharePage, ShareState};
pub use budget::Budget;
pub use decide::{AT_ONCE, Desk, Standpoint, Taking};
pub use event::{
    Changes, NewDeadline, NewOwner, NewShare, Room, ShareEvent, ShareOutcome, ShareRefusal,
};
pub use evict::Eviction;
pub use facts::{
    BadText, Deadline, Ending, LONGEST_NOTE, LONGEST_OWNER, Note, Owner, PasswordHash, ShareKind,
    Tombstone,
};
pub use id::{BadShareId, ShareId};
pub use jumps::{ClockWatch, Jump};
pub use messages::*;
pub use moves::{
    FileIdentity, MoveEnd, MoveRefused, MoveStage, Moved, Moving, NewMove, SharePlace, Whereabouts,
};
pub use order::Due;
pub use path::{BadPath, LONGEST_PATH, RootName, SharePath};
pub use settings::{AtLimit, BadEffort, Effort, ShareSettings};
pub use shards::Found;
pub use share::{ClientKey, Downloads, Exhausted, Share};
pub use state::{Grave, ShareTable};
pub use terms::{BadTerms, OnlyIf, Term, TermsPolicy};
pub use time::ShareMoment;
pub use timer::{Timer, WINDOW};
pub use used::MOST_USES;
pub use views::{ClockTrouble, LAG_STEPS, Lags, ShareCounters, ShareView, Totals};

use crate::change_feed::ChangeFeed;
use crate::clock::{Clock, Millis};
use crate::journal::{CommitHold, Journal, Piece, Seat};
use crate::turns::NextTurn;
use anchor::Anchor;
use downloads::Waiters;
use moving::Ends;

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
pub struct ShareExpiry {
    seat: Seat<ShareTable>,
    journal: Journal,
    desk: Desk,
    clock: Clock,
    board: ShareBoard,
    hold: CommitHold,
    /// When the next turn begins, and its timer.
    next_turn: NextTurn,
    /// What is due, by deadline.
    timer: Timer,
    /// What is to be told before it ends, by deadline.
    notices: Timer,
    budget: Budget,
    /// When the budget's clock began.
    began: Instant,
    /// What it took to say what is to be reclaimed, and was not taken from the budget yet.
    deciding: Duration,
    /// Commits of reclaimed shares that are under way.
    reclaiming: usize,
    /// When it was last looked at what is to be done besides.
    upkeep_at: Option<Instant>,
    watch: ClockWatch,
    /// What is wrong with the wall clock, as of the last turn.
    trouble: Option<ClockTrouble>,
    /// What tells the time across restarts, while the machine is up.
    anchor: Option<Anchor>,
    /// The confirmed time at the last turn.
    last_moment: Millis,
    /// When the time was put on record last by a commit of its own.
    time_noted: Option<Instant>,
    /// Those who wait for a download of theirs that is being counted.
    taking: HashMap<(ShareId, ClientKey), Waiters>,
    /// Those who wait for the ends of moves.
    ends: Ends,
    counters: ShareCounters,
    lags: Lags,
    backlog: u64,
    /// Whether the table holds all that this node had on record when it started: readers do not
    /// look into it before.
    caught_up: bool,
    changes: Option<ChangeFeed>,
}

impl ShareExpiry {
    /// A ShareExpiry; it registers itself with the journal when it starts.
    pub fn new(settings: ShareSettings, clock: Clock, journal: Journal, board: ShareBoard) -> Self {
        board.hold_clock_for(settings.clock_hold);
        ShareExpiry {
            seat: Seat::new(ShareTable::default(), journal.clone()),
            journal,
            budget: Budget::new(settings.effort),
            desk: Desk::new(settings),
            clock,
            board,
            hold: CommitHold::default(),
            next_turn: NextTurn::default(),
            timer: Timer::default(),
            notices: Timer::default(),
            began: Instant::now(),
            deciding: Duration::ZERO,
            reclaiming: 0,
            upkeep_at: None,
            watch: ClockWatch::default(),
            trouble: None,
            anchor: None,
            last_moment: Millis::default(),
            time_noted: None,
            taking: HashMap::new(),
            ends: Ends::new(),
            counters: ShareCounters::default(),
            lags: Lags::default(),
            backlog: 0,
            caught_up: false,
            changes: None,
        }
    }

    /// Tells of changes on `feed` from now on.
    pub fn telling_on(mut self, feed: ChangeFeed) -> Self {
        self.changes = Some(feed);
        self
    }

    /// Keeps the time in a file at `path`, so that the next process knows how long there was none.
    pub fn keeping_time_at(mut self, path: &Path) -> Self {
        match Anchor::open(path) {
            Ok(anchor) => self.anchor = Some(anchor),
            Err(error) => {
                tracing::warn!(%error, "which boot this is cannot be read: after a restart the time of shares begins at the journal's")
            }
        }
        self
    }

    /// The pure part, with where things stand for it.
    fn at(&mut self, moment: ShareMoment) -> (&mut Desk, Standpoint<'_>) {
        let ShareMoment { now, latest, confirmed_in, .. } = moment;
        let ShareExpiry { desk, seat, .. } = self;
        let (table, in_flight) = (seat.piece(), seat.in_flight());
        let confirmed_in = confirmed_in.unwrap_or_default();
        (desk, Standpoint { table, in_flight, now, latest, confirmed_in })
    }

    /// What time it is.
    fn moment(&self) -> ShareMoment {
        self.board.moment(&self.clock)
    }

    /// The confirmed time: what is committed goes by it.
    fn now(&self) -> Millis {
        self.moment().now
    }

    /// Readers look into the table as it is, once it is no longer one of the past.
    fn show_table(&mut self, is_current: bool) {
        self.caught_up |= is_current;
        if self.caught_up {
            // Before readers look into it: what was refused stays refused.
            let record = self.seat.piece().time();
            let anchored = self.anchor.as_ref().and_then(|anchor| anchor.time(self.clock.uptime()));
            let since = record.map(|record| anchored.map_or(record, |time| time.max(record)));
            self.board.start_time(since, &self.clock);
            self.seat.piece().show_on(&self.board);
        }
    }

    /// Renews the view on the board.
    fn show(&self) {
        self.show_moves();
        let table = self.seat.piece();
        self.board.show(ShareView {
            at: self.now(),
            on_record: table.time(),
            trouble: self.trouble,
            epoch: self.seat.epoch(),
            paused: table.paused().map(str::to_owned),
            shares: table.len(),
            tombstones: table.graves().len(),
            totals: table.totals(),
            next_happening: table.next_happening(),
            happenings: table.next_happening() - table.first_happening(),
            backlog: self.backlog,
            window: self.timer.len() as u64,
            moves_begun: table.next_move,
            next_turn: self.next_turn.left(),
            counters: self.counters,
            lags: self.lags,
        });
    }
}

impl Actor for ShareExpiry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.journal.register(ShareTable::ID, ctx.address().recipient());
        let journal = self.journal.clone();
        let catching_up = async move { journal.caught_up(ShareTable::ID).await };
        ctx.spawn(catching_up.into_actor(self).map(|is_current, expiry, _| {
            expiry.show_table(is_current);
        }));
        self.show();
        self.soon(ctx);
    }
}
