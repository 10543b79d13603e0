//! The calls by schedule, and the probe.

use std::time::Duration;

use actix::prelude::*;
use reelyard_core::actor_parts::Observer;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostKind;
use tracing::warn;

use crate::cfw_worker::lists::schedule::PollSchedule;
use crate::cfw_worker::views::FailureView;
use crate::cfw_worker::{AskFailure, CfwWorker, LookDue, ProbeHeartbeat};

/// The actor checks its schedule at least this often, so that jumps of the clock and suspends are
/// noticed. Each probe checks it as well.
const LONGEST_SLEEP: Duration = Duration::from_secs(10);

impl CfwWorker {
    /// Why the host gets only probes now, if so.
    pub(super) fn not_to_be_asked(&self) -> Option<AskFailure> {
        if self.in_maintenance {
            return Some(AskFailure::in_maintenance());
        }
        if !self.is_read {
            let why = "this node does not lead, and only the leader reads hosts".to_owned();
            return Some(AskFailure::NotAsked(why));
        }
        match &self.answers {
            Some(Ok(())) => self.left_alone(),
            Some(Err(failure)) => Some(failure.clone()),
            None => Some(AskFailure::NotAsked("it has not answered a probe yet".to_owned())),
        }
    }

    pub(in crate::cfw_worker) fn sleep_until_due(&mut self, ctx: &mut Context<Self>) {
        let next = self.look_schedule.goes_alone().min(self.disk_schedule.goes_alone());
        let next = next.min(self.next_traffic().unwrap_or(next));
        let delay = next.since(self.shell.now());
        // A due call already waits for an answer or for a probe, so this need not be early.
        let delay = if delay.is_zero() { LONGEST_SLEEP } else { delay.min(LONGEST_SLEEP) };
        self.sleep(delay, ctx);
    }

    /// Whether this host is asked for files and disk. Only destinations are asked, and only once their
    /// program is known.
    pub(super) fn is_asked_for_copies(&self) -> bool {
        self.role.is_destination() && self.program.kind != HostKind::Unknown
    }

    /// Stores a failure for the view, and logs it if it differs from the last one.
    pub(super) fn record_failure(&mut self, asked: &'static str, failure: &AskFailure) {
        let failure = failure.to_string();
        let is_same = |last: &FailureView| last.asked == asked && last.failure == failure;
        if !self.last_failure.as_ref().is_some_and(is_same) {
            warn!(host = %self.host, asked, failure, "call to a host failed");
        }
        self.last_failure = Some(FailureView { asked, failure, at: self.shell.now() });
    }

    /// Runs a call beside the actor. Its steps do not wake the thread that all actors share, and a long answer is not
    /// read on it.
    pub(super) fn call_apart<C: Future<Output: Send> + Send + 'static>(
        &self,
        call: C,
    ) -> impl Future<Output = Result<C::Output, AskFailure>> + use<C> {
        let running = match &self.call_threads {
            Some(threads) => threads.spawn(call),
            None => tokio::spawn(call),
        };
        async move {
            running.await.map_err(|error| match error.is_cancelled() {
                true => AskFailure::NotAsked("the node stops".to_owned()),
                false => {
                    AskFailure::Garbled(format!("the answer could not be read (panic): {error}"))
                }
            })
        }
    }

    /// Makes the calls for which `is_due` holds, and sleeps until the next time.
    pub(super) fn call_if_due(
        &mut self,
        ctx: &mut Context<Self>,
        is_due: fn(&PollSchedule, Millis) -> bool,
    ) {
        let now = self.shell.now();
        self.check_breaker();
        if self.not_to_be_asked().is_none() {
            let is_idle = self.looking_for.is_none()
                && !self.disk_asked
                && (self.open_requests == 0 || !self.notified_circuit.on_probation());
            let may_look = if self.notified_circuit.on_probation() {
                is_idle
            } else {
                self.looking_for.is_none()
            };
            if may_look && is_due(&self.look_schedule, now) {
                self.look(ctx, Vec::new());
            } else if is_idle && is_due(&self.disk_schedule, now) && self.is_asked_for_copies() {
                self.ask_disk(ctx);
            }
            if is_due(&self.traffic.schedule, now) {
                self.ask_traffic(ctx, now);
            }
        }
        self.sleep_until_due(ctx);
    }
}

impl Handler<ProbeHeartbeat> for CfwWorker {
    type Result = ResponseActFuture<Self, Result<Duration, AskFailure>>;

    fn handle(
        &mut self,
        ProbeHeartbeat { timeout }: ProbeHeartbeat,
        _: &mut Context<Self>,
    ) -> Self::Result {
        if self.in_maintenance {
            return Box::pin(fut::ready(Err(AskFailure::in_maintenance())));
        }
        let client = self.client.clone();
        let probe = self.call_apart(async move { client.probe(timeout).await });
        Box::pin(fut::wrap_future::<_, Self>(probe).map(|outcome, worker, ctx| {
            let outcome = outcome.flatten();
            if worker.in_maintenance {
                return Err(AskFailure::in_maintenance());
            }
            match &outcome {
                Ok(latency) => {
                    worker.latency = Some(*latency);
                    let is_new_or_back = !matches!(worker.answers, Some(Ok(())));
                    worker.answers = Some(Ok(()));
                    if is_new_or_back {
                        worker.breaker.came_back(worker.shell.now());
                        worker.holdings.doubt();
                        // Another program with other files may answer there now. On probation the running
                        // call comes first.
                        if worker.is_on_trial().is_none() && worker.is_read {
                            worker.look_soon(ctx, None);
                        } else {
                            worker.look_schedule.at_once();
                        }
                    }
                }
                // Nothing new is known of the host.
                Err(AskFailure::NoDescriptor) => {}
                Err(failure) => {
                    worker.record_failure("HEAD /hb", failure);
                    worker.answers = Some(Err(failure.clone()));
                }
            }
            worker.call_if_due(ctx, PollSchedule::goes_with_probe);
            worker.publish_view();
            outcome
        }))
    }
}

impl Handler<LookDue> for CfwWorker {
    type Result = ();

    fn handle(&mut self, _: LookDue, ctx: &mut Context<Self>) {
        self.tick(ctx);
    }
}
