//! How the host may be called: the state of its circuit breaker, the managers that call it, and reports
//! of both.

use actix::prelude::*;
use reelyard_core::actor_parts::Observer;
use reelyard_core::clock::Millis;
use reelyard_protocol::inventory::additions::AdditionLimiter;
use reelyard_protocol::worker::WorkerAdopted;
use tracing::{info, warn};

use crate::cfw_worker::calls::client::WorkerStatus;
use crate::cfw_worker::{
    AdoptHost, AskFailure, CfwWorker, CircuitState, HostCallKind, HostCallStatus, ResetBreaker,
    SubscribeToCallStatus,
};

impl CfwWorker {
    /// Why the host gets no calls because of earlier failures, if it gets none.
    pub(super) fn left_alone(&self) -> Option<AskFailure> {
        let trouble = self.breaker.trouble()?;
        self.breaker.state(self.shell.now()).is_open().then(|| {
            let back_off = &trouble.back_off;
            let why = format!(
                "its circuit breaker is open until {1}, because calls to it failed ({0})",
                back_off.reason, back_off.until
            );
            AskFailure::NotAsked(why)
        })
    }

    /// Why a host on probation gets no further call, if it gets none.
    pub(super) fn is_on_trial(&self) -> Option<AskFailure> {
        let on_trial = self.is_asked() && self.breaker.state(self.shell.now()).on_probation();
        let why = "it is on probation: one call at a time, and one is under way";
        on_trial.then(|| AskFailure::NotAsked(why.to_owned()))
    }

    /// Whether any call except a probe is running.
    fn is_asked(&self) -> bool {
        self.looking_for.is_some()
            || self.disk_asked
            || self.traffic.worker_is_asked()
            || self.open_requests > 0
    }

    /// Records the end of a call.
    pub(super) fn judge<T>(&mut self, call: HostCallKind, outcome: &Result<T, AskFailure>) {
        self.breaker.ended(call, outcome, self.shell.now());
    }

    /// Reports a changed state of the circuit breaker, and starts a trial call if one is due.
    pub(super) fn check_breaker(&mut self) {
        let now = self.shell.now();
        // The outcome of a running trial is awaited without a limit. A list may take longer than the
        // cool-down, and its failure must make the next cool-down longer.
        if !self.is_asked() {
            self.breaker.forget(now);
        }
        let circuit = self.breaker.state(now);
        if circuit == self.notified_circuit {
            return;
        }
        let host = self.host;
        match (circuit, self.breaker.trouble()) {
            (CircuitState::Open, Some(trouble)) => {
                let (call, back_off) = (trouble.call, &trouble.back_off);
                let (until, reason, times) = (back_off.until, &back_off.reason, back_off.failures);
                warn!(%host, ?call, %until, times, reason, "calls to a host keep failing: its circuit \
                    breaker is open until then");
            }
            (CircuitState::Probation, _) => {
                info!(%host, "host is on probation: one call and one copy at a time");
                self.look_schedule.at_once();
            }
            _ => info!(%host, "calls to a host work again"),
        }
        self.notified_circuit = circuit;
        self.notify_call_status();
        self.publish_view();
    }

    /// Takes a worker's report of the managers that call it, and passes it on.
    pub(super) fn record_worker_status(&mut self, word: Option<WorkerStatus>, asked: Millis) {
        self.record_worker_traffic(word.as_ref(), asked);
        self.worker_status = word;
        if self.worker_status.is_some() {
            self.notify_call_status();
        }
    }

    fn notify_call_status(&mut self) {
        let call_status = self.call_status();
        self.call_status_subscribers.notify(&call_status);
    }

    fn call_status(&self) -> HostCallStatus {
        let (host, calls, at) = (self.host, self.notified_circuit, self.shell.now());
        let epoch = self.worker_status.as_ref().map(|word| word.epoch);
        let managers =
            self.worker_status.as_ref().map(|word| word.managers.clone()).unwrap_or_default();
        HostCallStatus { host, calls, epoch, managers, at }
    }
}

impl Handler<SubscribeToCallStatus> for CfwWorker {
    type Result = ();

    fn handle(
        &mut self,
        SubscribeToCallStatus { to }: SubscribeToCallStatus,
        _: &mut Context<Self>,
    ) {
        to.do_send(self.call_status());
        self.call_status_subscribers.add(to);
    }
}

impl Handler<ResetBreaker> for CfwWorker {
    type Result = ();

    fn handle(&mut self, _: ResetBreaker, ctx: &mut Context<Self>) {
        self.breaker.reset();
        self.client.additions = AdditionLimiter::new(self.shell.now());
        self.refused_list = None;
        self.look_schedule.at_once();
        self.tick(ctx);
        self.publish_view();
    }
}

impl Handler<AdoptHost> for CfwWorker {
    type Result = ResponseActFuture<Self, Result<WorkerAdopted, AskFailure>>;

    fn handle(&mut self, AdoptHost { epoch }: AdoptHost, _: &mut Context<Self>) -> Self::Result {
        let client = self.client.clone();
        let asking = self.call_apart(async move { client.adopt(epoch).await });
        let asking = fut::wrap_future::<_, Self>(asking);
        Box::pin(asking.map(move |adopted, worker, ctx| {
            let adopted = adopted.flatten();
            if let Ok(WorkerAdopted { epoch, before }) = &adopted {
                warn!(host = %worker.host, %epoch, %before, "the host was adopted on request");
                worker.look_soon(ctx, None);
            }
            adopted
        }))
    }
}
