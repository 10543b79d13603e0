//! The memory of a leading node about the requests, the boxes and their hosts.

pub(in crate::box_lease) mod allocator;
mod applied;
pub(crate) mod box_key;
pub(in crate::box_lease) mod counters;
pub(crate) mod hook_calls;
pub(crate) mod host_probes;
pub(crate) mod preparing_groups;
pub(in crate::box_lease) mod queue;
pub(in crate::box_lease) mod schedule;
pub(in crate::box_lease) mod terms;
pub(in crate::box_lease) mod waiters;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use reelyard_protocol::boxes::{FenceToken, LeaseId, PoolName};

use crate::box_lease::messages::BoxError;
use crate::box_lease::settings::BoxLeaseSettings;
use allocator::PoolAllocator;
use box_key::BoxKey;
use counters::PoolQueueCounts;
use hook_calls::HookCalls;
use host_probes::BoxHostProbes;
use preparing_groups::PreparingGroups;
use queue::WaiterId;
use schedule::KeyedDeadlines;
use terms::LeaseTerms;
use waiters::{LeaseWaiter, LeaseWaiters};

/// Everything that the BoxLeaseActor keeps only in memory. All of it except the settings belongs to one
/// leadership.
#[derive(Default)]
pub(in crate::box_lease) struct BoxMemory {
    pub(in crate::box_lease) settings: BoxLeaseSettings,
    /// The queue and the free boxes of each pool.
    pub(in crate::box_lease) allocators: BTreeMap<PoolName, PoolAllocator>,
    pub(in crate::box_lease) counts: BTreeMap<PoolName, PoolQueueCounts>,
    pub(in crate::box_lease) waiters: LeaseWaiters,
    /// The requests that are being granted, by the first of their leases.
    pub(in crate::box_lease) granting: HashMap<LeaseId, WaiterId>,
    /// How many callers got the same leases, by the first lease, if there is more than one caller.
    pub(in crate::box_lease) sharing: HashMap<LeaseId, usize>,
    pub(in crate::box_lease) terms: LeaseTerms,
    pub(in crate::box_lease) groups: PreparingGroups,
    /// Boxes that must be cleaned, and when.
    pub(in crate::box_lease) cleanings: KeyedDeadlines<BoxKey>,
    /// Pools whose hosts must inspect boxes, and when.
    pub(in crate::box_lease) inspections: KeyedDeadlines<PoolName>,
    /// Pools that grant nothing before the inspection of their boxes is recorded. The value says whether
    /// that record is being written.
    pub(in crate::box_lease) rechecks: BTreeMap<PoolName, bool>,
    pub(in crate::box_lease) hook_calls: HookCalls,
    pub(in crate::box_lease) probes: BoxHostProbes,
    /// Leases that no caller knows, to be taken back.
    pub(in crate::box_lease) orphans: BTreeSet<LeaseId>,
    /// Leases that are being taken back: no caller gets them any more.
    pub(in crate::box_lease) taking_back: HashSet<LeaseId>,
    /// Leases that a caller used with a wrong token: the last caller, and how often.
    pub(in crate::box_lease) wrong_tokens: BTreeMap<LeaseId, (FenceToken, u64)>,
    /// Whether the published view is outdated.
    pub(in crate::box_lease) is_stale: bool,
}

impl BoxMemory {
    /// An empty memory with these settings, before the first leadership.
    pub(in crate::box_lease) fn new(settings: BoxLeaseSettings) -> Self {
        BoxMemory { settings, ..BoxMemory::default() }
    }

    /// A leadership ends: every waiting caller gets this answer. Wrong tokens that are not recorded yet
    /// are kept.
    pub(in crate::box_lease) fn forget_leadership(&mut self, error: &BoxError) {
        for waiter in self.waiters.take_all() {
            waiter.answer(&Err(error.clone()));
        }
        let mut past = std::mem::take(self);
        past.hook_calls.clear();
        *self = BoxMemory {
            settings: past.settings,
            // Both numbers continue, so that late answers match no current id.
            waiters: past.waiters,
            hook_calls: past.hook_calls,
            wrong_tokens: past.wrong_tokens,
            is_stale: true,
            ..BoxMemory::default()
        };
    }

    /// The mutable counters of a pool.
    pub(in crate::box_lease) fn counts(&mut self, pool: &PoolName) -> &mut PoolQueueCounts {
        self.is_stale = true;
        self.counts.entry(pool.clone()).or_default()
    }

    /// The mutable queue and free boxes of a pool.
    pub(in crate::box_lease) fn allocator(&mut self, pool: &PoolName) -> &mut PoolAllocator {
        self.is_stale = true;
        self.allocators.entry(pool.clone()).or_default()
    }

    /// A caller stops waiting and gets the reason.
    pub(in crate::box_lease) fn end_waiter(&mut self, id: WaiterId, error: BoxError) {
        if let Some(waiter) = self.take_waiter(id) {
            waiter.answer(&Err(error));
        }
    }

    /// A caller stops waiting.
    pub(in crate::box_lease) fn take_waiter(&mut self, id: WaiterId) -> Option<LeaseWaiter> {
        self.uncount(id);
        let waiter = self.waiters.remove(id)?;
        self.allocator(&waiter.ask.pool).queue.remove(id);
        Some(waiter)
    }

    /// Removes a request from the number of requests that its holder waits for.
    pub(in crate::box_lease) fn uncount(&mut self, id: WaiterId) {
        let Some(waiter) = self.waiters.get_mut(id).filter(|waiter| waiter.is_counted) else {
            return;
        };
        waiter.is_counted = false;
        let pool = waiter.ask.pool.clone();
        let holder = waiter.ask.holder.clone();
        let count = waiter.ask.count;
        self.allocator(&pool).asking.subtract(&holder, count);
    }

    /// Whether no caller gets these leases any more.
    pub(in crate::box_lease) fn are_taken_back(&self, leases: &[LeaseId]) -> bool {
        leases.iter().any(|id| self.taking_back.contains(id))
    }

    /// Forgets a pool that was removed. All requests for it have ended.
    pub(in crate::box_lease) fn forget_pool(&mut self, pool: &PoolName) {
        self.allocators.remove(pool);
        self.counts.remove(pool);
        self.inspections.remove(pool);
        self.rechecks.remove(pool);
        self.hook_calls.forget(pool);
    }
}
