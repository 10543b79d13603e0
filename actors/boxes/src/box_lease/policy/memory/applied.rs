//! The effects of applied events on the memory.

use reelyard_protocol::boxes::{LeaseId, PoolName};

use super::BoxMemory;
use super::box_key::BoxKey;
use crate::box_lease::policy::decision_context::BoxDecisionContext;
use crate::box_lease::state::box_table::FoundLease;
use crate::box_lease::state::event::BoxRefusal;
use crate::box_lease::state::leases::lease::LeaseEnd;

impl BoxMemory {
    /// A lease has ended. Answers its box, and the other leases of its request that are to be taken back.
    pub(in crate::box_lease) fn lease_ended(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: LeaseId,
    ) -> Option<(BoxKey, Vec<LeaseId>)> {
        self.terms.remove(id);
        self.sharing.remove(&id);
        self.orphans.remove(&id);
        self.taking_back.remove(&id);
        let FoundLease::Ended(ended) = context.table.find(id) else { return None };
        let key = (ended.lease.pool.clone(), ended.lease.number);
        if ended.lease.is_held() && ended.how != LeaseEnd::NotTaken {
            let held = ended.at.since(ended.lease.granted);
            self.allocator(&key.0).pace.add(held);
            self.counts(&key.0).holds.record(held);
        }
        let refusal = BoxRefusal::of_end(ended.how, ended.reason.as_ref());
        Some((key, self.ended_while_preparing(id, refusal)))
    }

    /// A box has changed: it may be free now, or no longer.
    pub(in crate::box_lease) fn box_changed(
        &mut self,
        context: &BoxDecisionContext<'_>,
        key: &BoxKey,
    ) {
        if let Ok(pool) = context.table.pool(&key.0) {
            self.allocator(&key.0).sync(pool, key.1);
        }
    }

    /// All boxes of a pool may have changed. Answers whether the pool is there.
    pub(in crate::box_lease) fn pool_changed(
        &mut self,
        context: &BoxDecisionContext<'_>,
        name: &PoolName,
    ) -> bool {
        let Ok(pool) = context.table.pool(name) else { return false };
        self.allocator(name).sync_all(pool);
        if pool.goes() {
            self.end_waiters(name, &BoxRefusal::PoolGoes { pool: name.clone() }, |_| true);
        } else {
            // A request for more boxes than now exist would block all requests behind it.
            let size = pool.spec().size;
            self.end_waiters(name, &BoxRefusal::BadCount { most: size }, |count| count > size);
        }
        true
    }

    /// Forgets a pool, if it is gone.
    pub(in crate::box_lease) fn forget_removed_pool(
        &mut self,
        context: &BoxDecisionContext<'_>,
        name: &PoolName,
    ) {
        if context.table.pool(name).is_err() {
            self.end_waiters(name, &BoxRefusal::NoPool { pool: name.clone() }, |_| true);
            self.forget_pool(name);
        }
    }
}
