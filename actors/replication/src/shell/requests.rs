//! Requests to an owner: decided, committed and answered once, also when they are repeated.

use actix::{Actor, ActorFutureExt, Context, ResponseActFuture, WrapFuture};
use futures::future::join_all;

use super::owner::Owner;
use crate::messages::CommitError;
use crate::ownership::{Outcomes, RequestContext};
use crate::piece::Piece;
use crate::replica::ReplicaHandle;

/// The reply to a request that may wait for a commit.
pub type OwnerReply<A, T, E> = ResponseActFuture<A, Result<T, E>>;

/// A reply without a wait.
pub fn reply_now<A: Actor, T: 'static, E: 'static>(result: Result<T, E>) -> OwnerReply<A, T, E> {
    Box::pin(actix::fut::ready(result))
}

/// Requests with a commit, the same for every owner.
pub trait OwnerRequests: Owner {
    /// Answers a request: decides and commits it, and reads the reply from the outcomes. A repeated request
    /// joins the running one, or gets the earlier reply again. A decision without events is read at once.
    ///
    /// The caller gets the errors of `decide` and `read`, and those of the commit.
    fn answer_request<T: 'static, E: From<CommitError> + 'static>(
        &mut self,
        request: RequestContext,
        decide: impl FnOnce(&mut Self) -> Result<Vec<<Self::Piece as Piece>::Event>, E>,
        read: impl FnOnce(&mut Self, Outcomes<Self::Piece>) -> Result<T, E> + 'static,
    ) -> OwnerReply<Self, T, E> {
        let replica = &self.shell().replica;
        if let Some(outcomes) = replica.recall(request.request) {
            return reply_now(read(self, outcomes));
        }
        if let Err(error) = replica.leading() {
            return reply_now(Err(error.into()));
        }
        let events = match replica.under_way(request.request) {
            Some(events) => events,
            None => match decide(self) {
                Ok(events) => events,
                Err(refusal) => return reply_now(Err(refusal)),
            },
        };
        if events.is_empty() {
            return reply_now(read(self, Vec::new()));
        }
        self.commit_request(vec![(request, events)], |owner, outcomes, _| read(owner, outcomes?))
    }

    /// As [`OwnerRequests::commit_request`], for events that may need several entries. The parts have names that
    /// follow from that of `request`.
    fn commit_in_parts<R: 'static>(
        &mut self,
        request: RequestContext,
        events: Vec<<Self::Piece as Piece>::Event>,
        read: impl FnOnce(
            &mut Self,
            Result<Outcomes<Self::Piece>, CommitError>,
            &mut Context<Self>,
        ) -> R
        + 'static,
    ) -> ResponseActFuture<Self, R> {
        let parts = ReplicaHandle::<Self::Piece>::parts(events).into_iter().enumerate();
        let parts = parts.map(|(number, events)| (request.part(number), events)).collect();
        self.commit_request(parts, read)
    }

    /// Commits the decision of a request in parts, in order. Once all parts have returned, `read` gets the
    /// outcomes of all, or the first error. Such an error causes no pause: the caller gets it.
    fn commit_request<R: 'static>(
        &mut self,
        parts: Vec<(RequestContext, Vec<<Self::Piece as Piece>::Event>)>,
        read: impl FnOnce(
            &mut Self,
            Result<Outcomes<Self::Piece>, CommitError>,
            &mut Context<Self>,
        ) -> R
        + 'static,
    ) -> ResponseActFuture<Self, R> {
        let now = self.commit_time();
        let replica = &mut self.shell().replica;
        let mut commits = Vec::with_capacity(parts.len());
        for (request, events) in parts {
            commits.push(replica.commit(now, request, events));
        }
        let answering = join_all(commits).into_actor(self).map(move |returned, owner, ctx| {
            // Each part is completed, also a part after a failed one.
            let complete = |returned| owner.shell().complete_request(returned);
            let results: Vec<_> = returned.into_iter().map(complete).collect();
            let outcomes: Result<Vec<_>, _> = results.into_iter().collect();
            read(owner, outcomes.map(|parts| parts.into_iter().flatten().collect()), ctx)
        });
        Box::pin(answering)
    }
}

impl<O: Owner> OwnerRequests for O {}
