//! The actor's reaction to journal notifications.

use std::collections::BTreeSet;

use actix::{Context, Handler};
use reelyard_core::boot::BootId;
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_protocol::boxes::{BoxNumber, LeaseId, PoolName};
use reelyard_replication::{AppliedEvent, JournalCommand, Owner, Replicated};

use super::changes::changes_of;
use super::grants::MYSELF;
use crate::box_lease::policy::box_key::BoxKey;
use crate::box_lease::policy::terms::HoldLimit;
use crate::box_lease::state::box_table::FoundLease;
use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal};
use crate::box_lease::state::lease::LeaseEnd;
use crate::box_lease::state::pool::BoxPhase;
use crate::box_lease::{BoxChange, BoxError, BoxLease, SharedTable};

/// Of how many leases one event says that they have their full terms again.
pub const TERMS_AT_ONCE: usize = 500;

impl Handler<JournalCommand> for BoxLease {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.obey(command, ctx);
    }
}

impl Owner for BoxLease {
    type Piece = SharedTable;
    type Change = BoxChange;

    const NAME: &'static str = MYSELF;
    const SUBJECT: &'static str = "boxes";

    fn shell(&mut self) -> &mut Replicated<SharedTable, BoxChange> {
        &mut self.replica
    }

    fn commit_time(&self) -> Millis {
        self.clock.now()
    }

    fn on_applied(&mut self, entry: &[AppliedEvent<SharedTable>], ctx: &mut Context<Self>) {
        if self.replica.epoch().is_some() {
            self.follow(entry, ctx);
        }
        self.note_stale(ctx);
    }

    fn on_installed(&mut self, ctx: &mut Context<Self>) {
        self.show_table(false);
        self.note_stale(ctx);
    }

    fn on_leader_started(&mut self, epoch: Epoch, ctx: &mut Context<Self>) {
        let pools = self.replica.piece().read().pools().len();
        tracing::info!(%epoch, pools, "leading: this node decides on boxes");
        self.forget_all(&BoxError::LeaderChanged);
        self.become_leader(ctx);
    }

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {
        self.forget_all(&BoxError::LeaderChanged);
        self.publish_view();
    }

    fn on_caught_up(&mut self, is_current: bool) {
        self.show_table(is_current);
    }

    fn changes_of(&mut self, entry: &[AppliedEvent<SharedTable>]) -> Vec<(Millis, BoxChange)> {
        changes_of(&self.replica.piece().read(), entry)
    }

    fn take_turn(&mut self, ctx: &mut Context<Self>) {
        self.turn(ctx);
    }
}

impl BoxLease {
    /// The state in memory belongs to another leader from now on: every waiting caller gets this answer.
    fn forget_all(&mut self, error: &BoxError) {
        for waiter in self.waiters.take_all() {
            waiter.answer(&Err(error.clone()));
        }
        self.lines.clear();
        self.granting.clear();
        self.told.clear();
        self.terms.clear();
        self.groups = Default::default();
        self.cleanings.clear();
        self.looks.clear();
        self.rechecks.clear();
        self.noting_led = false;
        self.jobs.clear();
        self.probes.clear();
        self.orphans.clear();
        self.taking_back.clear();
    }

    /// This node decides from now on. Every live lease gets its full term again, once a boot until it is
    /// renewed. Every box that needs cleaning gets its grace again, every resting id its rest; and the
    /// host of a box looks at it before it is granted.
    fn become_leader(&mut self, ctx: &mut Context<Self>) {
        self.show_table(true);
        self.upkeep_at = None;
        let (now, boot, uptime) = (self.now(), self.clock.boot(), self.clock.uptime());
        let (mut draining, mut preparing, mut again) = (Vec::new(), Vec::new(), Vec::new());
        {
            let table = self.replica.piece().read();
            for (name, pool) in table.pools() {
                let line = self.lines.entry(name.clone()).or_default();
                line.sync_all(pool);
                if let (Some(range), Some(slots)) = (pool.spec().slots, pool.slots()) {
                    line.rests.begin(slots.next_rest(), range.rest, now.monotonic);
                }
                if !pool.spec().is_logical() {
                    self.rechecks.insert(name.clone(), false);
                }
                let boxes = pool.boxes_from(BoxNumber(0));
                let dirty = boxes.filter(|(_, record)| record.state.phase() == BoxPhase::Draining);
                draining.extend(dirty.map(|(number, _)| (name.clone(), number)));
            }
            for lease in table.leases() {
                let most = table.pool(&lease.pool).ok().and_then(|pool| pool.spec().max_hold);
                let hold = HoldLimit { granted: lease.granted, most };
                if !lease.is_held() {
                    preparing.push((lease.token, lease.id, lease.request, lease.term));
                    continue;
                }
                let given = table.again.get(&lease.id);
                match given.and_then(|given| given.end(lease.renewals, boot)) {
                    Some(ends) => {
                        let rest = ends.saturating_sub(uptime);
                        self.terms.note_rest(lease.id, lease.term, rest, hold, now);
                    }
                    None => {
                        let term = self.terms.note_again(lease.id, lease.term, hold, now);
                        again.push((lease.id, lease.renewals, term));
                    }
                }
            }
        }
        for key in draining {
            self.maintain_box(&key, ctx);
        }
        self.put_terms_on_record(boot, uptime, again, ctx);
        self.prepare_again(preparing, ctx);
        self.watch_hosts(ctx);
        self.publish_view();
        self.turn(ctx);
    }

