#![doc = include_str!("README.md")]

mod acquire;
mod acquisition;
mod apply;
mod apply_boxes;
#[cfg(test)]
mod apply_tests;
mod audit;
mod board;
mod care;
mod changes;
mod decide;
mod event;
mod follow;
mod given_terms;
mod grants;
mod hindrance;
mod hooks;
mod host;
mod id;
mod lease;
mod line;
mod messages;
mod pool;
mod prepare;
#[cfg(test)]
mod prepare_tests;
mod probes;
mod queue;
mod requests;
#[cfg(test)]
mod samples;
mod schedule;
mod settings;
mod slots;
mod snapshot;
mod spec;
mod state;
mod terms;
mod text;
mod turn;
mod views;
mod waiters;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use actix::{Actor, ActorFutureExt, AsyncContext, Context, WrapFuture};

pub use acquisition::{AcquireRoutes, Acquisition};
pub use audit::{AuditEntry, AuditFilter, AuditPlace, BadAuditPlace};
pub use board::{BoxBoard, BoxStanding, LARGEST_PAGE, Page, PoolStanding};
pub use decide::Before;
pub use event::{BoxEvent, BoxLine, BoxNews, BoxOutcome, BoxRefusal, NewGrant};
#[cfg(test)]
pub(crate) use follow::TERMS_AT_ONCE;
pub use host::{
    AdoptBoxes, BoxHosts, BoxesLooked, HookAnswer, HookKind, HookPlace, LookAtBoxes, LookedAt,
    NotHeard, ProbeHost, RunHook,
};
pub use id::{BadLeaseId, BoxNumber, FenceToken, IdRange, LeaseId, SlotId};
pub use lease::{EndedLease, Lease, LeaseEnd};
pub use line::{Asking, Line, Pace, Rests};
pub use messages::*;
pub use pool::{BoxCounts, BoxPhase, BoxRecord, BoxState, Draining, Pool, PoolTotals};
pub use queue::{BadPriority, Place, Priority, Queue, WaiterId};
pub use schedule::Schedule;
pub use settings::BoxSettings;
pub use slots::Slots;
pub use spec::{BadSpec, LARGEST_POOL, MOST_AT_ONCE, MOST_SLOTS, PoolSpec, SlotRange};
pub use state::{BoxTable, FoundLease, GrantedRequest, Remnant, SharedTable};
pub use terms::{Hold, Terms};
pub use text::{
    BadText, Holder, HooksName, LONGEST_HOLDER, LONGEST_NAME, LONGEST_REASON, LONGEST_SAID,
    PoolName, Reason, Said,
};
pub use views::{BoxView, LineCounts, LineView};

use crate::change_feed::ChangeFeed;
use crate::clock::{Clock, Reading};
use crate::journal::{CommitHold, Journal, Piece, Seat};
use crate::turns::NextTurn;
use hooks::Jobs;
use prepare::Groups;
use probes::Probes;
use waiters::Waiters;

/// A box of all pools.
pub(crate) type BoxKey = (PoolName, BoxNumber);

/// The actor. Every node runs one: on the leader it decides, on followers it only applies.
pub struct BoxLease {
    seat: Seat<SharedTable>,
    journal: Journal,
    settings: BoxSettings,
    clock: Clock,
    board: BoxBoard,
    hosts: BoxHosts,
    /// The pause after a commit without an outcome.
    hold: CommitHold,
    /// When the next turn begins, and its timer.
    next_turn: NextTurn,
    /// What this node counts and remembers of each pool while it leads.
    lines: BTreeMap<PoolName, Line>,
    counts: BTreeMap<PoolName, LineCounts>,
    waiters: Waiters,
    /// Who gets what is being granted, by the first of its leases.
    granting: HashMap<LeaseId, WaiterId>,
    /// How many were told of the same leases, by the first of them, where that is more than one.
    told: HashMap<LeaseId, usize>,
    terms: Terms,
    groups: Groups,
    /// Boxes that are to be cleaned, and when.
    cleanings: Schedule<BoxKey>,
    /// Pools whose hosts are to look at boxes, and when.
    looks: Schedule<PoolName>,
    /// Pools of which nothing is granted before it is on record that they are looked at; and whether
    /// that is being put there.
    rechecks: BTreeMap<PoolName, bool>,
    /// Whether it is being put on record that this node decides.
    noting_led: bool,
    jobs: Jobs,
    probes: Probes,
    /// Leases of which nobody was told, to be taken back.
    orphans: BTreeSet<LeaseId>,
    /// Those that are being taken back: nobody is told of them any more.
    taking_back: HashSet<LeaseId>,
    /// Leases that somebody tried to use with a wrong token: the last one, and how often.
    wrong_tokens: BTreeMap<LeaseId, (FenceToken, u64)>,
    /// When it was last looked at what is to be forgotten, and told how waits go.
    upkeep_at: Option<Instant>,
    progress_at: Option<Instant>,
    uncommitted: u64,
    /// Where changes are told.
    changes: Option<ChangeFeed>,
    /// Whether the view on the board is an old one.
    is_stale: bool,
    /// Whether the table holds all that this node had on record when it started.
    caught_up: bool,
}

