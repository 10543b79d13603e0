//! The journal's commands to an owner.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::owner::Owner;
use super::ticks::OwnerTicks;
use crate::commits::commit_backoff::CommitBackoff;
use crate::messages::JournalCommand;
use crate::ownership::AppliedEvent;
use crate::piece::Piece;
use crate::replica::StateChange;

/// The reaction to the journal, the same for every owner.
pub trait OwnerCommands: OwnerTicks {
    /// Registers the owner with the journal, and publishes the first view: for `Actor::started`.
    fn join_journal(&mut self, ctx: &mut Context<Self>) {
        let recipient = ctx.address().recipient();
        let log = self.shell().log.clone();
        log.register(Self::Piece::ID, recipient);
        let catching_up = log.caught_up(Self::Piece::ID);
        ctx.spawn(catching_up.into_actor(self).map(|is_current, owner, _| {
            if is_current {
                owner.catch_up();
                owner.renew_view();
            }
        }));
        self.renew_view();
    }

    /// The piece is no longer outdated.
    fn catch_up(&mut self) {
        self.shell().is_caught_up = true;
        self.attach_readers();
    }

    /// Carries out a command of the journal.
    fn handle_journal_command(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        let began = self.shell().clock.cost();
        match self.shell().replica.handle_command(command) {
            StateChange::Applied(entry) => {
                self.shell().is_view_stale = true;
                self.on_applied(&entry, ctx);
                if self.shell().is_view_stale {
                    self.mark_view_stale(ctx);
                }
                self.publish_changes(&entry);
                let cost = self.shell().clock.cost().saturating_sub(began);
                self.record_cost(&entry, cost);
            }
            StateChange::Installed => {
                self.on_installed(ctx);
                if self.shell().is_caught_up {
                    self.attach_readers();
                }
                self.mark_view_stale(ctx);
            }
            StateChange::LeaderStarted(epoch) => {
                // Outcomes of commits of another epoch do not matter for this one.
                self.shell().pause = CommitBackoff::default();
                self.catch_up();
                self.on_leader_started(epoch, ctx);
                self.renew_view();
            }
            StateChange::LeaderStopped => {
                self.on_leader_stopped(ctx);
                self.renew_view();
            }
            StateChange::Nothing => {}
        }
    }

    /// Publishes what one entry changed. Subscribers that get a change can already read the new view.
    fn publish_changes(&mut self, entry: &[AppliedEvent<Self::Piece>]) {
        if self.shell().feed.is_none() {
            return;
        }
        let changes = self.changes_of(entry);
        let shell = self.shell();
        let Some(feed) = &shell.feed else { return };
        let leads = shell.replica.epoch().is_some();
        let index = shell.replica.applied();
        feed.publish_applied(Self::Piece::ID, index, leads, &mut changes.into_iter());
    }
}

impl<O: Owner> OwnerCommands for O {}
