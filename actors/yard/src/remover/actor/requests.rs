//! Requests of other actors and of users.

use actix::fut::{ready, wrap_future};
use actix::{ActorFutureExt, Context, Handler, MessageResult, ResponseActFuture};
use reelyard_replication::{CommitError, Outcomes, Owner, RequestContext};

use crate::remover::{
    ChangeRemoverSettings, CopySays, ExplainCopies, PinFile, RemovalBook, RemovalEvent,
    RemovalOutcome, RemoveNow, Remover,
};

impl Handler<PinFile> for Remover {
    type Result = ResponseActFuture<Remover, Result<bool, CommitError>>;

    fn handle(&mut self, pin: PinFile, _: &mut Context<Self>) -> Self::Result {
        let PinFile { name, pinned, asked_by, request } = pin;
        if let Some(outcomes) = self.replica.recall(request) {
            return Box::pin(ready(Ok(was_news(&outcomes))));
        }
        if let Err(error) = self.replica.leading() {
            return Box::pin(ready(Err(error)));
        }
        // Programs pin files by the thousand; the history has each.
        tracing::debug!(
            file = name.to_string(),
            pinned,
            asked_by,
            "a file is pinned or unpinned on request"
        );
        let asked = RequestContext::by_request(asked_by.clone(), request);
        let event = if pinned {
            RemovalEvent::Pinned { name, asked_by }
        } else {
            RemovalEvent::Unpinned { name }
        };
        let committing = self.replica.commit(self.clock.now(), asked, vec![event]);
        let answering = wrap_future::<_, Self>(committing).map(
            |settlement, remover: &mut Self, _: &mut Context<Self>| {
                remover.settle_request(settlement).map(|outcomes| was_news(&outcomes))
            },
        );
        Box::pin(answering)
    }
}

impl Handler<ChangeRemoverSettings> for Remover {
    type Result = ();

    fn handle(
        &mut self,
        ChangeRemoverSettings(settings): ChangeRemoverSettings,
        ctx: &mut Context<Self>,
    ) {
        let now = self.clock.now();
        // A round that comes by the old interval may be far off.
        self.next_round = self.next_round.map(|_| now);
        let (policy, context) = self.at(now);
        policy.change_settings(settings, context.book.names());
        self.soon(ctx);
        self.publish_view();
    }
}

fn was_news(outcomes: &Outcomes<RemovalBook>) -> bool {
    outcomes.iter().any(|outcome| matches!(outcome, Ok(RemovalOutcome::Applied)))
}

impl Handler<RemoveNow> for Remover {
    type Result = MessageResult<RemoveNow>;

    fn handle(&mut self, _: RemoveNow, ctx: &mut Context<Self>) -> Self::Result {
        let leading = self.replica.leading().map(|_| {
            self.next_round = Some(self.clock.now());
            self.turn(ctx);
        });
        MessageResult(leading)
    }
}

impl Handler<ExplainCopies> for Remover {
    type Result = MessageResult<ExplainCopies>;

    fn handle(&mut self, asked: ExplainCopies, _: &mut Context<Self>) -> Self::Result {
        let (policy, context) = self.at(self.clock.now());
        let file = context.book.names().find(asked.name.as_bytes());
        let says = |file| policy.decision_context(context).explain(file);
        MessageResult(file.map_or_else(Vec::<CopySays>::new, says))
    }
}
