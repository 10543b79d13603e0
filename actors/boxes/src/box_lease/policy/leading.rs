//! The start of a new leader of boxes, and its first records.

use std::iter;
use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_protocol::boxes::{FenceToken, LeaseId, PoolName};
use reelyard_replication::EPOCH_LEAP;

use super::decision_context::BoxDecisionContext;
use super::memory::BoxMemory;
use super::memory::box_key::BoxKey;
use super::memory::terms::HoldLimit;
use super::preparing::PreparingLease;
use crate::box_lease::state::box_table::BoxTable;
use crate::box_lease::state::event::BoxEvent;
use crate::box_lease::state::leases::given_terms::LeaderMachine;
use crate::box_lease::state::leases::lease::Lease;
use crate::box_lease::state::pools::spec::PoolSpec;

/// How many leases one event may list whose terms a new leader measured.
pub const TERMS_AT_ONCE: usize = 500;

/// Members with this format level can read [`BoxEvent::LedOn`].
pub(in crate::box_lease) const LEVEL_OF_CLOCKS: u16 = 6;

/// More tokens than are drawn in a millisecond.
const TOKENS_A_MILLI: u64 = 1000;

/// More tokens than are drawn between a backup and its restore. Used when the clock is behind the tokens.
const TOKENS_SKIPPED: u64 = 1_000_000_000_000;

/// The clocks by which a new leader measures the terms of leases.
#[derive(Clone, Copy, Debug)]
pub(in crate::box_lease) struct LeaderClocks {
    pub(in crate::box_lease) machine: LeaderMachine,
    /// The largest distance between the wall clocks of two leaders.
    pub(in crate::box_lease) bound: Duration,
    /// Whether all members can read the record of these clocks.
    pub(in crate::box_lease) are_recorded: bool,
}

/// The first steps of a new leader.
#[derive(Default)]
pub(in crate::box_lease) struct NewLeadership {
    /// Boxes that may need a cleanup.
    pub(in crate::box_lease) draining: Vec<BoxKey>,
    /// Leases whose boxes were being made ready.
    pub(in crate::box_lease) preparing: Vec<PreparingLease>,
    /// Records the clocks of this leader, and which leases last how long by them.
    pub(in crate::box_lease) records: Vec<BoxEvent>,
}

impl LeaderClocks {
    /// How long a held lease lasts at least from now on: until its holder may believe, and one bound longer.
    fn left(self, table: &BoxTable, lease: &Lease) -> Duration {
        let LeaderClocks { machine, bound, .. } = self;
        let given = table.again.get(&lease.id);
        if let Some(ends) = given.and_then(|given| given.end(lease.renewals, machine.boot)) {
            return ends.saturating_add(bound).saturating_sub(machine.uptime);
        }
        let longest = lease.term.saturating_add(bound);
        match lease.expires_at {
            Some(known) if !table.led_on.is_some_and(|on| machine.was_set_since(on, bound)) => {
                known.after(bound).since(machine.wall).min(longest)
            }
            // The wall clock was set, so the end by it is wrong.
            _ => longest,
        }
    }
}

impl BoxMemory {
    /// This node decides from now on. Each lease lasts until the end that its holder knows, and at most one bound longer.
    /// Every resting id begins its rest again, and the host of a box inspects it before it is granted.
    pub(in crate::box_lease) fn become_leader(
        &mut self,
        context: &BoxDecisionContext<'_>,
        clocks: LeaderClocks,
    ) -> NewLeadership {
        let mut begun = NewLeadership::default();
        for (name, pool) in context.table.pools() {
            let allocator = self.allocators.entry(name.clone()).or_default();
            allocator.sync_all(pool);
            if let (Some(range), Some(slots)) = (pool.spec().slots, pool.slots()) {
                allocator.rests.begin(slots.next_rest_number(), range.rest, context.now.monotonic);
            }
            if !pool.spec().is_logical() {
                self.rechecks.insert(name.clone(), false);
            }
            let dirty = context.draining_boxes(name).into_iter();
            begun.draining.extend(dirty.map(|number| (name.clone(), number)));
        }
        let mut measured: Vec<(LeaseId, u32, Duration)> = Vec::new();
        for lease in context.table.leases() {
            if !lease.is_held() {
                let (token, id, request, term) = (lease.token, lease.id, lease.request, lease.term);
                begun.preparing.push(PreparingLease { token, id, request, term });
                continue;
            }
            let hold = HoldLimit::of(lease, context.max_hold(&lease.pool));
            let left = clocks.left(&context.table, lease);
            self.terms.take_over(lease.id, (left, clocks.bound), hold, context.now);
            // Without the bound, or each new leader would add one.
            let known = left.saturating_sub(clocks.bound);
            if !known.is_zero() {
                measured.push((lease.id, lease.renewals, known));
            }
        }
        // In a separate order, because the table has none.
        measured.sort_unstable();
        let LeaderMachine { boot, uptime, .. } = clocks.machine;
        if clocks.are_recorded {
            begun.records.push(BoxEvent::LedOn { boot, uptime });
        }
        for leases in measured.chunks(TERMS_AT_ONCE) {
            let leases = leases.to_vec();
            begun.records.push(BoxEvent::TermsGiven { boot, uptime, leases });
        }
        begun
    }

