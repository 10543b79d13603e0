//! The known load of a host's link, and the program that reports it.

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::traffic::Traffic;

use super::agent_meter::AgentMeter;
use crate::cfw_worker::calls::ask_failure::AskFailure;
use crate::cfw_worker::lists::schedule::PollSchedule;
use crate::cfw_worker::settings::CfwWorkerSettings;
use crate::settings::hosts::Agent;

/// The known load of a host's link, and its sources.
pub(in crate::cfw_worker) struct TrafficWatch {
    /// The last reported load, and the time of its request.
    pub(in crate::cfw_worker) known: Option<(Traffic, Millis)>,
    pub(in crate::cfw_worker) schedule: PollSchedule,
    /// The source of the running request.
    pub(in crate::cfw_worker) asked: Option<TrafficSource>,
    /// The node_exporter that is read instead of the host's worker.
    pub(in crate::cfw_worker) agent: Option<Agent>,
    pub(in crate::cfw_worker) meter: AgentMeter,
    pub(in crate::cfw_worker) agent_failure: Option<AskFailure>,
    pub(in crate::cfw_worker) agent_answers: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cfw_worker) enum TrafficSource {
    Worker,
    Agent,
}

impl TrafficWatch {
    pub fn new(host: HostAddr, settings: &CfwWorkerSettings) -> Self {
        TrafficWatch {
            known: None,
            schedule: PollSchedule::new(settings.traffic_interval),
            asked: None,
            agent: settings.agents.0.get(&host).cloned(),
            meter: AgentMeter::new(settings.traffic_interval),
            agent_failure: None,
            agent_answers: 0,
        }
    }

    /// Whether the host's own worker is being asked.
    pub fn worker_is_asked(&self) -> bool {
        self.asked == Some(TrafficSource::Worker)
    }

    /// How often the agent has answered.
    pub fn agent_answers(&self) -> u64 {
        self.agent_answers
    }

    /// Why the last read of the node_exporter failed.
    pub fn agent_failure(&self) -> Option<&AskFailure> {
        self.agent_failure.as_ref()
    }
}