impl BoxLease {
    /// A BoxLease; it registers itself with the journal when it starts.
    pub fn new(
        settings: BoxSettings,
        clock: Clock,
        journal: Journal,
        hosts: BoxHosts,
        board: BoxBoard,
    ) -> Self {
        BoxLease {
            seat: Seat::new(SharedTable::default(), journal.clone()),
            journal,
            settings,
            clock,
            board,
            hosts,
            hold: CommitHold::default(),
            next_turn: NextTurn::default(),
            lines: BTreeMap::new(),
            counts: BTreeMap::new(),
            waiters: Waiters::default(),
            granting: HashMap::new(),
            told: HashMap::new(),
            terms: Terms::default(),
            groups: Groups::default(),
            cleanings: Schedule::default(),
            looks: Schedule::default(),
            rechecks: BTreeMap::new(),
            noting_led: false,
            jobs: Jobs::default(),
            probes: Probes::default(),
            orphans: BTreeSet::new(),
            taking_back: HashSet::new(),
            wrong_tokens: BTreeMap::new(),
            upkeep_at: None,
            progress_at: None,
            uncommitted: 0,
            changes: None,
            is_stale: false,
            caught_up: false,
        }
    }

    /// Tells of changes on `feed` from now on.
    pub fn telling_on(mut self, feed: ChangeFeed) -> Self {
        self.changes = Some(feed);
        self
    }

    /// What both clocks show, a small backward step of that on the wall held back.
    fn now(&self) -> Reading {
        Reading { wall: self.clock.now(), monotonic: self.clock.reading().monotonic }
    }

    fn counts(&mut self, pool: &PoolName) -> &mut LineCounts {
        self.is_stale = true;
        self.counts.entry(pool.clone()).or_default()
    }

    fn line(&mut self, pool: &PoolName) -> &mut Line {
        self.is_stale = true;
        self.lines.entry(pool.clone()).or_default()
    }

    /// Readers look into the table as it is, once it is no longer one of the past.
    fn show_table(&mut self, is_current: bool) {
        self.caught_up |= is_current;
        if self.caught_up {
            self.board.look_into(self.seat.piece());
        }
    }

    /// Renews the view on the board.
    fn show(&mut self) {
        self.is_stale = false;
        self.counts.retain(|pool, _| self.lines.contains_key(pool));
        let lines = self.lines.iter().map(|(name, line)| {
            let view = LineView {
                waiting: line.queue.len() as u64,
                wanted: line.queue.wanted(),
                available: line.available() as u64,
                mean_hold: line.pace.mean(),
                silence: self.silence_of(name),
                counts: self.counts.get(name).copied().unwrap_or_default(),
            };
            (name.clone(), view)
        });
        self.board.show(BoxView {
            at: self.clock.now(),
            epoch: self.seat.epoch(),
            waiters: self.waiters.len() as u64,
            lines: lines.collect(),
            uncommitted: self.uncommitted,
        });
    }
}

impl Actor for BoxLease {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.journal.register(SharedTable::ID, ctx.address().recipient());
        let journal = self.journal.clone();
        let catching_up = async move { journal.caught_up(SharedTable::ID).await };
        ctx.spawn(catching_up.into_actor(self).map(|is_current, actor, _| {
            actor.show_table(is_current);
        }));
        self.show();
        self.soon(ctx);
    }
}
