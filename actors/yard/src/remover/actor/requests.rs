//! Requests of other actors and of users.

use actix::{Context, Handler, MessageResult};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_replication::{
    CommitError, Outcomes, OwnerReply, OwnerRequests, OwnerTicks, RequestContext,
};

use crate::remover::{
    CopiesExplained, ExplainCopies, PinFile, RemovalBook, RemovalEvent, RemovalOutcome, RemoveNow,
    Remover, RemoverSettings,
};

impl Handler<PinFile> for Remover {
    type Result = OwnerReply<Remover, bool, CommitError>;

    fn handle(&mut self, pin: PinFile, _: &mut Context<Self>) -> Self::Result {
        let PinFile { name, pinned, asked_by, request } = pin;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        let decide = |_: &mut Self| {
            // Programs pin thousands of files, and the history has each.
            tracing::debug!(
                file = name.to_string(),
                pinned,
                asked_by,
                "a file is pinned or unpinned on request"
            );
            Ok(vec![match pinned {
                true => RemovalEvent::Pinned { name, asked_by },
                false => RemovalEvent::Unpinned { name },
            }])
        };
        self.answer_request(asked, decide, |_, outcomes| Ok(was_news(&outcomes)))
    }
}

impl Handler<ChangeSettings<RemoverSettings>> for Remover {
    type Result = ();

    fn handle(&mut self, change: ChangeSettings<RemoverSettings>, ctx: &mut Context<Self>) {
        let ChangeSettings(settings) = change;
        let now = self.clock.now();
        // With the old interval the next round may be far away.
        self.next_round = self.next_round.map(|_| now);
        let (policy, context) = self.at(now);
        policy.change_settings(settings, context.book.names());
        self.soon(ctx);
        self.renew_view();
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
            self.run_tick(ctx);
        });
        MessageResult(leading)
    }
}

impl Handler<ExplainCopies> for Remover {
    type Result = MessageResult<ExplainCopies>;

    fn handle(&mut self, asked: ExplainCopies, _: &mut Context<Self>) -> Self::Result {
        let (policy, context) = self.at(self.clock.now());
        let file = context.book.names().find(asked.name.as_bytes());
        let Some(file) = file else { return MessageResult(CopiesExplained::default()) };
        let copies = policy.decision_context(context).explain(file, &asked.hosts);
        let room = asked.without_room.and_then(|size| policy.exchange_outlook(file, size, context));
        let room = room.map(|verdict| verdict.words());
        MessageResult(CopiesExplained { copies, room })
    }
}
