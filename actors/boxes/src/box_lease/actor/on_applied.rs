//! The actor's reaction to journal notifications.

use std::collections::BTreeSet;
use std::time::Duration;

use actix::{Context, Handler};
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_protocol::boxes::{LeaseId, PoolName};
use reelyard_replication::{
    AppliedEvent, JournalCommand, Owner, OwnerCommands, OwnerCommits, OwnerTicks, Replicated,
};

use super::grants::MYSELF;
use super::tick::{LONGEST_SLEEP, SHORTEST_SLEEP};
use crate::box_lease::policy::leading::{LEVEL_OF_CLOCKS, LeaderClocks};
use crate::box_lease::policy::memory::box_key::BoxKey;
use crate::box_lease::state::event::{BoxEvent, BoxOutcome};
use crate::box_lease::state::leases::given_terms::LeaderMachine;
use crate::box_lease::views::changes::changes_of;
use crate::box_lease::{BoxChange, BoxError, BoxLease, BoxView, SharedTable};

impl Handler<JournalCommand> for BoxLease {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.handle_journal_command(command, ctx);
    }
}

impl Owner for BoxLease {
    type Piece = SharedTable;
    type View = BoxView;
    type Change = BoxChange;

    const NAME: &'static str = MYSELF;
    const SUBJECT: &'static str = "boxes";
    const VIEW_AGE: Duration = Duration::from_millis(20);

    fn shell(&mut self) -> &mut Replicated<SharedTable, BoxView, BoxChange> {
        &mut self.replica
    }

    fn batch_delay(&self) -> Duration {
        SHORTEST_SLEEP
    }

    fn on_applied(&mut self, entry: &[AppliedEvent<SharedTable>], ctx: &mut Context<Self>) {
        if self.replica.epoch().is_some() {
            self.on_events_applied(entry, ctx);
        }
    }

    fn on_leader_started(&mut self, epoch: Epoch, ctx: &mut Context<Self>) {
        let pools = self.replica.piece().read().pools().len();
        tracing::info!(%epoch, pools, "leading: this node decides on boxes");
        self.forget_leadership();
        self.become_leader(ctx);
    }

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {
        self.forget_leadership();
    }

    fn attach_readers(&mut self) {
        self.view_handle.attach_table(self.replica.piece());
    }

    fn build_view(&mut self) -> BoxView {
        self.view()
    }

    fn changes_of(&mut self, entry: &[AppliedEvent<SharedTable>]) -> Vec<(Millis, BoxChange)> {
        changes_of(&self.replica.piece().read(), entry)
    }

    fn begin_tick(&mut self, ctx: &mut Context<Self>) {
        self.wake_after(LONGEST_SLEEP, ctx);
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.decide(ctx);
    }

    fn tick_paused(&mut self, ctx: &mut Context<Self>) {
        // A request that arrives meanwhile keeps its place.
        self.notify_progress(ctx);
    }
}

impl BoxLease {
    /// The state in memory belongs to another leader from now on.
    fn forget_leadership(&mut self) {
        self.memory.forget_leadership(&BoxError::LeaderChanged);
        self.recording_led = false;
    }

    /// This node decides from now on.
    fn become_leader(&mut self, ctx: &mut Context<Self>) {
        self.upkeep_at = None;
        let wall = self.now().wall;
        let machine = LeaderMachine { boot: self.clock.boot(), uptime: self.clock.uptime(), wall };
        let are_recorded = self.replica.format_level() >= LEVEL_OF_CLOCKS;
        let clocks = LeaderClocks { machine, bound: self.clock_bound, are_recorded };
        let begun = self.policy(|memory, at| memory.become_leader(at, clocks));
        for key in begun.draining {
            self.plan_cleanup(&key, ctx);
        }
        if !begun.records.is_empty() {
            // Without an outcome they still have their terms.
            self.commit(begun.records, ctx);
        }
        self.prepare_again(begun.preparing, ctx);
        self.watch_hosts(ctx);
        self.renew_view();
        self.run_tick(ctx);
    }

    /// Applied events start terms, cleanings and grants.
    fn on_events_applied(
        &mut self,
        applied: &[AppliedEvent<SharedTable>],
        ctx: &mut Context<Self>,
    ) {
        let mut touched = BTreeSet::new();
        let mut pools = BTreeSet::new();
        for AppliedEvent { event, result, .. } in applied {
            if let Some(grant) = event.grant() {
                self.on_grant_applied(grant, result, ctx);
                pools.insert(grant.pool.clone());
                continue;
            }
            match (event, result) {
                (_, Ok(BoxOutcome::Ended { leases })) => {
                    for id in leases {
                        touched.extend(self.on_lease_ended(*id, ctx));
                    }
                }
                (BoxEvent::Prepared { leases, .. }, Ok(_)) => self.on_prepared(leases, ctx),
                (BoxEvent::Renewed { lease, .. }, Ok(_)) => {
                    self.policy(|memory, at| memory.start_term(at, *lease));
                }
                (
                    BoxEvent::Cleaned { pool, number, .. }
                    | BoxEvent::CleanFailed { pool, number, .. }
                    | BoxEvent::Quarantined { pool, number, .. }
                    | BoxEvent::Unquarantined { pool, number, .. },
                    Ok(_),
                ) => {
                    let key = (pool.clone(), *number);
                    self.memory.hook_calls.on_record(&key);
                    touched.insert(key);
                }
                (BoxEvent::Reconciled { pool, clean, dirty }, Ok(_)) => {
                    let dirty = dirty.iter().map(|(number, _)| *number);
                    let numbers = clean.iter().copied().chain(dirty);
                    touched.extend(numbers.map(|number| (pool.clone(), number)));
                }
                (
                    BoxEvent::PoolPut { pool, .. }
                    | BoxEvent::PoolPutAlone { pool, .. }
                    | BoxEvent::PoolPutBySettings { pool, .. }
                    | BoxEvent::PoolRemoved { pool }
                    | BoxEvent::Recheck { pool },
                    Ok(_),
                ) => {
                    self.on_pool_changed(pool, ctx);
                    pools.insert(pool.clone());
                }
                _ => {}
            }
        }
        for key in touched {
            self.on_box_changed(&key, ctx);
            pools.insert(key.0);
        }
        for pool in pools {
            self.schedule_rests(&pool, ctx);
            self.grant_waiting(&pool, ctx);
            self.policy(|memory, at| memory.forget_removed_pool(at, &pool));
        }
    }

    /// Handles the end of a lease. Returns its box.
    fn on_lease_ended(&mut self, id: LeaseId, ctx: &mut Context<Self>) -> Option<BoxKey> {
        let (key, leases) = self.policy(|memory, at| memory.lease_ended(at, id))?;
        self.return_leases(leases, ctx);
        Some(key)
    }

    /// Handles a changed box.
    fn on_box_changed(&mut self, key: &BoxKey, ctx: &mut Context<Self>) {
        self.policy(|memory, at| memory.box_changed(at, key));
        self.plan_cleanup(key, ctx);
    }

    /// All boxes of a pool may have changed.
    fn on_pool_changed(&mut self, name: &PoolName, ctx: &mut Context<Self>) {
        if self.policy(|memory, at| memory.pool_changed(at, name)) {
            self.plan_inspection(name, Duration::ZERO, ctx);
            self.watch_hosts(ctx);
        }
    }

    /// Ids of a pool may have begun to rest.
    fn schedule_rests(&mut self, name: &PoolName, ctx: &mut Context<Self>) {
        let next = self.policy(|memory, at| memory.begin_rests(at, name));
        self.wake_at(next, ctx);
    }
}
