//! A copy, from its first byte to its report.

use reelyard_core::clock::Millis;
use reelyard_protocol::worker::{Blame, Report, ReportedState, TaskId};

use super::PendingWorkerCall;
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::{SimulatedCall, SimulatedResponse};
use crate::simulation::environment::parties::PartyTimer;
use crate::simulation::hosts::disk::{SimulatedCopy, hash_of, joined};
use crate::simulation::hosts::host::{SimulatedHost, parsed};
use crate::trace;

/// The bytes of a master in one read.
const STEP: u64 = 8_000_000;

impl SimulatedHost {
    pub(super) fn read_on(&mut self, context: &mut Context, task: TaskId) {
        let used = self.disk.figures().used_percent;
        let Some(fetch) = self.ours().fetches.get(&task).filter(|fetch| !fetch.cancelled) else {
            return;
        };
        if fetch.got == 0 && used > 90 {
            return self.fail(context, task, Blame::Destination, "the disk is over its limit");
        }
        let Some(source) = context.judge.party_at(fetch.order.source) else { return };
        let (name, offset) = (fetch.order.name.clone(), fetch.got);
        let call = SimulatedCall::Read { name, offset, length: STEP };
        self.call_out(context, source, call, 3000, PendingWorkerCall::Read(task));
    }

    pub(super) fn bytes_came(
        &mut self,
        context: &mut Context,
        task: TaskId,
        answer: Option<SimulatedResponse>,
    ) {
        let now = self.clock(context);
        let Some(answer) = answer else {
            return self.fail(context, task, Blame::Source, "the source does not answer");
        };
        let reply = parsed(&answer).filter(|_| answer.status == 200);
        let Some((content, size, bytes)) = reply else {
            return self.fail(context, task, Blame::File, "the source cannot read it");
        };
        let Some(fetch) = self.ours().fetches.get_mut(&task).filter(|fetch| !fetch.cancelled)
        else {
            return;
        };
        let (_, whole) = *fetch.master.get_or_insert((content, size));
        if bytes == 0 {
            return self.fail(context, task, Blame::File, "it became shorter");
        }
        fetch.pieces.push(content);
        fetch.got += bytes;
        let got = fetch.got;
        if !self.disk.write(task, bytes) {
            return self.fail(context, task, Blame::Destination, "the disk is full");
        }
        self.ours().transfers.moved(task, got, now);
        self.news(context);
        if got < whole {
            let after = context.rng.u64(100..1500);
            return context.after(after, self.party(), self.life, PartyTimer::Read(task));
        }
        let Some(fetch) = self.ours().fetches.get(&task) else { return };
        let (source, name) = (fetch.order.source, fetch.order.name.clone());
        if !context.judge.is_ours(source) {
            // An old cfw sends no hash: the worker can only use the received bytes.
            let after = context.rng.u64(5..200);
            return context.after(after, self.party(), self.life, PartyTimer::Publish(task));
        }
        let Some(source) = context.judge.party_at(source) else { return };
        self.call_out(
            context,
            source,
            SimulatedCall::Hash { name },
            3000,
            PendingWorkerCall::Hash(task),
        );
    }

    pub(super) fn hash_came(
        &mut self,
        context: &mut Context,
        task: TaskId,
        answer: Option<SimulatedResponse>,
    ) {
        let Some(answer) = answer.filter(|answer| answer.status == 200) else {
            return self.fail(context, task, Blame::Source, "the source sends no hash");
        };
        let there: Option<u64> = serde_json::from_slice(&answer.body).ok();
        let Some(fetch) = self.ours().fetches.get(&task) else { return };
        let first = fetch.master.map(|(content, _)| content);
        if there != first || there != Some(joined(&fetch.pieces)) {
            return self.fail(context, task, Blame::File, "the master changed meanwhile");
        }
        let after = context.rng.u64(5..200);
        context.after(after, self.party(), self.life, PartyTimer::Publish(task));
    }

    /// Gives the synced copy its name.
    pub(super) fn publish(&mut self, context: &mut Context, task: TaskId) {
        let Some(fetch) = self.ours().fetches.get_mut(&task).filter(|fetch| !fetch.cancelled)
        else {
            return;
        };
        let (content, size) = (joined(&fetch.pieces), fetch.got);
        let name = fetch.order.name.clone();
        let (hash, verified) = (hash_of(content), context.judge.is_ours(fetch.order.source));
        fetch.state = Some(match verified {
            true => ReportedState::Done { size, hash },
            false => ReportedState::DoneUnverified { size, hash },
        });
        self.disk.partial.remove(&task);
        trace!(context, "{} has {name:?} of {task}", self.party());
        context.judge.published(self.addr, &name, content, Some(task), verified);
        self.disk.files.insert(name, SimulatedCopy { content, size, task: Some(task) });
        let after = context.rng.u64(1..30);
        context.after(after, self.party(), self.life, PartyTimer::Keep(task));
    }

    pub(super) fn fail(&mut self, context: &mut Context, task: TaskId, blame: Blame, reason: &str) {
        let Some(fetch) = self.ours().fetches.get_mut(&task).filter(|fetch| !fetch.cancelled)
        else {
            return;
        };
        fetch.state = Some(ReportedState::Failed { blame, reason: reason.to_owned() });
        trace!(context, "{}: {task} fails: {reason}", self.party());
        self.disk.partial.remove(&task);
        context.after(1, self.party(), self.life, PartyTimer::Keep(task));
    }

    /// Makes the end durable, and then reports it.
    pub(super) fn keep(&mut self, context: &mut Context, task: TaskId) {
        let at: Millis = self.clock(context);
        let ours = self.ours();
        let Some(fetch) = ours.fetches.remove(&task) else { return };
        let Some(state) = fetch.state else { return };
        let report = Report { task, name: fetch.order.name, at, state };
        ours.store.reports.insert(task, report.clone());
        let acts = ours.transfers.ended(task, Some(report), at);
        self.carry_out(context, acts);
    }

    /// Ends a withdrawn copy, unless it has ended already.
    pub(super) fn given_up(&mut self, context: &mut Context, task: TaskId) {
        let now = self.clock(context);
        let ours = self.ours();
        if ours.fetches.get(&task).is_none_or(|fetch| fetch.state.is_some()) {
            return;
        }
        ours.fetches.remove(&task);
        self.disk.partial.remove(&task);
        let acts = self.ours().transfers.ended(task, None, now);
        self.carry_out(context, acts);
    }
}
