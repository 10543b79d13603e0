//! Whether the hosts of pools answer at all. A hook may take long; a quick question finds a host that
//! hangs.

use std::collections::HashSet;
use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message};
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{NotHeard, PoolName, ProbeHost};

use crate::box_lease::BoxLease;
use crate::box_lease::messages::BoxError;
use crate::box_lease::policy::queue::WaiterId;
use crate::box_lease::policy::waiters::WaiterStage;

/// How often a host is asked, and how often one that did not answer.
const EVERY: Duration = Duration::from_secs(4);
const EVERY_IF_SILENT: Duration = Duration::from_millis(500);

/// How long its answer may take. With `EVERY` a host that hangs is known within ten seconds.
const WITHIN: Duration = Duration::from_secs(3);

/// How long after its deadline a request whose boxes are being made ready is checked, and how long the
/// host may take to answer then: together less than a second.
pub(in crate::box_lease) const OVERDUE_AFTER: Duration = Duration::from_millis(200);
const OVERDUE_WITHIN: Duration = Duration::from_millis(600);

/// A host was asked whether it answers at all.
#[derive(Message)]
#[rtype(result = "()")]
pub(in crate::box_lease) struct BoxHostProbed {
    host: HostAddr,
    answer: Result<(), NotHeard>,
    /// Whether it was probed for requests beyond their time limit.
    for_overdue: bool,
}

impl BoxLease {
    /// The hosts of all pools are asked from now on.
    pub(in crate::box_lease) fn watch_hosts(&mut self, ctx: &mut Context<Self>) {
        let hosts: HashSet<HostAddr> = {
            let table = self.replica.piece().read();
            table.pools().values().filter_map(|pool| pool.spec().host).collect()
        };
        let at = self.now().monotonic.saturating_add(EVERY);
        for host in hosts {
            if !self.probes.due.has(&host) && !self.probes.asked.contains(&host) {
                self.probes.due.set(host, at);
                self.wake_at(at, ctx);
            }
        }
    }

    /// Probes the hosts that are due.
    pub(in crate::box_lease) fn probe_due(&mut self, ctx: &mut Context<Self>) {
        let now = self.now().monotonic;
        while let Some(host) = self.probes.due.take_due(now) {
            if !self.pools_of(host).is_empty() {
                self.probes.asked.insert(host);
                self.probe(ProbeHost { host, within: WITHIN }, false, ctx);
            } else {
                self.probes.silent.remove(&host);
            }
        }
    }

    fn probe(&self, probe: ProbeHost, for_overdue: bool, ctx: &mut Context<Self>) {
        let (hosts, actor) = (self.hosts.probe.recipient(), ctx.address());
        actix_rt::spawn(async move {
            let answer = hosts.send(probe).await;
            let answer = answer.unwrap_or_else(|error| Err(NotHeard::NotAsked(error.to_string())));
            actor.do_send(BoxHostProbed { host: probe.host, answer, for_overdue });
        });
    }

    fn pools_of(&self, host: HostAddr) -> Vec<PoolName> {
        let table = self.replica.piece().read();
        let pools = table.pools().iter().filter(|(_, pool)| pool.spec().host == Some(host));
        pools.map(|(name, _)| name.clone()).collect()
    }

    fn host_of(&self, pool: &PoolName) -> Option<HostAddr> {
        self.replica.piece().read().pool(pool).ok()?.spec().host
    }

    /// Whether the host of a pool did not answer when it was asked last: a box that is granted now would
    /// only have to be taken back.
    pub(in crate::box_lease) fn is_unheard(&self, pool: &PoolName) -> bool {
        self.host_of(pool).is_some_and(|host| self.probes.silence(host).is_some())
    }

    /// Why the host of a pool does not do its work, if so.
    pub(in crate::box_lease) fn silence_of(&self, pool: &PoolName) -> Option<String> {
        let unheard = self.host_of(pool).and_then(|host| self.probes.silence(host));
        unheard.or_else(|| self.jobs.silence(pool)).cloned()
    }

