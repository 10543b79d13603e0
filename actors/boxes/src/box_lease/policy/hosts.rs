//! Whether the hosts of pools answer, and the consequences for requests. A hook may take long; a probe
//! quickly finds a host that hangs.

use std::collections::HashSet;
use std::time::Duration;

use reelyard_core::backoff::ExponentialBackoff;
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{LeaseId, PoolName};

use super::decision_context::BoxDecisionContext;
use super::memory::BoxMemory;
use super::memory::box_key::BoxKey;
use super::memory::queue::WaiterId;
use super::memory::waiters::WaiterStage;

/// How long after its deadline a request whose boxes are being made ready is checked.
pub(in crate::box_lease) const OVERDUE_AFTER: Duration = Duration::from_millis(200);

/// How long a host that does not answer gets no calls.
const SILENT: ExponentialBackoff =
    ExponentialBackoff { base: Duration::from_secs(1), cap: Duration::from_secs(30) };

impl BoxDecisionContext<'_> {
    /// The hosts of all pools.
    pub(in crate::box_lease) fn hosts(&self) -> HashSet<HostAddr> {
        self.table.pools().values().filter_map(|pool| pool.spec().host).collect()
    }

    /// The pools whose boxes are on `host`.
    pub(in crate::box_lease) fn pools_of(&self, host: HostAddr) -> Vec<PoolName> {
        let pools = self.table.pools().iter().filter(|(_, pool)| pool.spec().host == Some(host));
        pools.map(|(name, _)| name.clone()).collect()
    }

    /// The host of a pool, if it has one.
    pub(in crate::box_lease) fn host_of(&self, pool: &PoolName) -> Option<HostAddr> {
        self.table.pool(pool).ok()?.spec().host
    }
}

impl BoxMemory {
    /// Whether the host of a pool did not answer its last call. A box that is granted now would have to
    /// be taken back.
    pub(in crate::box_lease) fn is_silent(
        &self,
        context: &BoxDecisionContext<'_>,
        pool: &PoolName,
    ) -> bool {
        context.host_of(pool).is_some_and(|host| self.probes.silence(host).is_some())
    }

    /// Why the host of a pool does not do its work, if it does not.
    pub(in crate::box_lease) fn silence_of(
        &self,
        context: &BoxDecisionContext<'_>,
        pool: &PoolName,
    ) -> Option<String> {
        let silence = context.host_of(pool).and_then(|host| self.probes.silence(host));
        silence.or_else(|| self.hook_calls.silence(pool)).cloned()
    }

    /// Why a request for boxes of a pool may wait in vain, if that is known.
    pub(in crate::box_lease) fn wait_obstacle(
        &self,
        context: &BoxDecisionContext<'_>,
        pool: &PoolName,
    ) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(why) = self.silence_of(context, pool) {
            parts.push(match context.host_of(pool) {
                Some(host) => format!("nothing is done for them on its host {host}: {why}"),
                None => why,
            });
        }
        if let Ok(pool) = context.table.pool(pool) {
            parts.extend(pool.grant_obstacle());
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// The hosts of all pools are probed from now on, those that are new after `delay`. Answers when that
    /// is, by the monotonic clock.
    pub(in crate::box_lease) fn watch_hosts(
        &mut self,
        context: &BoxDecisionContext<'_>,
        delay: Duration,
    ) -> Duration {
        let at = context.now.monotonic.saturating_add(delay);
        for host in context.hosts() {
            if !self.probes.due.has(&host) && !self.probes.asked.contains(&host) {
                self.probes.due.set(host, at);
            }
        }
        at
    }

    /// The hosts to probe now. Hosts without pools are forgotten.
    pub(in crate::box_lease) fn take_due_probes(
        &mut self,
        context: &BoxDecisionContext<'_>,
    ) -> Vec<HostAddr> {
        let mut due = Vec::new();
        while let Some(host) = self.probes.due.take_due(context.now.monotonic) {
            if context.pools_of(host).is_empty() {
                self.probes.silent.remove(&host);
            } else {
                self.probes.asked.insert(host);
                due.push(host);
            }
        }
        due
    }

    /// The requests beyond their time limit whose boxes are being made ready on this host.
    pub(in crate::box_lease) fn overdue_on(
        &self,
        context: &BoxDecisionContext<'_>,
        host: HostAddr,
    ) -> Vec<WaiterId> {
        let pools: HashSet<PoolName> = context.pools_of(host).into_iter().collect();
        let mut overdue = self.waiters.preparing_since(context.now.monotonic);
        overdue.retain(|id| {
            self.waiters.get(*id).is_some_and(|waiter| pools.contains(&waiter.ask.pool))
        });
        overdue
    }

    /// Ends a request beyond its time limit, if its boxes are still being made ready. Answers the leases
    /// to take back.
    pub(in crate::box_lease) fn end_overdue(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: WaiterId,
    ) -> Vec<LeaseId> {
        let is_preparing =
            self.waiters.get(id).is_some_and(|waiter| waiter.stage == WaiterStage::Preparing);
        if !is_preparing {
            return Vec::new();
        }
        let leases = self.groups.dissolve_of(id);
        self.time_out(context, id);
        leases
    }

    /// A host did not run its hooks for a pool.
    pub(in crate::box_lease) fn record_silence(&mut self, pool: &PoolName, why: &str) {
        self.counts(pool).silences += 1;
        self.hook_calls.silences.insert(pool.clone(), why.to_owned());
    }

    /// A host did not answer for a box. Answers how long it gets no more calls.
    pub(in crate::box_lease) fn silent_box(&mut self, key: &BoxKey, why: &str) -> Duration {
        self.record_silence(&key.0, why);
        let count = self.hook_calls.silent_boxes.entry(key.clone()).or_default();
        *count += 1;
        SILENT.after_failures(*count)
    }

    /// The same for the boxes of a pool that are not inspected yet.
    pub(in crate::box_lease) fn silent_pool(&mut self, pool: &PoolName, why: &str) -> Duration {
        self.record_silence(pool, why);
        let count = self.hook_calls.silent_pools.entry(pool.clone()).or_default();
        *count += 1;
        SILENT.after_failures(*count)
    }
}
