//! Commits of an owner's own decisions.

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};

use super::owner::Owner;
use super::ticks::OwnerTicks;
use crate::messages::CommitError;
use crate::ownership::{Outcomes, RequestContext};
use crate::piece::Piece;
use crate::replica::{ReplicaHandle, ReturnedCommit};

/// Commits that no caller waits for, the same for every owner.
pub trait OwnerCommits: OwnerTicks {
    /// Commits the owner's own events, cut into entries. A refused or lost event is decided again from the
    /// state at that time.
    fn commit(&mut self, events: Vec<<Self::Piece as Piece>::Event>, ctx: &mut Context<Self>) {
        self.commit_then(events, ctx, |_, _, _| ());
    }

    /// As [`OwnerCommits::commit`]. `then` gets the result of each part, unless another epoch began meanwhile.
    fn commit_then(
        &mut self,
        events: Vec<<Self::Piece as Piece>::Event>,
        ctx: &mut Context<Self>,
        then: impl Fn(&mut Self, Result<Outcomes<Self::Piece>, CommitError>, &mut Context<Self>)
        + Clone
        + 'static,
    ) {
        for events in ReplicaHandle::<Self::Piece>::parts(events) {
            let request = self.shell().unnamed_request(Self::NAME);
            self.commit_part(request, events, ctx, then.clone());
        }
    }

    /// As [`OwnerCommits::commit_then`], for events that fit one entry, under the name of `request`.
    fn commit_part(
        &mut self,
        request: RequestContext,
        events: Vec<<Self::Piece as Piece>::Event>,
        ctx: &mut Context<Self>,
        then: impl FnOnce(&mut Self, Result<Outcomes<Self::Piece>, CommitError>, &mut Context<Self>)
        + 'static,
    ) {
        let now = self.commit_time();
        let shell = self.shell();
        let epoch = shell.replica.epoch();
        let committing = shell.replica.commit(now, request, events);
        ctx.spawn(committing.into_actor(self).map(move |returned, owner, ctx| {
            let result = owner.complete_own(returned, ctx);
            if owner.shell().replica.epoch() == epoch {
                then(owner, result, ctx);
            }
        }));
    }

    /// Completes a returned commit of the owner itself. Without an outcome the owner makes no decisions for a
    /// while.
    fn complete_own(
        &mut self,
        returned: ReturnedCommit<Self::Piece>,
        ctx: &mut Context<Self>,
    ) -> Result<Outcomes<Self::Piece>, CommitError> {
        let now = self.shell().clock.now();
        let shell = self.shell();
        let result = shell.replica.complete(returned);
        match &result {
            Ok(_) => {
                if shell.pause.committed() {
                    tracing::info!("commits of {} work again", Self::SUBJECT);
                }
            }
            Err(error) => {
                shell.uncommitted += 1;
                let held = shell.pause.uncommitted(error, now);
                if held.is_news {
                    tracing::warn!(%error, "commit of {} returned without an outcome", Self::SUBJECT);
                }
                self.wake_after(held.pause, ctx);
            }
        }
        result
    }
}

impl<O: Owner> OwnerCommits for O {}
