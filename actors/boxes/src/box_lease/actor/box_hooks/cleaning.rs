//! Cleans boxes, and lets hosts inspect them before they are granted.

use std::time::Duration;

use actix::Context;
use reelyard_protocol::boxes::{BoxInspection, HookAnswer, HookKind, PoolName};
use reelyard_replication::{OwnerCommits, OwnerTicks};

use crate::box_lease::BoxLease;
use crate::box_lease::policy::cleaning::{CleanupResult, inspection_events};
use crate::box_lease::policy::memory::box_key::BoxKey;

/// The pause before boxes are inspected again that a host left out.
const LEFT_OUT: Duration = Duration::from_secs(1);

impl BoxLease {
    /// A box may have changed: a cleanup that it needs is planned.
    pub(in crate::box_lease) fn plan_cleanup(&mut self, key: &BoxKey, ctx: &mut Context<Self>) {
        let at = self.policy(|memory, at| memory.plan_cleanup(at, key));
        self.wake_at(at, ctx);
    }

    /// A box is due for cleaning.
    pub(in crate::box_lease) fn clean(&mut self, key: BoxKey, ctx: &mut Context<Self>) {
        let (memory, context) = self.at();
        let Some((draining, _)) = context.draining(&key) else { return };
        if memory.hook_calls.has(&key) {
            return;
        }
        let (cleaning, attempt) = (draining.cleaning, draining.failures + 1);
        let has_nothing_to_clean = context.has_nothing_to_clean(&key);
        drop(context);
        if has_nothing_to_clean {
            self.cleanup_ended(&key, cleaning, HookAnswer::Done { output: None }, ctx);
        } else {
            self.start_hook(key, HookKind::Cleanup, None, attempt, ctx);
        }
    }

    /// Records the known result of a cleanup.
    pub(in crate::box_lease) fn cleanup_ended(
        &mut self,
        key: &BoxKey,
        cleaning: u64,
        answer: HookAnswer,
        ctx: &mut Context<Self>,
    ) {
        let (memory, context) = self.at();
        let events = match context.cleanup_result(key, cleaning, answer) {
            CleanupResult::Outdated => return,
            CleanupResult::Silent(why) => {
                let pause = memory.silent_box(key, &why);
                let at = memory.clean_after(&context, key, pause);
                drop(context);
                tracing::warn!(pool = %key.0, number = %key.1, why, "box not cleaned by its host");
                self.wake_at(Some(at), ctx);
                return;
            }
            CleanupResult::Record(events) => events,
        };
        drop(context);
        let run = self.memory.hook_calls.begin_commit(key);
        let key = key.clone();
        self.commit_then(events, ctx, move |actor, _, ctx| {
            actor.memory.hook_calls.end_commit(&key, run);
            if actor.replica.epoch().is_some() {
                // If that failed, the box is cleaned again, because it may be dirty.
                actor.plan_cleanup(&key, ctx);
            }
        });
    }

    /// Plans an inspection of a pool, if it has boxes that are not inspected.
    pub(in crate::box_lease) fn plan_inspection(
        &mut self,
        pool: &PoolName,
        delay: Duration,
        ctx: &mut Context<Self>,
    ) {
        let at = self.policy(|memory, at| memory.plan_inspection(at, pool, delay));
        self.wake_at(at, ctx);
    }

    /// Records which boxes a host has inspected.
    pub(in crate::box_lease) fn record_inspection(
        &mut self,
        pool: &PoolName,
        answer: Result<BoxInspection, String>,
        ctx: &mut Context<Self>,
    ) {
        let inspection = match answer {
            Ok(inspection) => inspection,
            Err(why) => {
                let pause = self.memory.silent_pool(pool, &why);
                tracing::warn!(%pool, why, "boxes not inspected by their host");
                self.plan_inspection(pool, pause, ctx);
                return;
            }
        };
        if let Some(beyond) = inspection.highest {
            tracing::warn!(
                %pool, %beyond,
                "host knows higher fencing tokens than this node: tokens of the pool raised"
            );
        }
        let events = inspection_events(pool, inspection);
        if events.is_empty() {
            self.plan_inspection(pool, LEFT_OUT, ctx);
            return;
        }
        let pool = pool.clone();
        self.commit_then(events, ctx, move |actor, _, ctx| {
            if actor.replica.epoch().is_some() {
                actor.plan_inspection(&pool, LEFT_OUT, ctx);
            }
        });
    }

    /// An operator has repaired the host of a pool: its work is retried at once.
    pub(in crate::box_lease) fn ask_again(&mut self, pool: &PoolName, ctx: &mut Context<Self>) {
        self.policy(|memory, at| memory.ask_again(at, pool));
        self.soon(ctx);
    }
}
