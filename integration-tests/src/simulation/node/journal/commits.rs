//! Commits: proposals and their results.

use reelyard_core::event::Commit;
use reelyard_replication::{CommitAnswer, CommitError};

use crate::simulation::environment::context::Context;
use crate::simulation::environment::parties::PartyTimer;
use crate::simulation::node::outbox::PendingReply;
use crate::simulation::node::{COMMIT_TIMEOUT, SimulatedNode};
use crate::simulation::raft::proposer::FinishedCommit;

impl SimulatedNode {
    /// Takes a commit of an owner, or refuses it.
    pub(in crate::simulation::node) fn take_commit(
        &mut self,
        context: &mut Context,
        commit: &Commit,
        reply: PendingReply,
    ) {
        match self.proposer.submit(commit, reply) {
            Ok(proposal) => {
                let timer = PartyTimer::CommitIsOver { proposal };
                context.after(COMMIT_TIMEOUT, self.party(), self.life, timer);
                self.check_decision(context, commit);
            }
            Err((reply, error)) => {
                // An owner that ended waits no more.
                let _ = reply.send(Err(error));
            }
        }
        self.propose(context);
    }

    /// Fills the next entry and hands it to Raft.
    pub(in crate::simulation::node) fn propose(&mut self, context: &mut Context) {
        let mut back = Vec::new();
        if let Some(entry) = self.proposer.fill(&mut back) {
            let after = match context.rng.u32(0..100) {
                0..2 => context.rng.u64(500..8000),
                _ => context.rng.u64(1..6),
            };
            context.after(after, self.party(), self.life, PartyTimer::Write { entry });
        }
        self.finish_commits(context, back);
    }

    pub(in crate::simulation::node) fn write(&mut self, context: &mut Context, number: u64) {
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
            self.finish_commits(context, back);
            self.propose(context);
        } else {
            let out = self.replica.beat(context.now());
            self.post(context, out);
        }
        self.advance(context);
    }

    pub(in crate::simulation::node) fn finish_commits(
        &mut self,
        context: &mut Context,
        back: Vec<FinishedCommit<PendingReply>>,
    ) {
        for FinishedCommit { request, waiter, result } in back {
            if !matches!(result, Err(CommitError::Unknown { .. })) {
                self.decided.remove(&request);
            }
            // A party that has the answer "outcome unknown" waits no more.
            let Some(reply) = waiter else { continue };
            if let Ok(CommitAnswer::Applied(answers)) = &result {
                context.judge.acknowledged(request, answers.len());
            }
            // An owner that ended waits no more.
            let _ = reply.send(result);
        }
    }
}
