//! Cleans boxes, and lets hosts inspect them before they are granted.

use std::time::Duration;

use reelyard_protocol::boxes::{
    BoxInspection, BoxNumber, HookAnswer, HookOutput, InspectedBox, PoolName,
};

use super::decision_context::BoxDecisionContext;
use super::memory::BoxMemory;
use super::memory::box_key::BoxKey;
use crate::box_lease::state::event::BoxEvent;
use crate::box_lease::state::pools::pool::{BoxPhase, BoxState, Draining};

/// How many boxes one event reports as inspected, and how many as dirty: with their evidence these fit an
/// entry of the journal.
const INSPECTED_AT_ONCE: usize = 2000;
const DIRTY_AT_ONCE: usize = 20;

/// The consequences of the end of a cleanup.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::box_lease) enum CleanupResult {
    /// The answer belongs to an earlier cleaning: nothing changes.
    Outdated,
    /// This event must be recorded.
    Record(Vec<BoxEvent>),
    /// The host did not answer, for this reason.
    Silent(String),
}

impl BoxDecisionContext<'_> {
    /// The cleaning that a box needs, and the number of its failed preparations.
    pub(in crate::box_lease) fn draining(&self, key: &BoxKey) -> Option<(&Draining, u32)> {
        let record = self.table.pool(&key.0).ok()?.find(key.1)?;
        match &record.state {
            BoxState::Draining(draining) => Some((draining, record.init_failures)),
            _ => None,
        }
    }

    /// Whether no host has work for a box: its pool has no host, or the pool draws ids and the box has
    /// none now. Another box may use the id that equals its number.
    pub(in crate::box_lease) fn has_nothing_to_clean(&self, key: &BoxKey) -> bool {
        let Ok(pool) = self.table.pool(&key.0) else { return false };
        let has_id = pool.find(key.1).is_some_and(|record| record.slot.is_some());
        pool.spec().is_logical() || pool.spec().slots.is_some() && !has_id
    }

    /// The events that record the end of a cleanup.
    pub(in crate::box_lease) fn cleanup_result(
        &self,
        key: &BoxKey,
        cleaning: u64,
        answer: HookAnswer,
    ) -> CleanupResult {
        let Some((draining, init_failures)) = self.draining(key) else {
            return CleanupResult::Outdated;
        };
        let Ok(found) = self.table.pool(&key.0) else { return CleanupResult::Outdated };
        if draining.cleaning != cleaning {
            return CleanupResult::Outdated;
        }
        let attempts = found.spec().clean_attempts;
        let (pool, number) = key.clone();
        match answer {
            HookAnswer::Done { .. } if init_failures >= attempts => {
                let output = draining.output.clone().unwrap_or_default();
                CleanupResult::Record(vec![quarantined(key, cleaning, output)])
            }
            HookAnswer::Done { output } => {
                CleanupResult::Record(vec![BoxEvent::Cleaned { pool, number, cleaning, output }])
            }
            HookAnswer::Failed { output } => {
                let attempt = draining.failures + 1;
                let evidence = output.clone();
                let mut events =
                    vec![BoxEvent::CleanFailed { pool, number, cleaning, attempt, output }];
                if attempt >= attempts {
                    events.push(quarantined(key, cleaning, evidence));
                }
                CleanupResult::Record(events)
            }
            HookAnswer::Silent { why } => CleanupResult::Silent(why),
        }
    }

    /// Whether a pool has boxes that are not inspected.
    pub(in crate::box_lease) fn has_unchecked(&self, pool: &PoolName) -> bool {
        self.table.pool(pool).is_ok_and(|pool| pool.counts().of(BoxPhase::Unchecked) > 0)
    }
}

