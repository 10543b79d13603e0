//! The actor: its reactions to messages and to commands of the journal.

pub(in crate::share_expiry) mod anchor;
pub(in crate::share_expiry) mod downloads;
pub(in crate::share_expiry) mod move_requests;
pub(in crate::share_expiry) mod reclaim;
pub(in crate::share_expiry) mod requests;
pub(in crate::share_expiry) mod tick;
pub(in crate::share_expiry) mod watch_clock;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix::{Actor, Context};
use reelyard_core::clock::{Clock, Millis};
use reelyard_replication::{LogHandle, OwnerCommands, OwnerTicks, Replicated};
use tokio::time::Instant;

use crate::share_expiry::actor::anchor::Anchor;
use crate::share_expiry::policy::waiters::download_waiters::DownloadWaiters;
use crate::share_expiry::policy::waiters::move_end_waiters::MoveEndWaiters;
use crate::share_expiry::{
    Budget, ClientKey, ClockStepDetector, ClockTrouble, ExpiryTimerWheel, Lags, ShareChange,
    ShareCounters, ShareDecisionContext, ShareExpirySettings, ShareId, ShareMoment, SharePolicy,
    ShareTable, ShareView, ShareViewHandle,
};

/// The actor that owns all shares. Every node runs one: on the leader it decides, on followers it only
/// applies.
pub struct ShareExpiry {
    replica: Replicated<ShareTable, ShareView, ShareChange>,
    policy: SharePolicy,
    clock: Clock,
    views: ShareViewHandle,
    /// Shares by deadline, for reclaim.
    timer: ExpiryTimerWheel,
    /// Shares by the time of their notice before the end.
    notices: ExpiryTimerWheel,
    budget: Budget,
    /// When the time of the budget began.
    began: Instant,
    /// The time spent on decisions about the reclaim, not yet subtracted from the budget.
    decision_time: Duration,
    /// Running commits of reclaimed shares.
    reclaiming: usize,
    /// When the actor last did its upkeep.
    upkeep_at: Option<Instant>,
    watch: ClockStepDetector,
    /// The fault of the wall clock at the last tick.
    trouble: Option<ClockTrouble>,
    /// The time across restarts while the machine is up.
    anchor: Option<Anchor>,
    /// The confirmed time at the last tick.
    last_moment: Millis,
    /// When the actor's own last commit recorded the time.
    time_recorded: Option<Instant>,
    /// The callers whose downloads are being counted.
    taking: HashMap<(ShareId, ClientKey), DownloadWaiters>,
    /// The callers that wait for the ends of moves.
    ends: MoveEndWaiters,
    counters: ShareCounters,
    lags: Lags,
    backlog: u64,
}

impl ShareExpiry {
    /// A ShareExpiry. It registers itself with the journal when it starts.
    pub fn new(
        settings: ShareExpirySettings,
        clock: Clock,
        journal: impl Into<LogHandle>,
        views: ShareViewHandle,
    ) -> Self {
        views.hold_clock_for(settings.clock_hold);
        ShareExpiry {
            replica: Replicated::new(
                ShareTable::default(),
                journal,
                clock.clone(),
                views.view_handle(),
            ),
            budget: Budget::new(settings.effort),
            policy: SharePolicy::new(settings),
            views,
            timer: ExpiryTimerWheel::default(),
            notices: ExpiryTimerWheel::default(),
            began: clock.timer(),
            clock,
            decision_time: Duration::ZERO,
            reclaiming: 0,
            upkeep_at: None,
            watch: ClockStepDetector::default(),
            trouble: None,
            anchor: None,
            last_moment: Millis::default(),
            time_recorded: None,
            taking: HashMap::new(),
            ends: MoveEndWaiters::new(),
            counters: ShareCounters::default(),
            lags: Lags::default(),
            backlog: 0,
        }
    }

    /// Keeps the time in a file at `path`, so that the next process knows how long no process ran.
    pub fn keeping_time_at(mut self, path: &Path) -> Self {
        match Anchor::open(path) {
            Ok(anchor) => self.anchor = Some(anchor),
            Err(error) => {
                tracing::warn!(%error, "boot id cannot be read: after a restart the time of shares begins at the journal's last time")
            }
        }
        self
    }

    /// The pure decisions with their context.
    fn at(&mut self, moment: ShareMoment) -> (&mut SharePolicy, ShareDecisionContext<'_>) {
        let ShareMoment { now, latest, confirmed_in, .. } = moment;
        let ShareExpiry { policy, replica, .. } = self;
        let (table, in_flight) = (replica.piece(), replica.in_flight());
        let confirmed_in = confirmed_in.unwrap_or_default();
        (policy, ShareDecisionContext { table, in_flight, now, latest, confirmed_in })
    }

    /// The current time by all clocks.
    fn moment(&self) -> ShareMoment {
        self.views.moment(&self.clock)
    }

    /// The confirmed time: commits use it.
    fn now(&self) -> Millis {
        self.moment().now
    }

    /// Lets readers read the table directly.
    fn attach_table(&mut self) {
        // Before readers get the table, so that a refused share stays refused.
        let record = self.replica.piece().time();
        let anchored = self.anchor.as_ref().and_then(|anchor| anchor.time(self.clock.uptime()));
        let since = record.map(|record| anchored.map_or(record, |time| time.max(record)));
        self.views.start_time(since, &self.clock);
        self.views.attach(self.replica.piece());
    }

    /// The read view as it is now.
    fn view(&self) -> ShareView {
        let table = self.replica.piece();
        ShareView {
            at: self.now(),
            on_record: table.time(),
            trouble: self.trouble,
            epoch: self.replica.epoch(),
            paused: table.paused().map(str::to_owned),
            shares: table.len(),
            tombstones: table.tombstone_index().len(),
            totals: table.totals(),
            next_notification: table.next_notification(),
            notifications: table.next_notification() - table.first_notification(),
            backlog: self.backlog,
            window: self.timer.len() as u64,
            moves_begun: table.next_move,
            root_ids: Arc::clone(table.root_ids()),
            next_tick: self.replica.next_tick(),
            counters: ShareCounters { uncommitted: self.replica.uncommitted(), ..self.counters },
            lags: self.lags,
        }
    }
}

impl Actor for ShareExpiry {
    type Context = Context<Self>;

    fn started(&mut self, ctx: &mut Context<Self>) {
        self.join_journal(ctx);
        self.soon(ctx);
    }
}