    /// Why a request for boxes of a pool may wait in vain, as far as that is known.
    pub(in crate::box_lease) fn wait_obstacle(&self, pool: &PoolName) -> Option<String> {
        let silence = self.silence_of(pool).map(|why| match self.host_of(pool) {
            Some(host) => format!("nothing is done for them on its host {host}: {why}"),
            None => why,
        });
        let hindrance =
            self.replica.piece().read().pool(pool).ok().and_then(|pool| pool.grant_obstacle());
        let parts: Vec<String> = silence.into_iter().chain(hindrance).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// A request has reached its time limit, and its boxes are still being made ready. That may take
    /// longer than the wait, but not because the host hangs.
    pub(in crate::box_lease) fn overdue(&mut self, id: WaiterId, ctx: &mut Context<Self>) {
        let Some(waiter) = self.waiters.get(id) else { return };
        let Some(host) = self.host_of(&waiter.ask.pool) else { return };
        if self.probes.silence(host).is_some() {
            self.end_overdue(id, ctx);
            return;
        }
        let waiting = self.probes.overdue.entry(host).or_default();
        waiting.push(id);
        if waiting.len() == 1 {
            self.probe(ProbeHost { host, within: OVERDUE_WITHIN }, true, ctx);
        }
    }

    fn end_overdue(&mut self, id: WaiterId, ctx: &mut Context<Self>) {
        let is_preparing = |stage| stage == WaiterStage::Preparing;
        let Some(waiter) = self.waiters.get(id).filter(|waiter| is_preparing(waiter.stage)) else {
            return;
        };
        let (pool, wait) = (waiter.ask.pool.clone(), waiter.ask.wait);
        self.counts(&pool).timed_out += 1;
        let why = self.wait_obstacle(&pool);
        let leases = self.groups.dissolve_of(id);
        self.end_waiter(id, BoxError::TimedOut { pool, wait, why });
        self.take_back(leases, ctx);
    }

    /// Every request beyond its time limit whose boxes wait for a host that does not answer.
    fn end_all_overdue(&mut self, host: HostAddr, ctx: &mut Context<Self>) {
        let now = self.now().monotonic;
        let pools: HashSet<PoolName> = self.pools_of(host).into_iter().collect();
        for id in self.waiters.preparing_since(now) {
            let waits = self.waiters.get(id).is_some_and(|one| pools.contains(&one.ask.pool));
            if waits {
                self.end_overdue(id, ctx);
            }
        }
    }
}

impl Handler<BoxHostProbed> for BoxLease {
    type Result = ();

    fn handle(&mut self, probed: BoxHostProbed, ctx: &mut Context<Self>) {
        let BoxHostProbed { host, answer, for_overdue } = probed;
        if for_overdue {
            let waiting = self.probes.overdue.remove(&host).unwrap_or_default();
            if let Err(not_heard) = answer {
                if let NotHeard::Silent(why) = not_heard {
                    self.probes.silent.insert(host, format!("it does not answer: {why}"));
                }
                waiting.into_iter().for_each(|id| self.end_overdue(id, ctx));
                if !self.probes.asked.contains(&host) {
                    self.probes.due.set(host, self.now().monotonic);
                }
            }
            self.note_stale(ctx);
            return;
        }
        if !self.probes.asked.remove(&host) {
            return;
        }
        let was_silent = self.probes.silent.contains_key(&host);
        let pause = match answer {
            Ok(()) => {
                self.probes.silent.remove(&host);
                EVERY
            }
            // The earlier state of the host stays valid.
            Err(NotHeard::NotAsked(why)) => {
                tracing::info!(%host, why, "host of boxes could not be probed");
                EVERY
            }
            Err(NotHeard::Silent(why)) => {
                if !was_silent {
                    tracing::warn!(%host, why, "host of boxes does not answer");
                }
                self.probes.silent.insert(host, format!("it does not answer: {why}"));
                self.end_all_overdue(host, ctx);
                EVERY_IF_SILENT
            }
        };
        if was_silent && !self.probes.silent.contains_key(&host) {
            tracing::info!(%host, "host of boxes answers again");
            for pool in self.pools_of(host) {
                self.grant_waiting(&pool, ctx);
            }
        }
        let at = self.now().monotonic.saturating_add(pause);
        self.probes.due.set(host, at);
        self.wake_at(at, ctx);
        self.note_stale(ctx);
    }
}