    /// The next leader of this boot gives these no full term again unless they are renewed; and readers
    /// see how long they last.
    fn put_terms_on_record(
        &mut self,
        boot: BootId,
        uptime: std::time::Duration,
        again: Vec<(LeaseId, u32, std::time::Duration)>,
        ctx: &mut Context<Self>,
    ) {
        let parts = again.chunks(TERMS_AT_ONCE);
        let given = |leases: &[_]| BoxEvent::TermsGiven { boot, uptime, leases: leases.to_vec() };
        let events: Vec<BoxEvent> = parts.map(given).collect();
        if !events.is_empty() {
            // Without an outcome they have their terms all the same, and once more the next time.
            self.commit(events, ctx);
        }
    }

    /// Leases that were being made ready under an earlier leader: callers of named requests may come back
    /// for them, the others cannot.
    fn prepare_again(
        &mut self,
        mut preparing: Vec<(
            reelyard_protocol::boxes::FenceToken,
            LeaseId,
            Option<reelyard_core::event::RequestId>,
            std::time::Duration,
        )>,
        ctx: &mut Context<Self>,
    ) {
        preparing.sort_unstable_by_key(|(token, ..)| *token);
        let mut named = std::collections::BTreeMap::new();
        for (_, id, request, term) in preparing {
            match request {
                None => drop(self.orphans.insert(id)),
                Some(request) => {
                    named.entry(request).or_insert_with(|| (Vec::new(), term)).0.push(id);
                }
            }
        }
        for (leases, term) in named.into_values() {
            self.prepare(None, leases, term, ctx);
        }
    }

    /// Applied events start terms, cleanings and grants.
    fn follow(&mut self, applied: &[AppliedEvent<SharedTable>], ctx: &mut Context<Self>) {
        let mut touched = BTreeSet::new();
        let mut pools = BTreeSet::new();
        for AppliedEvent { event, result, .. } in applied {
            if let BoxEvent::Granted(grant) = event {
                self.follow_grant(grant, result, ctx);
                pools.insert(grant.pool.clone());
                continue;
            }
            match (event, result) {
                (_, Ok(BoxOutcome::Ended { leases })) => {
                    for id in leases {
                        touched.extend(self.follow_end(*id, ctx));
                    }
                }
                (BoxEvent::Prepared { leases, .. }, Ok(_)) => self.follow_prepared(leases, ctx),
                (BoxEvent::Renewed { lease, .. }, Ok(_)) => self.note_term(*lease),
                (
                    BoxEvent::Cleaned { pool, number, .. }
                    | BoxEvent::CleanFailed { pool, number, .. }
                    | BoxEvent::Quarantined { pool, number, .. }
                    | BoxEvent::Unquarantined { pool, number, .. },
                    Ok(_),
                ) => {
                    let key = (pool.clone(), *number);
                    self.jobs.on_record(&key);
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
                    | BoxEvent::PoolRemoved { pool }
                    | BoxEvent::Recheck { pool },
                    Ok(_),
                ) => {
                    self.follow_pool(pool, ctx);
                    pools.insert(pool.clone());
                }
                _ => {}
            }
        }
        for key in touched {
            self.follow_box(&key, ctx);
            pools.insert(key.0);
        }
        for pool in pools {
            self.follow_rests(&pool, ctx);
            self.grant_waiting(&pool, ctx);
            self.drop_line(&pool);
        }
    }

