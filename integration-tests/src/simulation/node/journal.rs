//! The model of a node's journal. It applies the log, informs the owner of leadership, proposes commits, and
//! settles their results.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_replication::{
    CommitAnswer, CommitBackoff, CommitError, ReplicaHandle, RequestContext, batch, decode_answers,
};
use reelyard_yard::task_manager::{TaskBook, TaskEvent, change_answer};

use super::calls::refused_answer;
use super::{COMMIT_TIMEOUT, CommitWaiter, SNAPSHOT_EVERY, SimulatedNode};
use crate::simulation::context::Context;
use crate::simulation::messages::{SimulatedMessage, SimulatedResponse};
use crate::simulation::operator::OperatorAction;
use crate::simulation::parties::{Party, PartyTimer};
use crate::simulation::proposer::FinishedCommit;
use crate::simulation::queue::SimulationEvent;
use crate::simulation::replica::{Outgoing, Rpc};
use crate::trace;

impl SimulatedNode {
    pub(super) fn raft(&mut self, context: &mut Context, from: Party, rpc: Rpc) {
        let Party::Node(from) = from else { return };
        let (out, installed) = self.replica.receive(from, rpc, context.now(), &mut context.rng);
        self.post(context, out);
        if installed {
            trace!(context, "{} takes a snapshot of another", self.party());
            self.install(context);
            self.show(context);
        }
        self.advance(context);
    }

    pub(super) fn post(&mut self, context: &mut Context, out: Outgoing) {
        for (to, rpc) in out {
            context.send(self.party(), Party::Node(to), SimulatedMessage::Raft(rpc));
        }
    }

    /// Applies all committed entries.
    pub(super) fn advance(&mut self, context: &mut Context) {
        while self.applied < self.replica.commit() {
            self.apply_next(context);
        }
        // An entry that another leader's entry replaced gets no answer.
        let lost = self.proposer.under_way.as_ref().and_then(|entry| entry.written);
        if lost
            .is_some_and(|(index, term)| index <= self.applied || !self.replica.holds(index, term))
        {
            let mut back = Vec::new();
            self.proposer.give_up(&mut back);
            self.settle_all(context, back);
            self.propose(context);
        }
        if self.replica.kept() >= SNAPSHOT_EVERY {
            let mut rows = Vec::new();
            self.own.freeze().write(&mut |row| rows.push(row.to_vec()));
            self.replica.keep_snapshot(self.applied, rows);
        }
        self.notice(context);
    }

    pub(super) fn apply_next(&mut self, context: &mut Context) {
        let index = self.applied + 1;
        let Some(entry) = self.replica.entry(index).cloned() else {
            context.judge.fail("log", format!("node{} lacks entry {index}", self.id));
            self.applied = index;
            return;
        };
        self.applied = index;
        if entry.payload.is_empty() {
            context.judge.passed(index, entry.term);
            return;
        }
        let commits = match batch::read(&entry.payload) {
            Ok(commits) => commits.into_iter().map(Arc::new).collect::<Vec<_>>(),
            Err(error) => return context.judge.fail("log", format!("entry {index}: {error}")),
        };
        let applied = match self.own.apply(index, Epoch(entry.term), &commits) {
            Ok(applied) => applied,
            Err(error) => return context.judge.fail("log", format!("entry {index}: {error}")),
        };
        let first = context.judge.applied(
            index,
            (entry.term, &entry.payload),
            &commits,
            &applied,
            self.own.piece(),
        );
        if first {
            for event in &applied.events {
                trace!(context, "{index}: {} -> {:?}", short(&event.event), event.result);
            }
        }
        let leads = self.own.epoch().is_some();
        let mut freed = false;
        for event in &applied.events {
            let followed = self.policy.on_applied(event, self.own.piece(), leads);
            freed |= followed.freed;
            if let Some(arrival) = followed.arrived.filter(|_| leads) {
                self.arrived(context, arrival.host, arrival.file);
            }
        }
        let mine = self.proposer.under_way.as_ref().and_then(|under_way| under_way.written);
        let mut back = Vec::new();
        if mine == Some((index, entry.term)) {
            self.proposer.applied(applied.answers, &mut back);
        }
        if freed {
            self.turn(context);
        } else {
            self.show(context);
            self.soon(context);
        }
        self.settle_all(context, back);
        self.propose(context);
    }

    // Leadership.

    /// The epoch in which this node leads: it has a quorum and has applied all earlier entries.
    pub(super) fn leads_by_now(&self, now: u64) -> Option<Epoch> {
        let term = self.replica.leads_a_quorum(now)?;
        let caught_up = self.applied == self.replica.last();
        (caught_up || self.proposer.leading == Some(Epoch(term))).then_some(Epoch(term))
    }

    /// Notices a change of leadership after a short delay, and rarely after a long one.
    pub(super) fn notice(&mut self, context: &mut Context) {
        if self.noticing || self.leads_by_now(context.now()) == self.proposer.leading {
            return;
        }
        self.noticing = true;
        let after = match context.rng.u32(0..100) {
            0..3 => context.rng.u64(1000..12_000),
            _ => context.rng.u64(0..20),
        };
        context.after(after, self.party(), self.life, PartyTimer::Notice);
    }

