//! Applies the journal's events and carries out their effects.

use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, Handler, WrapFuture};
use reelyard_core::clock::Millis;
use reelyard_core::display_text::word;
use reelyard_core::event::Epoch;
use reelyard_replication::{
    AppliedEvent, JournalCommand, Owner, OwnerCommands, OwnerCommits, OwnerTicks, Replicated,
};

use super::tick::BATCH_DELAY;
use crate::cfw_worker::{AskFailure, DeleteCopy};
use crate::changes::YardChange;
use crate::remover::policy::round::MYSELF;
use crate::remover::views::changes::changes_of;
use crate::remover::{
    Intent, RemovalBook, RemovalEvent, RemovalOutcome, Remover, RemoverCounters, RemoverView,
};

impl Handler<JournalCommand> for Remover {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.handle_journal_command(command, ctx);
    }
}

impl Owner for Remover {
    type Piece = RemovalBook;
    type View = RemoverView;
    type Change = YardChange;

    const NAME: &'static str = MYSELF;
    const SUBJECT: &'static str = "removals";

    fn shell(&mut self) -> &mut Replicated<RemovalBook, RemoverView, YardChange> {
        &mut self.replica
    }

    fn batch_delay(&self) -> Duration {
        BATCH_DELAY
    }

    fn on_applied(&mut self, entry: &[AppliedEvent<RemovalBook>], ctx: &mut Context<Self>) {
        for event in entry {
            self.applied(event, ctx);
        }
        self.soon(ctx);
    }

    fn on_leader_started(&mut self, _: Epoch, ctx: &mut Context<Self>) {
        let now = self.clock.now();
        self.policy.become_leader(now);
        self.next_round = Some(now.after(self.policy.settings().interval));
        self.soon(ctx);
    }

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {
        self.next_round = None;
        self.last = None;
    }

    fn build_view(&mut self) -> RemoverView {
        let book = self.replica.piece();
        RemoverView {
            at: self.clock.now(),
            epoch: self.replica.epoch(),
            mode: self.policy.settings().mode,
            open: book.open().clone(),
            rooms_made: book.rooms_made(self.policy.settings(), self.clock.now()),
            pins: book.pins().clone(),
            doubts: book.doubts().clone(),
            history: book.history().clone(),
            last: self.last.clone(),
            counters: RemoverCounters {
                uncommitted: self.replica.uncommitted(),
                ..self.policy.counters
            },
        }
    }

    fn changes_of(&mut self, entry: &[AppliedEvent<RemovalBook>]) -> Vec<(Millis, YardChange)> {
        changes_of(entry)
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.tick(ctx);
    }
}

impl Remover {
    /// Carries out an applied event. An event that a node applies before it leads is old. For such an
    /// event it calls no host and publishes nothing.
    fn applied(&mut self, applied: &AppliedEvent<RemovalBook>, ctx: &mut Context<Self>) {
        let (leads, now) = (self.replica.epoch(), self.clock.now());
        self.policy.on_applied(applied, self.replica.piece(), leads.is_some(), now);
        let Some(epoch) = leads else { return };
        match (&applied.result, &applied.event) {
            (Ok(RemovalOutcome::Applied), RemovalEvent::Intended(intent)) => {
                self.carry_out(intent, epoch, ctx);
            }
            (Ok(RemovalOutcome::Applied), RemovalEvent::Ended { host, name, ending }) => {
                tracing::info!(%host, file = name.to_string(), ending = word(ending), "a removal ended");
            }
            (Err(refusal), _) => {
                tracing::warn!(%refusal, "a removal event was out of date when it was applied: ignored");
            }
            _ => {}
        }
    }

    /// Asks a host to remove a copy, as recorded.
    fn carry_out(&mut self, intent: &Intent, epoch: Epoch, ctx: &mut Context<Self>) {
        let Intent { host, ref name, ref reason, keeper, ref asked_by, .. } = *intent;
        let why = reason.code();
        let keeper = keeper.map(|keeper| keeper.to_string());
        tracing::info!(%host, file = name.to_string(), why, keeper = keeper, asked_by, "removing a copy");
        let copy = (host, self.replica.piece().file(name));
        let Some(worker) = self.collaborators.delete.to(host) else { return };
        self.policy.asking(copy);
        let name = name.clone();
        let asking = worker.send(DeleteCopy { name: name.clone(), epoch });
        ctx.spawn(asking.into_actor(self).map(move |answer, remover, ctx| {
            let gone = |_| AskFailure::Unreachable("the actor of the host stopped during the \
                call".to_owned());
            let answer = answer.map_err(gone).and_then(|answer| answer);
            if let Err(failure) = &answer {
                tracing::warn!(%host, file = name.to_string(), %failure, "a host did not answer a removal");
            }
            let now = remover.clock.now();
            let event = remover.policy.answered(copy, &name, &answer, now);
            remover.commit(event.into_iter().collect(), ctx);
            remover.soon(ctx);
        }));
    }
}
