//! The actor's timed work.

use std::time::Duration;

use actix::Context;
use reelyard_core::clock::ClockReading;
use reelyard_protocol::boxes::{LeaseId, PoolName};
use reelyard_replication::{OwnerCommits, OwnerTicks};

use crate::box_lease::BoxLease;
use crate::box_lease::policy::upkeep::LEASES_AT_ONCE;
use crate::box_lease::state::event::BoxEvent;

/// The longest sleep, so that jumps of the clock and suspends are noticed.
pub(in crate::box_lease) const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The shortest pause between ticks: work that is due within it is done together.
pub(in crate::box_lease) const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// How often waiting callers get their progress.
const PROGRESS: Duration = Duration::from_millis(100);

/// How often old records are checked for removal.
const UPKEEP: Duration = Duration::from_secs(1);

impl BoxLease {
    /// Schedules a tick at this instant of the monotonic clock, or earlier.
    pub(in crate::box_lease) fn wake_at(&mut self, at: Option<Duration>, ctx: &mut Context<Self>) {
        if let Some(at) = at {
            let delay = at.saturating_sub(self.now().monotonic);
            self.wake_after(delay.clamp(SHORTEST_SLEEP, LONGEST_SLEEP), ctx);
        }
    }

    /// Whether decisions pause because a commit came back without an outcome.
    pub(in crate::box_lease) fn is_held_up(&self) -> bool {
        self.replica.pause_left().is_some()
    }

    /// Decides all due work.
    pub(in crate::box_lease) fn decide(&mut self, ctx: &mut Context<Self>) {
        let now = self.now();
        self.record_led(ctx);
        self.recheck(ctx);
        self.expire(ctx);
        self.end_rests(ctx);
        self.retry_failed(ctx);
        self.probe_due(ctx);
        while let Some(key) = self.memory.cleanings.take_due(now.monotonic) {
            self.clean(key, ctx);
        }
        while let Some(pool) = self.memory.inspections.take_due(now.monotonic) {
            self.start_inspection(pool, ctx);
        }
        // A request that is served at this instant counts as in time.
        while let Some(waiter) = self.memory.waiters.deadlines.take_due(now.monotonic) {
            self.time_out(waiter, ctx);
        }
        let is_upkeep_due =
            self.upkeep_at.is_none_or(|last| now.monotonic.saturating_sub(last) >= UPKEEP);
        if is_upkeep_due {
            self.upkeep_at = Some(now.monotonic);
            self.upkeep(ctx);
        }
        self.notify_progress(ctx);
        self.wake_for_next(now, ctx);
        if self.memory.is_stale {
            self.replica.mark_stale();
        }
    }

    fn wake_for_next(&mut self, now: ClockReading, ctx: &mut Context<Self>) {
        let memory = &self.memory;
        let others = [
            memory.cleanings.next(),
            memory.inspections.next(),
            memory.waiters.deadlines.next(),
            memory.probes.next(),
        ];
        let others = others.into_iter().flatten().map(|at| at.saturating_sub(now.monotonic));
        let next = others.chain(memory.terms.next(now)).min();
        if let Some(delay) = next {
            self.wake_after(delay.clamp(SHORTEST_SLEEP, LONGEST_SLEEP), ctx);
        }
    }

    /// Ends the leases that are past their terms.
    fn expire(&mut self, ctx: &mut Context<Self>) {
        loop {
            let over = self.policy(|memory, at| memory.take_expired(at));
            if over.is_empty() {
                return;
            }
            let event = BoxEvent::TermsPassed { leases: over.clone() };
            self.commit_then(vec![event], ctx, move |actor, _, ctx| {
                let is_due = actor.policy(|memory, at| memory.put_back_expired(at, &over));
                if is_due {
                    actor.soon(ctx);
                }
            });
        }
    }

    /// Ids may have rested long enough.
    fn end_rests(&mut self, ctx: &mut Context<Self>) {
        let ended = self.policy(|memory, at| memory.end_rests(at));
        for pool in ended.ready {
            self.grant_waiting(&pool, ctx);
        }
        self.wake_at(ended.next, ctx);
    }

    /// Repeats the work that failed.
    fn retry_failed(&mut self, ctx: &mut Context<Self>) {
        self.commit_ready(ctx);
        let orphans: Vec<LeaseId> = std::mem::take(&mut self.memory.orphans).into_iter().collect();
        for leases in orphans.chunks(LEASES_AT_ONCE) {
            self.return_leases(leases.to_vec(), ctx);
        }
        let allocators = self.memory.allocators.iter();
        let waiting = allocators.filter(|(_, allocator)| !allocator.queue.is_empty());
        let waiting: Vec<PoolName> = waiting.map(|(name, _)| name.clone()).collect();
        for pool in waiting {
            self.grant_waiting(&pool, ctx);
        }
    }

    /// Records that this leader decides.
    fn record_led(&mut self, ctx: &mut Context<Self>) {
        if self.recording_led {
            return;
        }
        let (_, context) = self.at();
        let event = context.led_event();
        let before = context.table.led();
        drop(context);
        let Some(event) = event else { return };
        self.recording_led = true;
        if let BoxEvent::Led { epoch, beyond: Some(beyond) } = &event {
            tracing::warn!(
                %epoch, %before, %beyond,
                "store restored: fencing tokens of all pools raised above those given since the backup"
            );
        }
        self.commit_then(vec![event], ctx, |actor, result, ctx| {
            actor.recording_led = false;
            if result.is_err() {
                actor.soon(ctx);
                return;
            }
            let pools: Vec<PoolName> = actor.memory.allocators.keys().cloned().collect();
            for pool in pools {
                actor.grant_waiting(&pool, ctx);
            }
        });
    }

    /// Records that the boxes must be inspected before they are granted.
    fn recheck(&mut self, ctx: &mut Context<Self>) {
        for pool in self.memory.drain_rechecks() {
            let event = BoxEvent::Recheck { pool: pool.clone() };
            self.commit_then(vec![event], ctx, move |actor, result, ctx| match result {
                Ok(_) => {
                    actor.memory.rechecks.remove(&pool);
                    actor.grant_waiting(&pool, ctx);
                }
                Err(_) => {
                    if let Some(is_under_way) = actor.memory.rechecks.get_mut(&pool) {
                        *is_under_way = false;
                    }
                    actor.soon(ctx);
                }
            });
        }
    }

    /// Forgets records that are too old or too many.
    fn upkeep(&mut self, ctx: &mut Context<Self>) {
        let wrong_tokens = self.memory.drain_wrong_tokens();
        if !wrong_tokens.is_empty() {
            self.commit(wrong_tokens, ctx);
        }
        let event = self.policy(|memory, at| memory.forget_records(at));
        let Some(event) = event else { return };
        self.commit_then(vec![event], ctx, |actor, result, ctx| {
            if result.is_ok() {
                // There may be more records than one event forgets.
                actor.upkeep(ctx);
            }
        });
    }

    /// Sends their progress to waiting callers, at intervals.
    pub(in crate::box_lease) fn notify_progress(&mut self, ctx: &mut Context<Self>) {
        if self.memory.allocators.values().all(|allocator| allocator.queue.is_empty()) {
            return;
        }
        let now = self.now().monotonic;
        match self.progress_at.map(|last| PROGRESS.saturating_sub(now.saturating_sub(last))) {
            Some(left) if !left.is_zero() => self.wake_after(left, ctx),
            _ => {
                self.progress_at = Some(now);
                self.policy(|memory, at| memory.notify_progress(at));
            }
        }
    }
}
