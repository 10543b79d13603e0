//! Leadership: the node notices it late, and informs the owners.

use reelyard_core::event::Epoch;
use reelyard_replication::{JournalCommand, Leadership};

use crate::simulation::environment::context::Context;
use crate::simulation::environment::parties::PartyTimer;
use crate::simulation::node::SimulatedNode;
use crate::simulation::pieces::PIECES;
use crate::trace;

impl SimulatedNode {
    /// The epoch in which this node leads: it has a quorum and has applied all earlier entries.
    pub(in crate::simulation::node) fn leads_by_now(&self, now: u64) -> Option<Epoch> {
        let term = self.replica.leads_a_quorum(now)?;
        let caught_up = self.applied == self.replica.last();
        (caught_up || self.proposer.leading == Some(Epoch(term))).then_some(Epoch(term))
    }

    /// Notices a change of leadership after a short delay, and rarely after a long one.
    pub(in crate::simulation::node) fn notice(&mut self, context: &mut Context) {
        if self.noticing || self.leads_by_now(context.now()) == self.proposer.leading {
            return;
        }
        self.noticing = true;
        let after = match context.rng.u32(0..100) {
            0..10 => context.rng.u64(1000..12_000),
            _ => context.rng.u64(0..20),
        };
        context.after(after, self.party(), self.life, PartyTimer::Notice);
    }

    pub(in crate::simulation::node) fn take_notice(&mut self, context: &mut Context) {
        let leading = self.leads_by_now(context.now());
        if leading == self.proposer.leading || self.hosted.owners.len() < PIECES.len() {
            return;
        }
        let led = self.proposer.leading.is_some();
        self.proposer.session += 1;
        self.proposer.leading = leading;
        self.decided.clear();
        self.hosted.kept_from_leading.clear();
        if led {
            trace!(context, "{} no longer leads", self.party());
            self.command_all(|| JournalCommand::LeaderStopped);
        }
        let mut back = Vec::new();
        self.proposer.give_up(&mut back);
        self.finish_commits(context, back);
        if let Some(epoch) = leading {
            trace!(context, "{} leads in epoch {epoch}", self.party());
            context.leader = self.id;
            context.judge.leads(self.id, epoch.0);
            self.command_all(|| JournalCommand::LeaderStarted { epoch });
        }
        if let Some(process) = &self.process {
            process.leadership.send_replace(match leading {
                Some(epoch) => Leadership::Leading { epoch },
                None => Leadership::Nobody,
            });
        }
        self.propose(context);
    }

    fn command_all(&self, command: impl Fn() -> JournalCommand) {
        for piece in PIECES {
            self.hosted.send(piece, command());
        }
    }
}