    /// A lease lasts for its term from now on.
    pub(in crate::box_lease) fn start_term(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: LeaseId,
    ) {
        let Some(lease) = context.table.leases.get(&id) else { return };
        let hold = HoldLimit::of(lease, context.max_hold(&lease.pool));
        if lease.is_held() {
            self.terms.start(id, lease.term, hold, context.now);
        }
    }

    /// The pools whose rechecks must be committed now.
    pub(in crate::box_lease) fn drain_rechecks(&mut self) -> Vec<PoolName> {
        let mut wanted = Vec::new();
        for (pool, is_under_way) in &mut self.rechecks {
            if !*is_under_way {
                *is_under_way = true;
                wanted.push(pool.clone());
            }
        }
        wanted
    }
}

impl BoxDecisionContext<'_> {
    /// The longest hold of leases of a pool, if it has a limit.
    fn max_hold(&self, pool: &PoolName) -> Option<Duration> {
        self.table.pool(pool).ok()?.spec().max_hold
    }

    /// The event that records this leader, if it is not recorded yet. An epoch far above the last one means
    /// that the store was restored from a backup, or that a loss was accepted. Then the store does not know
    /// the tokens that were drawn since.
    pub(in crate::box_lease) fn led_event(&self) -> Option<BoxEvent> {
        let epoch = self.epoch?;
        if self.has_led() {
            return None;
        }
        let was_restored = epoch.0.saturating_sub(self.table.led().0) >= EPOCH_LEAP;
        let highest = self.table.highest_token();
        let beyond = was_restored.then(|| beyond_all(highest, self.now.wall));
        Some(BoxEvent::Led { epoch, beyond })
    }

    /// The events that create or change `pool` as `spec` says, by a request or by a version of the settings. A lost store may have drawn tokens in
    /// a pool of this name. Where no worker can report them, the new pool begins above them. A logical pool
    /// has no worker, and a restored backup may lack the pool.
    pub(in crate::box_lease) fn put_events(
        &self,
        pool: PoolName,
        spec: PoolSpec,
        by_settings: Option<u64>,
    ) -> Vec<BoxEvent> {
        let was_restored = self.epoch.is_some_and(|epoch| epoch.0 >= EPOCH_LEAP);
        let beyond = if self.table.knows_tokens_of(&pool) {
            None
        } else if was_restored {
            Some(beyond_all(self.table.highest_token(), self.now.wall))
        } else {
            spec.is_logical().then(|| token_of_time(self.now.wall))
        };
        let (name, spec) = (pool.clone(), Box::new(spec));
        let put = match by_settings {
            Some(version) => BoxEvent::PoolPutBySettings { pool: name, spec, version },
            None => BoxEvent::PoolPutAlone { pool: name, spec },
        };
        let raised = beyond.map(|beyond| BoxEvent::TokensRaised { pool, beyond });
        iter::once(put).chain(raised).collect()
    }
}

/// A token above all tokens that may have been drawn if `highest` is the highest known one. It is derived
/// from the time of day, so that the same backup restored twice does not lead to the same tokens. It stays
/// below 2^53 for two centuries, so programs that read JSON numbers as floats keep it exact.
fn beyond_all(highest: FenceToken, now: Millis) -> FenceToken {
    let of_time = token_of_time(now);
    if of_time > highest { of_time } else { FenceToken(highest.0.saturating_add(TOKENS_SKIPPED)) }
}

/// A token above all tokens of a pool whose tokens began at an earlier time of day.
fn token_of_time(now: Millis) -> FenceToken {
    FenceToken(u64::try_from(now.0).unwrap_or(0).saturating_mul(TOKENS_A_MILLI))
}
