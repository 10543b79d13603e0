//! Reads the load of a host's link: from node_exporter if one is configured, otherwise from our worker,
//! between the reads of its files. A failed read makes the load unknown, which is neither idle nor busy.

use actix::prelude::*;
use reelyard_core::actor_parts::Observer;
use reelyard_core::clock::Millis;
use reelyard_core::traffic::Traffic;
use tracing::{info, warn};

use crate::cfw_worker::calls::client::WorkerStatus;
use crate::cfw_worker::load::traffic_watch::{TrafficSource, TrafficWatch};
use crate::cfw_worker::{AskFailure, CfwWorker, CfwWorkerSettings, HostCallKind};
use crate::settings::calls::traffic_fresh_for;

/// How many intervals after a look a Reelyard worker is asked again, if no other look happens before.
const LEFT_TO_LOOKS: f64 = 1.5;

impl CfwWorker {
    /// The load of the link, unless it was reported too long ago.
    pub(super) fn known_traffic(&self, now: Millis) -> Option<&(Traffic, Millis)> {
        let kept = traffic_fresh_for(self.settings.traffic_interval);
        self.traffic.known.as_ref().filter(|(_, at)| now.since(*at) <= kept)
    }

    /// When the load is read without a probe; none if the host has no source for it.
    pub(super) fn next_traffic(&self) -> Option<Millis> {
        self.traffic_source().map(|_| self.traffic.schedule.goes_alone())
    }

    fn traffic_source(&self) -> Option<TrafficSource> {
        if self.traffic.agent.is_some() {
            return Some(TrafficSource::Agent);
        }
        // A worker without a figure may have one soon, because a link is measured over some seconds.
        self.worker_status.as_ref().map(|_| TrafficSource::Worker)
    }

    /// Asks for a load that is due. The host may be called.
    pub(super) fn ask_traffic(&mut self, ctx: &mut Context<Self>, now: Millis) {
        if self.traffic.asked.is_some() {
            return;
        }
        match self.traffic_source() {
            Some(TrafficSource::Agent) => self.ask_agent(ctx, now),
            // A look also asks for it. On probation only necessary calls are made.
            Some(TrafficSource::Worker) if self.looking_for.is_none() && self.is_on_probation() => {
            }
            Some(TrafficSource::Worker) if self.looking_for.is_none() => self.ask_worker(ctx, now),
            _ => {}
        }
    }

    fn is_on_probation(&self) -> bool {
        self.breaker.state(self.shell.now()).on_probation()
    }

    fn ask_worker(&mut self, ctx: &mut Context<Self>, asked: Millis) {
        self.traffic.asked = Some(TrafficSource::Worker);
        let looks = self.looks;
        let client = self.client.clone();
        let asking = self.call_apart(async move { client.program().await });
        let asking = fut::wrap_future::<_, Self>(asking);
        ctx.spawn(asking.map(move |answer, worker, ctx| {
            let answer = answer.flatten();
            worker.traffic.asked = None;
            worker.judge(HostCallKind::Info, &answer);
            match answer {
                // A look that began meanwhile returns the same kind of value, and may be answered
                // before.
                _ if worker.looks != looks => {}
                Ok((program, _)) if program != worker.program => worker.look_schedule.at_once(),
                Ok((_, word)) => {
                    worker.record_worker_status(word, asked);
                    let interval = worker.settings.traffic_interval;
                    worker.traffic.schedule.answered(asked, interval, fastrand::f64());
                    worker.notify_subscribers();
                }
                Err(failure) => {
                    worker.record_failure("GET /info", &failure);
                    worker.traffic.schedule.failed(worker.shell.now());
                }
            }
            worker.publish_view();
            worker.tick(ctx);
        }));
    }

    /// Takes the traffic in a worker's status. If there is a node_exporter, it reports the link, and the
    /// worker reports the part of its copies.
    pub(super) fn record_worker_traffic(&mut self, word: Option<&WorkerStatus>, asked: Millis) {
        let Some(word) = word.filter(|_| self.traffic.agent.is_none()) else { return };
        self.traffic.known = word.traffic.clone().map(|traffic| (traffic, asked));
        // If looks happen about as often, no further call in between is needed.
        let interval = self.settings.traffic_interval.mul_f64(LEFT_TO_LOOKS);
        self.traffic.schedule.answered(asked, interval, fastrand::f64());
    }

    fn ask_agent(&mut self, ctx: &mut Context<Self>, asked: Millis) {
        let Some(agent) = self.traffic.agent.clone() else { return };
        self.traffic.asked = Some(TrafficSource::Agent);
        let client = self.client.clone();
        let url = agent.url.clone();
        let asking = self.call_apart(async move { client.devices(&url).await });
        let asking = fut::wrap_future::<_, Self>(asking);
        ctx.spawn(asking.map(move |answer, worker, ctx| {
            let answer = answer.flatten();
            worker.traffic.asked = None;
            if worker.traffic.agent.as_ref() != Some(&agent) {
                // Another agent was configured meanwhile, or none, so this answer is useless.
                return worker.tick(ctx);
            }
            let at = worker.shell.now().since(Millis(0));
            let answer = answer.and_then(|devices| {
                worker.traffic.meter.record(at, devices);
                worker.traffic.meter.traffic(&agent)
            });
            worker.on_agent_answer(answer, asked);
            worker.publish_view();
            worker.tick(ctx);
        }));
    }

    fn on_agent_answer(&mut self, entry: Result<Option<Traffic>, AskFailure>, asked: Millis) {
        match entry {
            Ok(traffic) => {
                self.traffic.agent_answers += 1;
                if self.traffic.agent_failure.take().is_some() {
                    info!(host = %self.host, "node_exporter of a host answers again");
                }
                let copies =
                    self.worker_status.as_ref().and_then(|word| word.traffic.as_ref()?.copies);
                let with_copies = |traffic| (Traffic { copies, ..traffic }, asked);
                self.traffic.known = traffic.map(with_copies);
                let interval = self.settings.traffic_interval;
                self.traffic.schedule.answered(asked, interval, fastrand::f64());
                self.notify_subscribers();
            }
            Err(failure) => {
                if self.traffic.agent_failure.as_ref() != Some(&failure) {
                    warn!(host = %self.host, %failure, "node_exporter of a host could not be read");
                }
                self.traffic.agent_failure = Some(failure);
                self.traffic.schedule.failed(self.shell.now());
            }
        }
    }

    /// Applies changes of the configured node_exporter and interval, compared with `before`.
    pub(super) fn apply_agent_settings(&mut self, before: &CfwWorkerSettings) {
        let now = TrafficWatch::new(self.host, &self.settings);
        let same_agent = now.agent == self.traffic.agent;
        if !same_agent || self.settings.traffic_interval != before.traffic_interval {
            let asked = self.traffic.asked;
            let known = self.traffic.known.take().filter(|_| same_agent);
            self.traffic = TrafficWatch { asked, known, ..now };
        }
    }
}
