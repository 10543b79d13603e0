//! Whether the hosts of pools answer at all. A hook may take long; a probe quickly finds a host that
//! hangs.

use std::time::Duration;

use actix::{AsyncContext, Context, Handler, Message};
use reelyard_core::host::HostAddr;
use reelyard_protocol::boxes::{ProbeFailure, ProbeHost};

use reelyard_replication::OwnerTicks;

use crate::box_lease::BoxLease;
use crate::box_lease::policy::memory::queue::WaiterId;

/// The interval of probes of a host, and of one that did not answer.
const EVERY: Duration = Duration::from_secs(4);
const EVERY_IF_SILENT: Duration = Duration::from_millis(500);

/// How long its answer may take. With `EVERY` a host that hangs is known within ten seconds.
const WITHIN: Duration = Duration::from_secs(3);

/// How long a host may take to answer for a request that is beyond its deadline. Together with
/// `OVERDUE_AFTER` this is less than a second.
const OVERDUE_WITHIN: Duration = Duration::from_millis(600);

/// A host was probed.
#[derive(Message)]
#[rtype(result = "()")]
pub(in crate::box_lease) struct BoxHostProbed {
    host: HostAddr,
    answer: Result<(), ProbeFailure>,
    /// Whether it was probed for requests beyond their time limit.
    for_overdue: bool,
}

impl BoxLease {
    /// Starts the probes of the hosts of all pools.
    pub(in crate::box_lease) fn watch_hosts(&mut self, ctx: &mut Context<Self>) {
        let at = self.policy(|memory, at| memory.watch_hosts(at, EVERY));
        self.wake_at(Some(at), ctx);
    }

    /// Probes the hosts that are due.
    pub(in crate::box_lease) fn probe_due(&mut self, ctx: &mut Context<Self>) {
        let due = self.policy(|memory, at| memory.take_due_probes(at));
        for host in due {
            self.probe(ProbeHost { host, within: WITHIN }, false, ctx);
        }
    }

    fn probe(&self, probe: ProbeHost, for_overdue: bool, ctx: &mut Context<Self>) {
        let (hosts, actor) = (self.hosts.probe.recipient(), ctx.address());
        actix_rt::spawn(async move {
            let answer = hosts.send(probe).await;
            let answer =
                answer.unwrap_or_else(|error| Err(ProbeFailure::NotAsked(error.to_string())));
            actor.do_send(BoxHostProbed { host: probe.host, answer, for_overdue });
        });
    }

    /// A request has reached its time limit, and its boxes are still being prepared. This may take
    /// longer than the wait, unless the host hangs.
    pub(in crate::box_lease) fn overdue(&mut self, id: WaiterId, ctx: &mut Context<Self>) {
        let (memory, context) = self.at();
        let Some(waiter) = memory.waiters.get(id) else { return };
        let Some(host) = context.host_of(&waiter.ask.pool) else { return };
        drop(context);
        if memory.probes.silence(host).is_some() {
            self.end_overdue(vec![id], ctx);
            return;
        }
        let waiting = memory.probes.overdue.entry(host).or_default();
        waiting.push(id);
        if waiting.len() == 1 {
            self.probe(ProbeHost { host, within: OVERDUE_WITHIN }, true, ctx);
        }
    }

    /// Ends requests beyond their time limit whose host does not answer.
    fn end_overdue(&mut self, waiters: Vec<WaiterId>, ctx: &mut Context<Self>) {
        for id in waiters {
            let leases = self.policy(|memory, at| memory.end_overdue(at, id));
            self.return_leases(leases, ctx);
        }
    }

    /// A host was probed because requests are overdue.
    fn overdue_probed(
        &mut self,
        host: HostAddr,
        answer: Result<(), ProbeFailure>,
        ctx: &mut Context<Self>,
    ) {
        let waiting = self.memory.probes.overdue.remove(&host).unwrap_or_default();
        let Err(failure) = answer else { return };
        if let ProbeFailure::Silent(why) = failure {
            self.memory.probes.silent.insert(host, format!("it does not answer: {why}"));
        }
        self.end_overdue(waiting, ctx);
        if !self.memory.probes.asked.contains(&host) {
            let now = self.now().monotonic;
            self.memory.probes.due.set(host, now);
        }
    }

    /// A host was probed on schedule. Answers when it is probed again.
    fn probed(
        &mut self,
        host: HostAddr,
        answer: Result<(), ProbeFailure>,
        ctx: &mut Context<Self>,
    ) -> Duration {
        let was_silent = self.memory.probes.silent.contains_key(&host);
        match answer {
            Ok(()) => {
                self.memory.probes.silent.remove(&host);
            }
            // The earlier state of the host stays valid.
            Err(ProbeFailure::NotAsked(why)) => {
                tracing::info!(%host, why, "host of boxes could not be probed");
            }
            Err(ProbeFailure::Silent(why)) => {
                if !was_silent {
                    tracing::warn!(%host, why, "host of boxes does not answer");
                }
                self.memory.probes.silent.insert(host, format!("it does not answer: {why}"));
                let overdue = self.policy(|memory, at| memory.overdue_on(at, host));
                self.end_overdue(overdue, ctx);
                return EVERY_IF_SILENT;
            }
        }
        if was_silent && !self.memory.probes.silent.contains_key(&host) {
            tracing::info!(%host, "host of boxes answers again");
            let pools = self.policy(|_, at| at.pools_of(host));
            for pool in pools {
                self.grant_waiting(&pool, ctx);
            }
        }
        EVERY
    }
}

impl Handler<BoxHostProbed> for BoxLease {
    type Result = ();

    fn handle(&mut self, probed: BoxHostProbed, ctx: &mut Context<Self>) {
        let BoxHostProbed { host, answer, for_overdue } = probed;
        if for_overdue {
            self.overdue_probed(host, answer, ctx);
        } else if self.memory.probes.asked.remove(&host) {
            let pause = self.probed(host, answer, ctx);
            let at = self.now().monotonic.saturating_add(pause);
            self.memory.probes.due.set(host, at);
            self.wake_at(Some(at), ctx);
        }
        self.mark_view_stale(ctx);
    }
}
