//! The actor: what it does with messages and with the orders of the journal.

pub(in crate::box_lease) mod acquire;
pub(in crate::box_lease) mod acquisition;
pub(in crate::box_lease) mod changes;
pub(in crate::box_lease) mod grants;
pub(in crate::box_lease) mod hooks;
pub(in crate::box_lease) mod maintenance;
pub(in crate::box_lease) mod on_applied;
pub(in crate::box_lease) mod prepare;
#[cfg(test)]
pub(in crate::box_lease) mod prepare_tests;
pub(in crate::box_lease) mod probes;
pub(in crate::box_lease) mod requests;
pub(in crate::box_lease) mod turn;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Instant;

use actix::{Actor, Context};
use reelyard_core::change_feed::FeedPublisher;
use reelyard_core::clock::{Clock, ClockReading};
use reelyard_protocol::boxes::{BoxHosts, FenceToken, LeaseId, PoolName};
use reelyard_replication::{LogHandle, Owner, Replicated};

use crate::box_lease::policy::box_key::BoxKey;
use crate::box_lease::policy::hook_calls::HookCalls;
use crate::box_lease::policy::host_probes::BoxHostProbes;
use crate::box_lease::policy::preparing_groups::PreparingGroups;
use crate::box_lease::policy::waiters::LeaseWaiters;
use crate::box_lease::{
    BoxChange, BoxLeaseSettings, BoxView, BoxViewHandle, KeyedDeadlines, LeaseTerms, PoolAllocator,
    PoolQueueCounts, PoolQueueView, SharedTable, WaiterId,
};

/// The actor that owns all boxes. Every node runs one: on the leader it decides, on followers it only
/// applies.
pub struct BoxLease {
    replica: Replicated<SharedTable, BoxChange>,
    settings: BoxLeaseSettings,
    clock: Clock,
    board: BoxViewHandle,
    hosts: BoxHosts,
    /// The counters and queue of each pool while this node leads.
    lines: BTreeMap<PoolName, PoolAllocator>,
    counts: BTreeMap<PoolName, PoolQueueCounts>,
    waiters: LeaseWaiters,
    /// The requests that are being granted, by the first of their leases.
    granting: HashMap<LeaseId, WaiterId>,
    /// How many callers got the same leases, by the first of them, where that is more than one.
    told: HashMap<LeaseId, usize>,
    terms: LeaseTerms,
    groups: PreparingGroups,
    /// Boxes that are to be cleaned, and when.
    cleanings: KeyedDeadlines<BoxKey>,
    /// Pools whose hosts must look at boxes, and when.
    looks: KeyedDeadlines<PoolName>,
    /// Pools of which nothing is granted before it is on record that they are looked at; and whether
    /// that is being put there.
    rechecks: BTreeMap<PoolName, bool>,
    /// Whether the start of this node's leadership is being put on record.
    noting_led: bool,
    jobs: HookCalls,
    probes: BoxHostProbes,
    /// Leases that no caller knows, to be taken back.
    orphans: BTreeSet<LeaseId>,
    /// Leases that are being taken back: no caller gets them any more.
    taking_back: HashSet<LeaseId>,
    /// Leases that a caller used with a wrong token: the last caller, and how often.
    wrong_tokens: BTreeMap<LeaseId, (FenceToken, u64)>,
    /// When old records were last checked for removal, and waiting callers last got their progress.
    upkeep_at: Option<Instant>,
    progress_at: Option<Instant>,
    /// Whether the published view is outdated.
    is_stale: bool,
    /// Whether the table holds all that this node had on record when it started.
    caught_up: bool,
}

impl BoxLease {
    /// A BoxLease; it registers itself with the journal when it starts.
    pub fn new(
        settings: BoxLeaseSettings,
        clock: Clock,
        journal: impl Into<LogHandle>,
        hosts: BoxHosts,
        board: BoxViewHandle,
    ) -> Self {
        BoxLease {
            replica: Replicated::new(SharedTable::default(), journal, clock.clone()),
            settings,
            clock,
            board,
            hosts,
            lines: BTreeMap::new(),
            counts: BTreeMap::new(),
            waiters: LeaseWaiters::default(),
            granting: HashMap::new(),
            told: HashMap::new(),
            terms: LeaseTerms::default(),
            groups: PreparingGroups::default(),
            cleanings: KeyedDeadlines::default(),
            looks: KeyedDeadlines::default(),
            rechecks: BTreeMap::new(),
            noting_led: false,
            jobs: HookCalls::default(),
            probes: BoxHostProbes::default(),
            orphans: BTreeSet::new(),
            taking_back: HashSet::new(),
            wrong_tokens: BTreeMap::new(),
            upkeep_at: None,
            progress_at: None,
            is_stale: false,
            caught_up: false,
        }
    }

    /// Publishes changes on `feed` from now on.
    pub fn with_change_feed(mut self, feed: FeedPublisher<BoxChange>) -> Self {
        self.replica.set_change_feed(feed);
        self
    }

    /// Both clocks; a small backward step of the wall clock is held back.
    fn now(&self) -> ClockReading {
        ClockReading { wall: self.clock.now(), monotonic: self.clock.reading().monotonic }
    }

    fn counts(&mut self, pool: &PoolName) -> &mut PoolQueueCounts {
        self.is_stale = true;
        self.counts.entry(pool.clone()).or_default()
    }

    fn line(&mut self, pool: &PoolName) -> &mut PoolAllocator {
        self.is_stale = true;
        self.lines.entry(pool.clone()).or_default()
    }

    /// Readers look into the table as it is, once it is no longer one of the past.
    fn show_table(&mut self, is_current: bool) {
        self.caught_up |= is_current;
        if self.caught_up {
            self.board.attach_table(self.replica.piece());
        }
    }

    /// Publishes a new view.
    fn publish_view(&mut self) {
        self.is_stale = false;
        self.counts.retain(|pool, _| self.lines.contains_key(pool));
        let lines = self.lines.iter().map(|(name, line)| {
            let view = PoolQueueView {
                waiting: line.queue.len() as u64,
                wanted: line.queue.wanted(),
                available: line.available() as u64,
                mean_hold: line.pace.mean(),
                silence: self.silence_of(name),
                counts: self.counts.get(name).copied().unwrap_or_default(),
            };
            (name.clone(), view)
        });
        self.board.publish(BoxView {
            at: self.clock.now(),
            epoch: self.replica.epoch(),
            waiters: self.waiters.len() as u64,
            lines: lines.collect(),
            uncommitted: self.replica.uncommitted(),
        });
    }
}

impl Actor for BoxLease {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
        self.publish_view();
        self.soon(ctx);
    }
}