    pub(super) fn take_notice(&mut self, context: &mut Context) {
        let leading = self.leads_by_now(context.now());
        if leading == self.proposer.leading {
            return;
        }
        self.proposer.session += 1;
        self.proposer.leading = leading;
        let mut back = Vec::new();
        self.proposer.give_up(&mut back);
        if self.own.epoch().is_some() {
            trace!(context, "{} no longer leads", self.party());
            self.own.step_down();
            self.policy.step_down();
        }
        self.settle_all(context, back);
        if let Some(epoch) = leading {
            trace!(context, "{} leads in epoch {epoch}", self.party());
            context.leader = self.id;
            context.judge.leads(self.id, epoch.0);
            self.own.lead(epoch);
            let now = self.clock(context);
            self.pause = CommitBackoff::default();
            for host in self.policy.become_leader(now) {
                self.refresh(context, host);
            }
            self.turn(context);
        }
        self.show(context);
        self.propose(context);
    }

    // Commits: proposals and their results.

    /// Commits events, split into entries. Returns the number of commits.
    pub(super) fn commit(
        &mut self,
        context: &mut Context,
        events: Vec<TaskEvent>,
        mut waiter: impl FnMut() -> CommitWaiter,
    ) -> usize {
        let now = self.clock(context);
        let mut commits = 0;
        for events in ReplicaHandle::<TaskBook>::parts(events) {
            let asked = RequestContext {
                by: "simulation".to_owned(),
                request: context.request(),
                remember: false,
            };
            self.commit_one(context, now, asked, events, waiter());
            commits += 1;
        }
        self.propose(context);
        commits
    }

    pub(super) fn commit_one(
        &mut self,
        context: &mut Context,
        now: Millis,
        asked: RequestContext,
        events: Vec<TaskEvent>,
        waiter: CommitWaiter,
    ) {
        let request = asked.request;
        let handed = match self.own.begin_commit(now, asked, events) {
            None => Err((waiter, CommitError::NotLeader { leader: None })),
            Some(commit) => self.proposer.hand_in(&commit, waiter),
        };
        match handed {
            Ok(proposal) => {
                let timer = PartyTimer::CommitIsOver { proposal };
                context.after(COMMIT_TIMEOUT, self.party(), self.life, timer);
            }
            Err((waiter, error)) => {
                let back = FinishedCommit { request, waiter: Some(waiter), result: Err(error) };
                self.settle_all(context, vec![back]);
            }
        }
    }

    /// Fills the next entry and hands it to Raft.
    pub(super) fn propose(&mut self, context: &mut Context) {
        let mut back = Vec::new();
        if let Some(entry) = self.proposer.fill(&mut back) {
            let after = match context.rng.u32(0..100) {
                0..2 => context.rng.u64(500..8000),
                _ => context.rng.u64(1..6),
            };
            context.after(after, self.party(), self.life, PartyTimer::Write { entry });
        }
        self.settle_all(context, back);
    }

    pub(super) fn write(&mut self, context: &mut Context, number: u64) {
        let Some(entry) = self.proposer.under_way.as_mut().filter(|entry| entry.entry == number)
        else {
            return;
        };
        // An entry of an earlier session is not written.
        let bytes = entry.bytes.take().filter(|_| entry.session == self.proposer.session);
        let written = bytes.and_then(|bytes| self.replica.append(bytes.into()));
        entry.written = written;
        if written.is_none() {
            let mut back = Vec::new();
            self.proposer.give_up(&mut back);
            self.settle_all(context, back);
            self.propose(context);
        } else {
            let out = self.replica.beat(context.now());
            self.post(context, out);
        }
        self.advance(context);
    }

    pub(super) fn settle_all(
        &mut self,
        context: &mut Context,
        back: Vec<FinishedCommit<CommitWaiter>>,
    ) {
        for FinishedCommit { request, waiter, result } in back {
            // A party that has the answer "outcome unknown" waits no more.
            let Some(waiter) = waiter else { continue };
            let settled = result.and_then(|answer| match answer {
                CommitAnswer::Applied(answers) => Ok(decode_answers::<TaskBook>(&answers)),
                CommitAnswer::Deposed => Err(CommitError::Deposed),
            });
            self.own.settle(request, &settled);
            match &settled {
                Ok(outcomes) => {
                    self.pause.committed();
                    context.judge.acknowledged(request, outcomes.len());
                }
                Err(error) => {
                    let now = self.clock(context);
                    let pause = self.pause.uncommitted(error, now).pause;
                    self.wake_after(context, u64::try_from(pause.as_millis()).unwrap_or(1000));
                }
            }
            match waiter {
                CommitWaiter::Itself => {}
                CommitWaiter::Reports(number) => {
                    self.reports_settled(context, number, settled.is_ok())
                }
                CommitWaiter::Change { caller, id, to } => {
                    let answer = match settled.map(|outcomes| change_answer(outcomes, id, to)) {
                        Ok(Ok(())) => SimulatedResponse::ok([]),
                        Ok(Err(refused)) => refused_answer(&refused),
                        Err(_) => SimulatedResponse::status(503),
                    };
                    context.answer(self.party(), caller.0, caller.1, answer);
                }
                CommitWaiter::Operator { id, request } => {
                    if settled.is_err() {
                        let again = OperatorAction::Cancel { task: Some(id), request };
                        context.queue.push(3000, SimulationEvent::Done(again));
                    }
                }
            }
        }
    }
}

/// A short description of an event.
fn short(event: &TaskEvent) -> String {
    match event {
        TaskEvent::Created(task) => {
            let (id, name) = (task.id, &task.name);
            format!("created {id} {name:?} {} -> {}", task.source, task.destination)
        }
        TaskEvent::InventoryDiffered { host, added, removed, complete } => {
            format!("{host} differs +{added:?} -{removed:?} complete {complete}")
        }
        TaskEvent::Ended { id, ending, .. } => {
            format!("ended {id}: {:?} {}", ending.how, ending.reason)
        }
        other => format!("{other:?}"),
    }
}
