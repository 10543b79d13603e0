//! The way of a node to the hosts of boxes: hooks, inspections and probes are calls over the network.

use reelyard_protocol::boxes::{
    BoxInspection, BoxNumber, HookAnswer, HookOutput, InspectedBox, ProbeFailure,
};

use super::SimulatedNode;
use super::outbox::HookRequest;
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{BoxHostCall, SimulatedCall, SimulatedResponse};
use crate::simulation::hosts::boxes::HOOK_FAILED;

/// The timeout of a hook, in milliseconds.
const HOOK_TIMEOUT: u64 = 10_000;
/// The timeout of an inspection, in milliseconds.
const INSPECT_TIMEOUT: u64 = 4000;

impl SimulatedNode {
    pub(super) fn ask_box_host(&mut self, context: &mut Context, request: HookRequest) {
        let (host, call, timeout) = match &request {
            HookRequest::Run(run, _) => {
                (run.place.host, BoxHostCall::Run(run.clone()), HOOK_TIMEOUT)
            }
            HookRequest::Inspect(inspect, _) => {
                (inspect.place.host, BoxHostCall::Inspect(inspect.clone()), INSPECT_TIMEOUT)
            }
            HookRequest::Probe(host, within, _) => {
                let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
                (*host, BoxHostCall::Probe, within)
            }
        };
        let Some(to) = context.judge.party_at(host) else { return };
        let call = SimulatedCall::Hook(call);
        let id = context.call(self.party(), self.life, to, call, timeout);
        self.hooks.insert(id, request);
    }

    /// Passes an answer on, or its absence. An owner that ended waits no more.
    pub(super) fn box_host_answered(request: HookRequest, answer: Option<SimulatedResponse>) {
        match request {
            HookRequest::Run(_, reply) => drop(reply.send(hook_answer(answer))),
            HookRequest::Inspect(_, reply) => drop(reply.send(inspection(answer))),
            HookRequest::Probe(_, _, reply) => {
                let silent = || ProbeFailure::Silent("no answer".to_owned());
                drop(reply.send(answer.map(|_| ()).ok_or_else(silent)));
            }
        }
    }
}

fn hook_answer(answer: Option<SimulatedResponse>) -> HookAnswer {
    match answer.map(|answer| answer.status) {
        Some(200) => HookAnswer::Done { output: None },
        Some(HOOK_FAILED) => HookAnswer::Failed { output: HookOutput::cut("exit status 1") },
        Some(status) => HookAnswer::Silent { why: format!("the worker answered {status}") },
        None => HookAnswer::Silent { why: "no answer".to_owned() },
    }
}

fn inspection(answer: Option<SimulatedResponse>) -> Result<BoxInspection, String> {
    let answer = answer.filter(|answer| answer.status == 200);
    let seen: Vec<(u32, bool)> = answer
        .and_then(|answer| serde_json::from_slice(&answer.body).ok())
        .ok_or_else(|| "no answer".to_owned())?;
    let boxes = seen.into_iter().map(|(number, is_dirty)| InspectedBox {
        number: BoxNumber(number),
        dirt: is_dirty.then(|| HookOutput::cut("a file is left")),
    });
    Ok(BoxInspection { boxes: boxes.collect(), highest: None })
}
