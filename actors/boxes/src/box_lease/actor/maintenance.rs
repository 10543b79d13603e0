//! Cleaning boxes, and having them looked at before they are granted.

use std::time::Duration;

use actix::Context;
use reelyard_protocol::boxes::{
    BoxInspection, BoxNumber, HookAnswer, HookKind, HookOutput, InspectedBox, PoolName,
};
use reelyard_replication::Owner;

use crate::box_lease::BoxLease;
use crate::box_lease::policy::box_key::BoxKey;
use crate::box_lease::state::event::BoxEvent;
use crate::box_lease::state::pool::{BoxPhase, BoxState, Draining};

/// How many boxes one event reports as inspected, and how many as dirty: with their evidence these fit an
/// entry of the journal.
const LOOKED_AT_ONCE: usize = 2000;
const DIRTY_AT_ONCE: usize = 20;

/// After which time boxes are looked at again that a host left out.
const LEFT_OUT: Duration = Duration::from_secs(1);

impl BoxLease {
    fn draining(&self, key: &BoxKey) -> Option<(Draining, u32)> {
        let table = self.replica.piece().read();
        let record = table.pool(&key.0).ok()?.find(key.1)?;
        match &record.state {
            BoxState::Draining(draining) => Some((draining.clone(), record.init_failures)),
            _ => None,
        }
    }

    /// Handles a box that may have changed. A box that needs cleaning is cleaned after a grace for a
    /// holder that may not know of the end yet, or after a pause if the cleaning failed before.
    pub(in crate::box_lease) fn maintain_box(&mut self, key: &BoxKey, ctx: &mut Context<Self>) {
        let Some((draining, _)) = self.draining(key) else {
            self.cleanings.remove(key);
            return;
        };
        if self.jobs.has(key) || self.cleanings.has(key) {
            return;
        }
        let table = self.replica.piece().read();
        let Ok(pool) = table.pool(&key.0) else { return };
        let spec = pool.spec();
        let delay = match (draining.failures, draining.after) {
            (0, Some(how)) if how.may_surprise() => spec.grace,
            (0, _) => Duration::ZERO,
            (failures, _) => spec.clean_again().after_failures(failures),
        };
        drop(table);
        self.clean_after(key, delay, ctx);
    }

    fn clean_after(&mut self, key: &BoxKey, delay: Duration, ctx: &mut Context<Self>) {
        let at = self.now().monotonic.saturating_add(delay);
        self.cleanings.set(key.clone(), at);
        self.wake_at(at, ctx);
    }

    /// It is the turn of a box to be cleaned.
    pub(in crate::box_lease) fn clean(&mut self, key: BoxKey, ctx: &mut Context<Self>) {
        let Some((draining, _)) = self.draining(&key) else { return };
        if self.jobs.has(&key) {
            return;
        }
        if self.has_nothing_to_clean(&key) {
            let done = HookAnswer::Done { said: None };
            self.cleanup_ended(&key, draining.cleaning, done, ctx);
        } else {
            self.start_hook(key, HookKind::Cleanup, None, draining.failures + 1, ctx);
        }
    }

    /// Whether no host has work for a box: its pool has no host, or the pool draws ids and the box has
    /// none now. The id of its number may be in use by another box.
    fn has_nothing_to_clean(&self, key: &BoxKey) -> bool {
        let table = self.replica.piece().read();
        table.pool(&key.0).is_ok_and(|pool| {
            let has_id = || pool.find(key.1).is_some_and(|record| record.slot.is_some());
            pool.spec().is_logical() || pool.spec().slots.is_some() && !has_id()
        })
    }

