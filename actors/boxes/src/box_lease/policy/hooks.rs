//! The calls to the host of a pool: where, for which box, with which token.

use std::time::Duration;

use reelyard_protocol::boxes::{
    BoxInspection, BoxNumber, HookAnswer, HookKind, HookTarget, InspectedBox, PoolName, RunHook,
};

use super::decision_context::BoxDecisionContext;
use super::memory::BoxMemory;
use super::memory::box_key::BoxKey;
use super::memory::hook_calls::HookCall;
use crate::box_lease::state::event::BoxRefusal;
use crate::box_lease::state::pools::pool::{BoxPhase, BoxState};

impl BoxDecisionContext<'_> {
    /// Where hooks run for a pool. None for a pool without a host, or if another node leads.
    pub(in crate::box_lease) fn hook_target(
        &self,
        name: &PoolName,
    ) -> Result<Option<HookTarget>, BoxRefusal> {
        let Some(epoch) = self.epoch else { return Ok(None) };
        let found = self.table.pool(name)?;
        let spec = found.spec();
        let Some(host) = spec.host else { return Ok(None) };
        let (pool, hooks) = (name.clone(), spec.hooks.clone());
        // The link to the worker knows the cluster.
        Ok(Some(HookTarget { host, epoch, pool, hooks, cluster: None, ids: found.ids() }))
    }

    /// The hook to run for a box in its current state, and the number of its cleaning.
    pub(in crate::box_lease) fn hook_for(
        &self,
        key: &BoxKey,
        kind: HookKind,
        attempt: u32,
    ) -> Option<(RunHook, Option<u64>)> {
        let place = self.hook_target(&key.0).ok()??;
        let record = self.table.pool(&key.0).ok()?.find(key.1)?;
        let (cleaning, last_holder) = match &record.state {
            BoxState::Draining(draining) => (Some(draining.cleaning), draining.holder.clone()),
            _ => (None, None),
        };
        let holder = match self.table.lease_of(&key.0, key.1) {
            Some(lease) => Some(lease.holder.clone()),
            None => last_holder,
        };
        let box_id = match record.slot {
            Some(slot) => slot.0,
            None => key.1.0,
        };
        let token = record.token;
        let hook = RunHook { place, kind, number: key.1, box_id, token, holder, attempt };
        Some((hook, cleaning))
    }

    /// Whether each box of a pool draws an id when it is granted.
    pub(in crate::box_lease) fn draws_ids(&self, pool: &PoolName) -> bool {
        self.table.pool(pool).is_ok_and(|pool| pool.spec().slots.is_some())
    }

    /// The boxes of a pool that are not inspected yet.
    pub(in crate::box_lease) fn unchecked(&self, name: &PoolName) -> Vec<BoxNumber> {
        let Ok(pool) = self.table.pool(name) else { return Vec::new() };
        if pool.counts().of(BoxPhase::Unchecked) == 0 {
            return Vec::new();
        }
        let boxes = pool.boxes_from(BoxNumber(0));
        let unchecked = boxes.filter(|(_, record)| record.state.phase() == BoxPhase::Unchecked);
        unchecked.map(|(number, _)| number).collect()
    }

    /// The boxes of a pool that need a cleanup.
    pub(in crate::box_lease) fn draining_boxes(&self, name: &PoolName) -> Vec<BoxNumber> {
        let Ok(pool) = self.table.pool(name) else { return Vec::new() };
        let boxes = pool.boxes_from(BoxNumber(0));
        let dirty = boxes.filter(|(_, record)| record.state.phase() == BoxPhase::Draining);
        dirty.map(|(number, _)| number).collect()
    }

    /// Adds the boxes that the host was not asked about. In a pool that draws ids a free box has no id,
    /// so it cannot be dirty.
    pub(in crate::box_lease) fn with_undrawn(
        &self,
        pool: &PoolName,
        mut inspection: BoxInspection,
    ) -> BoxInspection {
        if self.draws_ids(pool) {
            let clean = self.unchecked(pool).into_iter();
            inspection.boxes = clean.map(|number| InspectedBox { number, dirt: None }).collect();
        }
        inspection
    }
}

impl BoxMemory {
    /// A hook has ended. Answers its call, unless that belongs to another leadership or box by now.
    pub(in crate::box_lease) fn hook_ended(
        &mut self,
        key: &BoxKey,
        run: u64,
        answer: &HookAnswer,
        took: Duration,
    ) -> Option<HookCall> {
        let call = self.hook_calls.of_boxes.get(key).copied().filter(|call| call.run == run)?;
        self.hook_calls.of_boxes.remove(key);
        let counts = self.counts(&key.0);
        match call.kind {
            HookKind::Init => counts.inits.record(took),
            HookKind::Cleanup => counts.cleanups.record(took),
        }
        counts.hook_failures += u64::from(matches!(answer, HookAnswer::Failed { .. }));
        match (answer, call.kind, call.lease) {
            (HookAnswer::Silent { why }, HookKind::Init, Some(_)) => {
                self.record_silence(&key.0, why)
            }
            (HookAnswer::Silent { .. }, ..) => {}
            _ => {
                self.hook_calls.silent_boxes.remove(key);
                self.hook_calls.silences.remove(&key.0);
            }
        }
        Some(call)
    }

    /// A host has inspected boxes of a pool. Answers the inspection, unless its call is another one by now.
    pub(in crate::box_lease) fn inspection_ended(
        &mut self,
        context: &BoxDecisionContext<'_>,
        pool: &PoolName,
        run: u64,
        answer: Result<BoxInspection, String>,
    ) -> Option<Result<BoxInspection, String>> {
        if self.hook_calls.looks.get(pool) != Some(&run) {
            return None;
        }
        self.hook_calls.looks.remove(pool);
        let answer = answer.map(|inspection| context.with_undrawn(pool, inspection));
        if answer.is_ok() {
            self.hook_calls.silent_pools.remove(pool);
            self.hook_calls.silences.remove(pool);
        }
        Some(answer)
    }
}
