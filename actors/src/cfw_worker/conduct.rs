//! How the host is to be dealt with: whether calls to it go, who else has to do with it, and telling
//! of that.

use actix::prelude::*;
use tracing::{info, warn};

use super::client::WorkerWord;
use super::{
    AdoptHost, AskFailure, Call, CallStanding, CfwWorker, HostConduct, ResetBreaker,
    SubscribeToConduct,
};
use crate::clock::Millis;
use crate::host::HostAddr;
use crate::wire::worker::WorkerAdopted;

/// What spreads the trials of hosts that got into trouble together.
pub(super) fn seed(host: HostAddr) -> u64 {
    let hash = blake3::hash(host.to_string().as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&hash.as_bytes()[..8]);
    u64::from_le_bytes(first)
}

impl CfwWorker {
    /// Why the host is left alone because of its calls, if so.
    pub(super) fn left_alone(&self) -> Option<AskFailure> {
        let trouble = self.breaker.trouble()?;
        self.breaker.standing(self.clock.now()).is_open().then(|| {
            let back_off = &trouble.back_off;
            let why = format!(
                "calls to it kept failing ({}): left alone until {}",
                back_off.reason, back_off.until
            );
            AskFailure::NotAsked(why)
        })
    }

    /// Why one more call would be one too many for a host on probation, if so.
    pub(super) fn is_on_trial(&self) -> Option<AskFailure> {
        let on_trial = self.is_asked() && self.breaker.standing(self.clock.now()).on_probation();
        let why = "it is on probation: one call at a time, and one is under way";
        on_trial.then(|| AskFailure::NotAsked(why.to_owned()))
    }

    /// Whether any call but a probe is under way.
    fn is_asked(&self) -> bool {
        self.looking_for.is_some()
            || self.disk_asked
            || self.traffic.worker_is_asked()
            || self.open_requests > 0
    }

    /// Takes in how a call ended.
    pub(super) fn judge<T>(&mut self, call: Call, outcome: &Result<T, AskFailure>) {
        self.breaker.ended(call, outcome, self.clock.now());
    }

    /// Tells of how calls stand when that changed, and has a trial made where one is due.
    pub(super) fn follow_breaker(&mut self) {
        let now = self.clock.now();
        // While a trial is under way its outcome is awaited, however long it takes: a list may take
        // longer than the cool-down was, and its failure is to make the next one longer.
        if !self.is_asked() {
            self.breaker.forget(now);
        }
        let standing = self.breaker.standing(now);
        if standing == self.told_calls {
            return;
        }
        let host = self.host;
        match (standing, self.breaker.trouble()) {
            (CallStanding::Open, Some(trouble)) => {
                let (call, back_off) = (trouble.call, &trouble.back_off);
                let (until, reason, times) = (back_off.until, &back_off.reason, back_off.failures);
                warn!(%host, ?call, %until, times, reason, "calls keep failing: left alone");
            }
            (CallStanding::Probation, _) => {
                info!(%host, "on probation: one call and one copy at a time");
                self.look_schedule.at_once();
            }
            _ => info!(%host, "calls go again"),
        }
        self.told_calls = standing;
        self.tell_conduct();
        self.publish();
    }

    /// Takes in what a worker of ours tells of those who have to do with it, and tells it on.
    pub(super) fn hear_word(&mut self, word: Option<WorkerWord>, asked: Millis) {
        self.hear_traffic(word.as_ref(), asked);
        self.word = word;
        if self.word.is_some() {
            self.tell_conduct();
        }
    }

    fn tell_conduct(&mut self) {
        let conduct = self.conduct();
        self.conduct_subscribers.retain(|subscriber| subscriber.connected());
        for subscriber in &self.conduct_subscribers {
            subscriber.do_send(conduct.clone());
        }
    }

    fn conduct(&self) -> HostConduct {
        let (host, calls, at) = (self.host, self.told_calls, self.clock.now());
        let epoch = self.word.as_ref().map(|word| word.epoch);
        let managers = self.word.as_ref().map(|word| word.managers.clone()).unwrap_or_default();
        HostConduct { host, calls, epoch, managers, at }
    }
}

impl Handler<SubscribeToConduct> for CfwWorker {
    type Result = ();

    fn handle(&mut self, SubscribeToConduct { to }: SubscribeToConduct, _: &mut Context<Self>) {
        to.do_send(self.conduct());
        // A subscriber that panicked is another one since.
        self.conduct_subscribers.retain(|subscriber| subscriber.connected() && *subscriber != to);
        self.conduct_subscribers.push(to);
    }
}

impl Handler<ResetBreaker> for CfwWorker {
    type Result = ();

    fn handle(&mut self, _: ResetBreaker, ctx: &mut Context<Self>) {
        self.breaker.reset();
        self.look_schedule.at_once();
        self.turn(ctx);
        self.publish();
    }
}

impl Handler<AdoptHost> for CfwWorker {
    type Result = ResponseActFuture<Self, Result<WorkerAdopted, AskFailure>>;

    fn handle(&mut self, AdoptHost { epoch }: AdoptHost, _: &mut Context<Self>) -> Self::Result {
        let client = self.client.clone();
        let asking = fut::wrap_future::<_, Self>(async move { client.adopt(epoch).await });
        Box::pin(asking.map(move |adopted, worker, ctx| {
            if let Ok(WorkerAdopted { epoch, before }) = &adopted {
                warn!(host = %worker.host, %epoch, %before, "the host was adopted on request");
                worker.look_soon(ctx, None);
            }
            adopted
        }))
    }
}
