//! The schedule of probes: each host has its own, and a bounded number runs at once.

use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::Observer;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use tokio::time::timeout;

use super::{BATCH_DELAY, HeartbeatSupervisor, WatchedHost};
use crate::cfw_worker::{AskFailure, ProbeHeartbeat};

/// The supervisor checks its schedule at least this often, so that jumps of the clock and suspends are
/// noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Time for a CfwWorker to answer beyond the time-out of the probe. If it does not answer, it is stuck,
/// which counts as a miss.
const GRACE: Duration = Duration::from_secs(1);

/// Probes of few hosts that are due within this part of their interval begin together.
const BATCHED_PART: f64 = 0.2;

/// The longest time between probes of few hosts that begin together.
const LONGEST_BATCH: Duration = Duration::from_secs(1);

impl HeartbeatSupervisor {
    /// Starts due probes, the most overdue first, within the limit. A host that does not answer occupies
    /// a place until its time-out. A host that waits for a place has missed no probe. Answers how many
    /// probes started.
    pub(super) fn probe_due_hosts(&mut self, ctx: &mut Context<Self>) -> usize {
        let (now, probe_schedule) = (self.shell.now(), self.settings.probe_schedule);
        let until = now.after(self.batch() / 2);
        let is_due = |watched: &WatchedHost| {
            !watched.is_being_probed
                && !watched.in_maintenance
                && probe_schedule.is_due(watched.next_probe, until)
        };
        // A probe that was planned before the clock was set back counts as the most overdue.
        let planned =
            |watched: &WatchedHost| Some(watched.next_probe).filter(|planned| *planned <= now);
        let due = self.hosts.iter().filter(|(_, watched)| is_due(watched));
        let mut due: Vec<(Option<Millis>, HostAddr)> =
            due.map(|(host, watched)| (planned(watched), *host)).collect();
        let free_slots = self.settings.probes_at_once.max(1).saturating_sub(self.under_way);
        self.is_behind = due.len() > free_slots;
        if self.is_behind {
            due.sort_unstable();
            due.truncate(free_slots);
        }
        for (_, host) in &due {
            self.probe(*host, now, ctx);
        }
        self.sleep_until_due(ctx);
        due.len()
    }

    fn probe(&mut self, host: HostAddr, now: Millis, ctx: &mut Context<Self>) {
        let wait = self.settings.timeout;
        let next_probe = self.settings.probe_schedule.next(now, self.draw());
        let Some(watched) = self.hosts.get_mut(&host) else { return };
        watched.is_being_probed = true;
        watched.next_probe = next_probe;
        let watch = watched.watch;
        let answer = timeout(wait + GRACE, watched.probe.send(ProbeHeartbeat { timeout: wait }));
        let outcome = async move {
            match answer.await {
                // This node lacks resources: the probe is neither an answer nor a miss.
                Ok(Ok(Err(AskFailure::NoDescriptor))) => None,
                Ok(Ok(answer)) => Some(answer.map_err(|failure| failure.to_string())),
                Ok(Err(mailbox)) => {
                    Some(Err(format!("the actor of the host cannot be called: {mailbox}")))
                }
                Err(_) => Some(Err(AskFailure::TimedOut(wait + GRACE).to_string())),
            }
        };
        self.probes += 1;
        self.under_way += 1;
        let outcome = fut::wrap_future::<_, Self>(outcome);
        ctx.spawn(outcome.map(move |outcome, supervisor, ctx| {
            supervisor.under_way -= 1;
            match outcome {
                Some(outcome) => supervisor.ended(host, watch, outcome, ctx),
                None => supervisor.was_not_probed(host, watch),
            }
            if supervisor.is_behind {
                supervisor.probe_soon(ctx);
            }
        }));
    }

    /// A probe was not sent.
    fn was_not_probed(&mut self, host: HostAddr, watch: u64) {
        if let Some(watched) = self.hosts.get_mut(&host).filter(|watched| watched.watch == watch) {
            watched.is_being_probed = false;
            watched.askers.clear();
        }
    }

    /// Sleeps until the next probe is due. A host without a free slot is probed when another probe ends.
    pub(super) fn sleep_until_due(&mut self, ctx: &mut Context<Self>) {
        let now = self.shell.now();
        let next = self.hosts.values().filter(|host| !host.is_being_probed && !host.in_maintenance);
        let until_next = next.map(|host| host.next_probe.since(now)).min();
        let until_next = until_next.filter(|_| !self.is_behind);
        // A probe begins at the shared moment that is nearest to its time.
        let batch = self.batch();
        let until_next =
            until_next.map(|wait| self.shell.clock().shared_wait(wait + batch / 2, batch));
        let delay =
            until_next.unwrap_or(LONGEST_SLEEP).clamp(Duration::from_millis(1), LONGEST_SLEEP);
        self.sleep(delay, ctx);
    }

    /// Probes that become due within this time begin together, because each wake of the process costs more
    /// than a probe.
    fn batch(&self) -> Duration {
        if !self.are_few() {
            return BATCH_DELAY;
        }
        let part = self.settings.probe_schedule.interval.mul_f64(BATCHED_PART);
        part.clamp(Duration::from_millis(1), LONGEST_BATCH)
    }

    /// The part of the jitter for the next probe. Few hosts have none, so that their probes stay together.
    pub(super) fn draw(&self) -> f64 {
        if self.are_few() { 0.5 } else { fastrand::f64() }
    }

    /// Starts the probes that are due: at once, or with many hosts in a moment. Then hosts that are
    /// added together need only one pass.
    pub(super) fn probe_soon(&mut self, ctx: &mut Context<Self>) {
        if self.are_few() {
            self.probe_due_hosts(ctx);
        } else {
            self.due_soon.set_within(BATCH_DELAY, ctx, Self::tick);
        }
    }
}
