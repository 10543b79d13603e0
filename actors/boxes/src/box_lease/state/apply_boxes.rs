//! How events change pools and their boxes. Deterministic.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_protocol::boxes::{BoxNumber, FenceToken, HookOutput, LeaseId, PoolName};

use super::apply::BoxApplyResult;
use super::box_table::{BoxTable, DroppedPool, FoundLease};
use super::event::{BoxLogEvent, BoxOutcome, BoxRefusal};
use super::pools::pool::{BoxPhase, BoxState, Draining, Pool};
use super::pools::slots::Slots;
use super::pools::spec::PoolSpec;

impl BoxTable {
    pub(in crate::box_lease) fn put_pool(
        &mut self,
        at: Millis,
        name: &PoolName,
        spec: &PoolSpec,
    ) -> BoxApplyResult {
        spec.check()?;
        let created = !self.pools.contains_key(name);
        if let Some(pool) = self.pools.get(name) {
            if *pool.spec == *spec && !pool.goes {
                return Ok(BoxOutcome::AlreadySo);
            }
            if !pool.spec.is_served_as(spec) && !pool.is_idle() {
                return Err(BoxRefusal::PoolInUse { pool: name.clone() });
            }
        } else {
            let dropped = self.dropped_pools.remove(name);
            self.pools.insert(name.clone(), Pool::after(dropped, spec));
        }
        if let Some(pool) = self.pools.get_mut(name) {
            pool.become_as(spec, at);
        }
        Ok(BoxOutcome::PoolPut { created })
    }

    /// Puts a pool of a version of the settings, unless that was done.
    pub(super) fn put_pool_by_settings(
        &mut self,
        at: Millis,
        pool: &PoolName,
        spec: &PoolSpec,
        version: u64,
    ) -> BoxApplyResult {
        if self.is_put_by_settings(pool, version) {
            return Ok(BoxOutcome::AlreadySo);
        }
        self.check_ids(pool, spec)?;
        let outcome = self.put_pool(at, pool, spec)?;
        self.put_by_settings.insert(pool.clone(), version);
        Ok(outcome)
    }

    /// Makes all later tokens of a pool larger than `beyond`.
    pub(super) fn raise_tokens(&mut self, pool: &PoolName, beyond: FenceToken) -> BoxApplyResult {
        let pool = self.pool_mut(pool)?;
        if beyond <= pool.last_token {
            return Ok(BoxOutcome::AlreadySo);
        }
        pool.last_token = beyond;
        Ok(BoxOutcome::Applied)
    }

    /// The same for all pools, dropped ones included.
    pub(super) fn raise_all_tokens(&mut self, beyond: Option<FenceToken>) {
        let Some(beyond) = beyond else { return };
        let pools = self.pools.values_mut().map(|pool| &mut pool.last_token);
        let gone = self.dropped_pools.values_mut().map(|left| &mut left.last_token);
        pools.chain(gone).for_each(|last| *last = beyond.max(*last));
    }

    /// Logs at the first box of a pool that its boxes were adopted.
    pub(super) fn log_adoption(
        &mut self,
        at: Millis,
        pool: &PoolName,
        news: BoxLogEvent,
    ) -> BoxApplyResult {
        let first = self.pool(pool)?.boxes_from(BoxNumber(0)).map(|(number, _)| number).next();
        self.log_box_event(at, pool, first.unwrap_or_default(), news);
        Ok(BoxOutcome::Applied)
    }

    /// Logs at the box of a lease that a request had the wrong token.
    pub(super) fn log_wrong_token(
        &mut self,
        at: Millis,
        lease: LeaseId,
        news: BoxLogEvent,
    ) -> BoxApplyResult {
        let (pool, number) = match self.find(lease) {
            FoundLease::Live(lease) => (lease.pool.clone(), lease.number),
            FoundLease::Ended(ended) => (ended.lease.pool.clone(), ended.lease.number),
            FoundLease::Unknown => return Err(BoxRefusal::UnknownLease),
        };
        self.log_box_event(at, &pool, number, news);
        Ok(BoxOutcome::Applied)
    }

    /// Whether no other pool has boxes with the same numbers, host and hooks.
    pub(in crate::box_lease) fn check_ids(
        &self,
        name: &PoolName,
        spec: &PoolSpec,
    ) -> Result<(), BoxRefusal> {
        spec.check()?;
        let Some(host) = spec.host else { return Ok(()) };
        let (ids, hooks) = (spec.ids(), spec.hooks_name(name));
        let others = self.pools.iter().filter(|(other, pool)| {
            *other != name && pool.spec.host == Some(host) && pool.spec.hooks_name(other) == hooks
        });
        for (other, pool) in others {
            let shared = pool.ids().into_iter().find_map(|range| range.shared(ids));
            if let Some(ids) = shared {
                let (pool, other, hooks) = (name.clone(), other.clone(), hooks.to_owned());
                return Err(BoxRefusal::IdsTaken { pool, ids, hooks, host, other });
            }
        }
        Ok(())
    }