    /// A lease lasts until its time from now on.
    pub(in crate::box_lease) fn note_term(&mut self, id: LeaseId) {
        let now = self.now();
        let table = self.replica.piece().read();
        let Some(lease) = table.leases.get(&id) else { return };
        let most = table.pool(&lease.pool).ok().and_then(|pool| pool.spec().max_hold);
        let hold = HoldLimit { granted: lease.granted, most };
        if lease.is_held() {
            self.terms.note(id, lease.term, hold, now);
        }
    }

    /// Handles the end of a lease. Returns its box.
    fn follow_end(&mut self, id: LeaseId, ctx: &mut Context<Self>) -> Option<BoxKey> {
        self.terms.remove(id);
        self.told.remove(&id);
        self.orphans.remove(&id);
        self.taking_back.remove(&id);
        let (key, how, reason, held) = {
            let table = self.replica.piece().read();
            let FoundLease::Ended(ended) = table.find(id) else { return None };
            let held = ended.lease.is_held().then(|| ended.at.since(ended.lease.granted));
            ((ended.lease.pool.clone(), ended.lease.number), ended.how, ended.reason.clone(), held)
        };
        if let Some(held) = held.filter(|_| how != LeaseEnd::NotTaken) {
            self.line(&key.0).pace.note(held);
            self.counts(&key.0).holds.note(held);
        }
        self.ended_while_preparing(id, BoxRefusal::of_end(how, reason.as_ref()), ctx);
        Some(key)
    }

    /// Handles a changed box.
    fn follow_box(&mut self, key: &BoxKey, ctx: &mut Context<Self>) {
        {
            let table = self.replica.piece().read();
            if let Ok(pool) = table.pool(&key.0) {
                self.lines.entry(key.0.clone()).or_default().sync(pool, key.1);
            }
        }
        self.maintain_box(key, ctx);
    }

    /// All boxes of a pool may have changed.
    fn follow_pool(&mut self, name: &PoolName, ctx: &mut Context<Self>) {
        {
            let table = self.replica.piece().read();
            let Ok(pool) = table.pool(name) else { return };
            self.lines.entry(name.clone()).or_default().sync_all(pool);
        }
        self.look_soon(name, std::time::Duration::ZERO, ctx);
        self.watch_hosts(ctx);
        let Ok((goes, size)) =
            self.replica.piece().read().pool(name).map(|pool| (pool.goes(), pool.spec().size))
        else {
            return;
        };
        if goes {
            self.end_waiters_of(name, &BoxRefusal::PoolGoes { pool: name.clone() });
        } else {
            // A request for more boxes than now exist would block all requests behind it.
            self.end_waiters(name, &BoxRefusal::BadCount { most: size }, |count| count > size);
        }
    }

    /// No request waits for boxes of a pool that is being removed, or is gone.
    fn end_waiters_of(&mut self, name: &PoolName, refusal: &BoxRefusal) {
        self.end_waiters(name, refusal, |_| true);
    }

    /// Ends the waits of requests for that many boxes.
    fn end_waiters(&mut self, name: &PoolName, refusal: &BoxRefusal, of: impl Fn(u32) -> bool) {
        let Some(line) = self.lines.get(name) else { return };
        let waiting = line.queue.all().filter(|(_, count)| of(*count));
        let waiting: Vec<_> = waiting.map(|(id, _)| id).collect();
        for id in waiting {
            self.end_waiter(id, refusal.clone().into());
        }
    }

    /// Ids of a pool may have begun to rest.
    fn follow_rests(&mut self, name: &PoolName, ctx: &mut Context<Self>) {
        let now = self.now().monotonic;
        let next = {
            let table = self.replica.piece().read();
            let Ok(pool) = table.pool(name) else { return };
            let (Some(range), Some(slots)) = (pool.spec().slots, pool.slots()) else { return };
            let rests = &mut self.lines.entry(name.clone()).or_default().rests;
            rests.begin(slots.next_rest(), range.rest, now);
            rests.look(range.rest, now);
            rests.next(range.rest)
        };
        if let Some(at) = next {
            self.wake_at(at, ctx);
        }
    }

    /// A pool that is gone has no line.
    fn drop_line(&mut self, name: &PoolName) {
        if self.replica.piece().read().pool(name).is_err() {
            self.end_waiters_of(name, &BoxRefusal::NoPool { pool: name.clone() });
            self.lines.remove(name);
            self.counts.remove(name);
            self.looks.remove(name);
            self.rechecks.remove(name);
            self.jobs.forget(name);
        }
    }
}