impl BoxMemory {
    /// Plans the cleanup of a box that may have changed, unless one is planned or running. It starts after
    /// a grace, because a holder may not know yet that its lease has ended. After a failed cleanup it
    /// starts after a pause. Returns the time by the monotonic clock.
    pub(in crate::box_lease) fn plan_cleanup(
        &mut self,
        context: &BoxDecisionContext<'_>,
        key: &BoxKey,
    ) -> Option<Duration> {
        let Some((draining, _)) = context.draining(key) else {
            self.cleanings.remove(key);
            return None;
        };
        if self.hook_calls.has(key) || self.cleanings.has(key) {
            return None;
        }
        let spec = context.table.pool(&key.0).ok()?.spec();
        let delay = match (draining.failures, draining.after) {
            (0, Some(how)) if how.may_surprise() => spec.grace,
            (0, _) => Duration::ZERO,
            (failures, _) => spec.clean_again().after_failures(failures),
        };
        Some(self.clean_after(context, key, delay))
    }

    /// A box is cleaned after `delay`. Answers when, by the monotonic clock.
    pub(in crate::box_lease) fn clean_after(
        &mut self,
        context: &BoxDecisionContext<'_>,
        key: &BoxKey,
        delay: Duration,
    ) -> Duration {
        let at = context.now.monotonic.saturating_add(delay);
        self.cleanings.set(key.clone(), at);
        at
    }

    /// Plans an inspection of a pool after `delay`, if it has boxes that are not inspected. Answers when.
    pub(in crate::box_lease) fn plan_inspection(
        &mut self,
        context: &BoxDecisionContext<'_>,
        pool: &PoolName,
        delay: Duration,
    ) -> Option<Duration> {
        let is_planned = self.inspections.has(pool) || self.hook_calls.looks_at(pool);
        if is_planned || !context.has_unchecked(pool) {
            return None;
        }
        let at = context.now.monotonic.saturating_add(delay);
        self.inspections.set(pool.clone(), at);
        Some(at)
    }

    /// An operator has repaired the host of a pool: its work is retried at once.
    pub(in crate::box_lease) fn ask_again(
        &mut self,
        context: &BoxDecisionContext<'_>,
        pool: &PoolName,
    ) {
        self.inspections.remove(pool);
        self.plan_inspection(context, pool, Duration::ZERO);
        for number in context.draining_boxes(pool) {
            let key = (pool.clone(), number);
            // It waits only because its host was silent.
            if self.cleanings.has(&key) && self.hook_calls.silent_boxes.contains_key(&key) {
                self.cleanings.set(key, context.now.monotonic);
            }
        }
        self.hook_calls.forget(pool);
    }
}

fn quarantined(key: &BoxKey, cleaning: u64, output: HookOutput) -> BoxEvent {
    let (pool, number) = key.clone();
    BoxEvent::Quarantined { pool, number, cleaning: Some(cleaning), output, by: None }
}

/// The events that record an inspection. Higher tokens of the host come first, because the boxes can be
/// granted only with tokens behind them.
pub(in crate::box_lease) fn inspection_events(
    pool: &PoolName,
    inspection: BoxInspection,
) -> Vec<BoxEvent> {
    let (mut clean, mut dirty) = (Vec::new(), Vec::new());
    for InspectedBox { number, dirt } in inspection.boxes {
        match dirt {
            None => clean.push(number),
            Some(output) => dirty.push((number, output)),
        }
    }
    let mut events = Vec::new();
    if let Some(beyond) = inspection.highest {
        events.push(BoxEvent::TokensRaised { pool: pool.clone(), beyond });
    }
    for clean in clean.chunks(INSPECTED_AT_ONCE) {
        events.push(reconciled(pool, clean, &[]));
    }
    for dirty in dirty.chunks(DIRTY_AT_ONCE) {
        events.push(reconciled(pool, &[], dirty));
    }
    events
}

fn reconciled(pool: &PoolName, clean: &[BoxNumber], dirty: &[(BoxNumber, HookOutput)]) -> BoxEvent {
    BoxEvent::Reconciled { pool: pool.clone(), clean: clean.to_vec(), dirty: dirty.to_vec() }
}