    pub(in crate::box_lease) fn remove_pool(&mut self, name: &PoolName) -> BoxApplyResult {
        let pool = self.pool_mut(name)?;
        pool.goes = true;
        // No operator will take them back into use.
        for number in pool.numbers_in(BoxPhase::Quarantined) {
            pool.remove(number);
        }
        pool.retire(|_| true);
        let gone = self.drop_if_gone(name);
        Ok(BoxOutcome::PoolRemoved { gone })
    }

    /// A cleaning that is still running.
    fn cleaning(
        &mut self,
        name: &PoolName,
        number: BoxNumber,
        cleaning: u64,
    ) -> Result<&mut Draining, BoxRefusal> {
        let pool = self.pool_mut(name)?;
        let record = pool.boxes.get_mut(&number);
        let record = record.ok_or_else(|| BoxRefusal::NoBox { pool: name.clone(), number })?;
        match &mut record.state {
            BoxState::Draining(draining) if draining.cleaning == cleaning => Ok(draining),
            _ => Err(BoxRefusal::WentOn),
        }
    }

    pub(in crate::box_lease) fn cleaned(
        &mut self,
        at: Millis,
        name: &PoolName,
        number: BoxNumber,
        cleaning: u64,
        output: Option<HookOutput>,
    ) -> BoxApplyResult {
        self.cleaning(name, number, cleaning)?;
        self.log_box_event(at, name, number, BoxLogEvent::Cleaned(output));
        let pool = self.pool_mut(name)?;
        pool.totals.cleaned += 1;
        pool.free(number, at);
        self.drop_if_gone(name);
        Ok(BoxOutcome::Boxes { changed: 1 })
    }

    pub(in crate::box_lease) fn clean_failed(
        &mut self,
        at: Millis,
        name: &PoolName,
        number: BoxNumber,
        (cleaning, attempt): (u64, u32),
        output: &HookOutput,
    ) -> BoxApplyResult {
        let draining = self.cleaning(name, number, cleaning)?;
        if draining.failures + 1 != attempt {
            return Err(BoxRefusal::WentOn);
        }
        draining.failures = attempt;
        draining.output = Some(output.clone());
        self.log_box_event(
            at,
            name,
            number,
            BoxLogEvent::CleanFailed { attempt, output: output.clone() },
        );
        self.pool_mut(name)?.totals.clean_failures += 1;
        Ok(BoxOutcome::CleanAgain)
    }

    pub(in crate::box_lease) fn quarantine(
        &mut self,
        at: Millis,
        name: &PoolName,
        number: BoxNumber,
        cleaning: Option<u64>,
        output: &HookOutput,
        by: Option<&String>,
    ) -> BoxApplyResult {
        if let Some(cleaning) = cleaning {
            self.cleaning(name, number, cleaning)?;
        }
        let record = self.pool(name)?.find(number);
        match record.map(|record| record.state.phase()) {
            None => return Err(BoxRefusal::NoBox { pool: name.clone(), number }),
            Some(BoxPhase::Preparing | BoxPhase::Leased) => return Err(BoxRefusal::BoxInUse),
            Some(BoxPhase::Quarantined) => return Err(BoxRefusal::AlreadyQuarantined),
            Some(BoxPhase::Free | BoxPhase::Unchecked | BoxPhase::Draining) => {}
        }
        let news = BoxLogEvent::Quarantined { output: output.clone(), by: by.cloned() };
        self.log_box_event(at, name, number, news);
        let pool = self.pool_mut(name)?;
        pool.totals.quarantined += 1;
        if pool.goes {
            // It would block its pool permanently.
            pool.remove(number);
            self.drop_if_gone(name);
            return Ok(BoxOutcome::Boxes { changed: 1 });
        }
        pool.insert(number, BoxState::Quarantined { output: output.clone(), by: by.cloned() }, at);
        Ok(BoxOutcome::Boxes { changed: 1 })
    }

