//! Running moves: recorded before the file is renamed, settled once the outcome is known, and ended
//! when every share has followed.

use crate::share_expiry::policy::decisions::moves::FOLLOW_AT_ONCE;
use actix::fut::wrap_future;
use actix::{ActorFutureExt, Context, Handler};
use reelyard_core::event::RequestId;
use reelyard_replication::{AppliedEvent, CommitError, OwnerRequests, RequestContext, reply_now};
use tokio::sync::oneshot;

use super::requests::ShareReply;
use crate::share_expiry::{
    BeginMove, BegunMove, MoveAnswer, MoveStage, Moved, RecallMove, SettleMove, ShareError,
    ShareEvent, ShareExpiry, ShareOutcome, ShareRefusal, ShareTable,
};

impl ShareOutcome {
    /// The outcome of a move, if it has ended.
    fn end_of_move(&self) -> Option<MoveAnswer> {
        match *self {
            ShareOutcome::MoveWent { refused: Some(why), .. } => Some(Err(why)),
            ShareOutcome::MoveWent { done: true, followed, ended, .. } => {
                Some(Ok(Moved { followed, ended }))
            }
            _ => None,
        }
    }
}

impl ShareExpiry {
    /// Answers once a move is at its end.
    fn at_its_end(&mut self, number: u64, request: RequestId) -> ShareReply<MoveAnswer> {
        let (waiter, waiting) = oneshot::channel();
        self.ends.entry(number).or_default().push(waiter);
        let ended = async move {
            // A node that no longer leads reports nothing.
            waiting.await.map_err(|_| CommitError::Unknown { request }.into())
        };
        Box::pin(wrap_future(ended))
    }

    /// The outcome of a request, if its move has ended; otherwise the number of its move.
    fn recall_move(&self, request: RequestId) -> Option<Result<MoveAnswer, u64>> {
        let asked = RequestContext::by_request(String::new(), request);
        let mut number = None;
        for part in 0.. {
            let Some(outcomes) = self.replica.recall(asked.part(part).request) else { break };
            match outcomes.first()? {
                Err(ShareRefusal::Move(why)) => return Some(Ok(Err(*why))),
                Ok(ShareOutcome::MoveBegun { number: begun }) => number = Some(*begun),
                Ok(outcome) => {
                    if let Some(end) = outcome.end_of_move() {
                        return Some(Ok(end));
                    }
                }
                Err(_) => return None,
            }
        }
        number.map(Err)
    }

    /// Commits an event of a move under a key derived from that of its request, so that a repeated
    /// request finds the outcome.
    pub(in crate::share_expiry) fn commit_move(
        &mut self,
        event: ShareEvent,
        ctx: &mut Context<Self>,
    ) {
        let table = self.replica.piece();
        let moving = match &event {
            ShareEvent::MoveSettled { number, .. } | ShareEvent::MoveFollowed { number, .. } => {
                table.moves.get(*number)
            }
            _ => None,
        };
        let Some(moving) = moving else { return };
        let asked = RequestContext::by_request(moving.new.by.clone(), moving.new.request);
        let part = moving.parts as usize + 1;
        self.commit_as(asked.part(part), event, ctx);
    }

    /// Answers the callers that wait for the applied event.
    pub(in crate::share_expiry) fn notify_move_ends(
        &mut self,
        applied: &[AppliedEvent<ShareTable>],
    ) {
        for AppliedEvent { result, .. } in applied {
            let Ok(outcome @ ShareOutcome::MoveWent { number, lost, .. }) = result else {
                continue;
            };
            let Some(end) = outcome.end_of_move() else { continue };
            if *lost {
                tracing::warn!(number, "moved file found at neither path: its shares end");
            }
            for waiter in self.ends.remove(number).unwrap_or_default() {
                // The caller may have left.
                let _ = waiter.send(end);
            }
        }
    }

    /// Publishes the moves to settle for the ShareFilesActor.
    pub(in crate::share_expiry) fn publish_moves(&self) {
        let leads = self.replica.epoch().is_some();
        let all = self.replica.piece().moves();
        let begun = all.iter().filter(|moving| leads && moving.stage == MoveStage::Begun);
        self.views.publish_unsettled(begun.cloned().collect());
    }
}

impl Handler<RecallMove> for ShareExpiry {
    type Result = ShareReply<Option<MoveAnswer>>;

    fn handle(&mut self, asked: RecallMove, _: &mut Context<Self>) -> Self::Result {
        let RecallMove { request } = asked;
        if self.replica.means_another(request) {
            return self.refuse(ShareRefusal::OtherRequest);
        }
        match self.recall_move(request) {
            None => reply_now(Ok(None)),
            Some(Ok(end)) => reply_now(Ok(Some(end))),
            Some(Err(number)) => {
                if let Err(error) = self.replica.leading() {
                    return reply_now(Err(error.into()));
                }
                Box::pin(self.at_its_end(number, request).map(|end, _, _| end.map(Some)))
            }
        }
    }
}

impl Handler<BeginMove> for ShareExpiry {
    type Result = ShareReply<BegunMove>;

    fn handle(&mut self, BeginMove(new): BeginMove, _: &mut Context<Self>) -> Self::Result {
        let epoch = match self.replica.leading() {
            Ok(epoch) => epoch,
            Err(error) => return reply_now(Err(error.into())),
        };
        let moment = self.moment();
        let (policy, context) = self.at(moment);
        if let Err(why) = policy.begin_move(&new, context) {
            return self.refuse(why.into());
        }
        // As texts, because the log escapes characters that could forge a line.
        let (from, to) = (new.from.to_string(), new.to.to_string());
        tracing::info!(from, to, asked_by = new.by, "move started");
        let asked = RequestContext::by_request(new.by.clone(), new.request);
        let events = vec![ShareEvent::MoveBegun(Box::new(new))];
        self.commit_request(vec![(asked, events)], move |_, outcomes, _| match outcomes?.first() {
            Some(Ok(ShareOutcome::MoveBegun { number })) => {
                Ok(BegunMove { number: *number, epoch })
            }
            Some(Err(refusal)) => Err(ShareError::from(refusal.clone())),
            _ => Err(ShareRefusal::ChangedMeanwhile.into()),
        })
    }
}

impl Handler<SettleMove> for ShareExpiry {
    type Result = ShareReply<MoveAnswer>;

    fn handle(&mut self, asked: SettleMove, ctx: &mut Context<Self>) -> Self::Result {
        let SettleMove { number, end } = asked;
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
        }
        let Some(moving) = self.replica.piece().moves.get(number) else {
            // It ended without further work.
            return self.refuse(ShareRefusal::ChangedMeanwhile);
        };
        let settles = |event: &ShareEvent| matches!(event, ShareEvent::MoveSettled { number: other, .. } if *other == number);
        let is_settling = self.replica.in_flight().events().any(settles);
        let ending = self.at_its_end(number, moving.new.request);
        if moving.stage == MoveStage::Begun && !is_settling {
            let most = FOLLOW_AT_ONCE;
            self.commit_move(ShareEvent::MoveSettled { number, end, most }, ctx);
        }
        ending
    }
}