    /// The result of a cleaning is known: it goes on record.
    pub(in crate::box_lease) fn cleanup_ended(
        &mut self,
        key: &BoxKey,
        cleaning: u64,
        answer: HookAnswer,
        ctx: &mut Context<Self>,
    ) {
        let Some((draining, init_failures)) = self.draining(key) else { return };
        if draining.cleaning != cleaning {
            return;
        }
        let attempts = match self.replica.piece().read().pool(&key.0) {
            Ok(pool) => pool.spec().clean_attempts,
            Err(_) => return,
        };
        let (pool, number) = key.clone();
        let quarantined = |said: HookOutput| {
            let (pool, cleaning) = (pool.clone(), Some(cleaning));
            BoxEvent::Quarantined { pool, number, cleaning, said, by: None }
        };
        let events = match answer {
            HookAnswer::Done { .. } if init_failures >= attempts => {
                vec![quarantined(draining.said.unwrap_or_default())]
            }
            HookAnswer::Done { said } => {
                vec![BoxEvent::Cleaned { pool: pool.clone(), number, cleaning, said }]
            }
            HookAnswer::Failed { said } => {
                let (attempt, evidence) = (draining.failures + 1, said.clone());
                let pool = pool.clone();
                let failed = BoxEvent::CleanFailed { pool, number, cleaning, attempt, said };
                let is_last = attempt >= attempts;
                [failed].into_iter().chain(is_last.then(|| quarantined(evidence))).collect()
            }
            HookAnswer::Silent { why } => {
                let pause = self.silent_box(key, &why);
                tracing::warn!(pool = %key.0, number = %key.1, why, "box not cleaned by its host");
                self.clean_after(key, pause, ctx);
                return;
            }
        };
        let run = self.jobs.settle(key);
        let key = key.clone();
        self.commit_then(events, ctx, move |actor, _, ctx| {
            actor.jobs.settled(&key, run);
            if actor.replica.epoch().is_some() {
                // Where that failed it is cleaned again rather than believed to be clean.
                actor.maintain_box(&key, ctx);
            }
        });
    }

    /// A pool with boxes that are not inspected is handled.
    pub(in crate::box_lease) fn look_soon(
        &mut self,
        pool: &PoolName,
        delay: Duration,
        ctx: &mut Context<Self>,
    ) {
        let has_unchecked = {
            let table = self.replica.piece().read();
            table.pool(pool).is_ok_and(|pool| pool.counts().of(BoxPhase::Unchecked) > 0)
        };
        if has_unchecked && !self.looks.has(pool) && !self.jobs.looks_at(pool) {
            let at = self.now().monotonic.saturating_add(delay);
            self.looks.set(pool.clone(), at);
            self.wake_at(at, ctx);
        }
    }

    /// A host has looked at boxes: that goes on record.
    pub(in crate::box_lease) fn look_ended(
        &mut self,
        pool: &PoolName,
        answer: Result<BoxInspection, String>,
        ctx: &mut Context<Self>,
    ) {
        let BoxInspection { boxes: looked_at, highest } = match answer {
            Ok(looked) => looked,
            Err(why) => {
                let pause = self.silent_pool(pool, &why);
                tracing::warn!(%pool, why, "boxes not inspected by their host");
                self.look_soon(pool, pause, ctx);
                return;
            }
        };
        let (mut clean, mut dirty) = (Vec::new(), Vec::new());
        for InspectedBox { number, dirt } in looked_at {
            match dirt {
                None => clean.push(number),
                Some(said) => dirty.push((number, said)),
            }
        }
        let reconciled = |clean: &[BoxNumber], dirty: &[(BoxNumber, HookOutput)]| {
            let (clean, dirty) = (clean.to_vec(), dirty.to_vec());
            BoxEvent::Reconciled { pool: pool.clone(), clean, dirty }
        };
        let of_clean = clean.chunks(LOOKED_AT_ONCE).map(|clean| reconciled(clean, &[]));
        let of_dirty = dirty.chunks(DIRTY_AT_ONCE).map(|dirty| reconciled(&[], dirty));
        // The boxes can be granted only behind that.
        let raised = highest.map(|beyond| {
            tracing::warn!(
                %pool, %beyond,
                "host knows higher fencing tokens than this node: tokens of the pool raised"
            );
            BoxEvent::TokensRaised { pool: pool.clone(), beyond }
        });
        let events: Vec<BoxEvent> = raised.into_iter().chain(of_clean).chain(of_dirty).collect();
        if events.is_empty() {
            self.look_soon(pool, LEFT_OUT, ctx);
            return;
        }
        let pool = pool.clone();
        self.commit_then(events, ctx, move |actor, _, ctx| {
            if actor.replica.epoch().is_some() {
                actor.look_soon(&pool, LEFT_OUT, ctx);
            }
        });
    }
}