    pub(in crate::box_lease) fn unquarantine(
        &mut self,
        at: Millis,
        name: &PoolName,
        number: BoxNumber,
        by: &str,
    ) -> BoxApplyResult {
        let record = self.pool(name)?.find(number);
        match record.map(|record| record.state.phase()) {
            None => return Err(BoxRefusal::NoBox { pool: name.clone(), number }),
            Some(BoxPhase::Quarantined) => {}
            Some(_) => return Err(BoxRefusal::NotQuarantined),
        }
        self.log_box_event(at, name, number, BoxLogEvent::Unquarantined { by: by.to_owned() });
        let pool = self.pool_mut(name)?;
        if let Some(record) = pool.boxes.get_mut(&number) {
            record.init_failures = 0;
        }
        if pool.spec.is_logical() {
            pool.free(number, at);
        } else {
            let state = pool.next_cleaning(None, None);
            pool.insert(number, state, at);
        }
        self.drop_if_gone(name);
        Ok(BoxOutcome::Boxes { changed: 1 })
    }

    pub(in crate::box_lease) fn recheck(&mut self, at: Millis, name: &PoolName) -> BoxApplyResult {
        let pool = self.pool_mut(name)?;
        if pool.spec.is_logical() {
            return Ok(BoxOutcome::AlreadySo);
        }
        let free = pool.numbers_in(BoxPhase::Free);
        for number in &free {
            pool.insert(*number, BoxState::Unchecked, at);
        }
        Ok(changed(free.len()))
    }

    pub(in crate::box_lease) fn reconcile(
        &mut self,
        at: Millis,
        name: &PoolName,
        clean: &[BoxNumber],
        dirty: &[(BoxNumber, HookOutput)],
    ) -> BoxApplyResult {
        let pool = self.pool_mut(name)?;
        let mut count = 0;
        for number in clean {
            if pool.is_unchecked(*number) {
                pool.free(*number, at);
                count += 1;
            }
        }
        for (number, output) in dirty {
            let pool = self.pool_mut(name)?;
            if !pool.is_unchecked(*number) {
                continue;
            }
            let state = pool.next_cleaning(None, None);
            pool.insert(*number, state, at);
            self.log_box_event(at, name, *number, BoxLogEvent::FoundDirty(output.clone()));
            count += 1;
        }
        self.drop_if_gone(name);
        Ok(changed(count))
    }
}

fn changed(count: usize) -> BoxOutcome {
    BoxOutcome::Boxes { changed: u32::try_from(count).unwrap_or(u32::MAX) }
}

impl Pool {
    /// A new pool that continues where an earlier pool of its name ended.
    fn after(dropped: Option<DroppedPool>, spec: &PoolSpec) -> Self {
        let (last_token, slots) =
            dropped.map_or_else(Default::default, |left| (left.last_token, left.slots));
        Pool::empty(Arc::new(PoolSpec { size: 0, ..spec.clone() }), last_token, slots)
    }

    /// Whether no box is in use, so that the pool can change its host or hooks.
    fn is_idle(&self) -> bool {
        let idle = self.counts.of(BoxPhase::Free) + self.counts.of(BoxPhase::Unchecked);
        idle == self.counts.all()
    }

    fn is_unchecked(&self, number: BoxNumber) -> bool {
        self.find(number).is_some_and(|record| record.state == BoxState::Unchecked)
    }

    fn numbers_in(&self, phase: BoxPhase) -> Vec<BoxNumber> {
        let there = self.boxes.iter().filter(|(_, record)| record.state.phase() == phase);
        there.map(|(number, _)| *number).collect()
    }

    fn become_as(&mut self, spec: &PoolSpec, at: Millis) {
        let hooks_change = !self.spec.is_served_as(spec);
        self.spec = Arc::new(spec.clone());
        self.goes = false;
        if let Some(range) = spec.slots {
            match &mut self.slots {
                Some(slots) => slots.move_to(range),
                None => self.slots = Some(Slots::of(range)),
            }
        }
        self.retire(|number| !spec.holds(number));
        if hooks_change {
            // The caller has checked that they are not in use.
            for number in self.boxes.keys().copied().collect::<Vec<_>>() {
                let state = self.first_state();
                self.insert(number, state, at);
            }
        }
        for number in spec.numbers() {
            if !self.boxes.contains_key(&number) {
                let state = self.first_state();
                self.add(number, state, at);
            }
        }
    }

    fn first_state(&mut self) -> BoxState {
        if self.spec.is_logical() { self.next_free() } else { BoxState::Unchecked }
    }

    /// Removes these boxes: at once if they are not in use. All other boxes stay.
    fn retire(&mut self, goes: impl Fn(BoxNumber) -> bool) {
        let mut gone = Vec::new();
        for (number, record) in &mut self.boxes {
            record.retiring = goes(*number);
            let is_idle = matches!(record.state.phase(), BoxPhase::Free | BoxPhase::Unchecked);
            if record.retiring && is_idle {
                gone.push(*number);
            }
        }
        for number in gone {
            self.remove(number);
        }
    }
}
