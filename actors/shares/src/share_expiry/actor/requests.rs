//! The requests to the ShareExpiryActor.

use std::sync::Arc;

use actix::fut::{ready, wrap_future};
use actix::{ActorFutureExt, Context, Handler, MessageResult, ResponseActFuture};
use futures::future::{LocalBoxFuture, join_all};
use reelyard_core::event::RequestId;
use reelyard_replication::{CommitError, CommitSettlement, Outcomes, Owner, RequestContext};

use super::turn::refusal;
use crate::share_expiry::{
    AT_ONCE, ChangeShare, ChangeShareSettings, CreateShare, EndRemoved, FetchNotifications,
    GetDeliveryCursor, LARGEST_PAGE, PauseReclaim, RecallShare, ReclaimNow, RecordDelivery,
    RevokeShares, Revoked, Share, ShareEnding, ShareError, ShareEvent, ShareExpiry, ShareId,
    ShareLookup, ShareOutcome, ShareRefusal, ShareTable, SharesWithin,
};

pub(in crate::share_expiry) type ShareReply<T, E = ShareError> =
    ResponseActFuture<ShareExpiry, Result<T, E>>;

pub(in crate::share_expiry) fn answer<T: 'static, E: 'static>(
    result: Result<T, E>,
) -> ShareReply<T, E> {
    Box::pin(ready(result))
}

impl ShareExpiry {
    /// Commits events for a caller, and answers the result of `read` on their outcomes.
    pub(in crate::share_expiry) fn commit_for<T: 'static>(
        &mut self,
        asked: RequestContext,
        events: Vec<ShareEvent>,
        read: impl FnOnce(&Self, &Outcomes<ShareTable>) -> Result<T, ShareError> + 'static,
    ) -> ShareReply<T> {
        let now = self.now();
        let committing = self.replica.commit(now, asked, events);
        let reading = wrap_future::<_, Self>(committing).map(
            move |settlement, expiry, _: &mut Context<Self>| {
                let outcomes = expiry.settle_request(settlement)?;
                read(expiry, &outcomes)
            },
        );
        Box::pin(reading)
    }

    /// The earlier answer to a request of this name.
    pub(in crate::share_expiry) fn before<T>(
        &self,
        request: RequestId,
        read: impl FnOnce(&Self, &Outcomes<ShareTable>) -> Result<T, ShareError>,
    ) -> Option<Result<T, ShareError>> {
        if self.replica.means_another(request) {
            return Some(Err(ShareRefusal::OtherRequest.into()));
        }
        self.replica.recall(request).map(|outcomes| read(self, &outcomes))
    }

    fn live(&self, id: ShareId) -> Result<Arc<Share>, ShareError> {
        match self.replica.piece().find(id) {
            ShareLookup::Live(share) => Ok(share),
            ShareLookup::Ended(tombstone) => Err(ShareRefusal::Ended { why: tombstone.why }.into()),
            ShareLookup::Unknown => Err(ShareRefusal::Unknown.into()),
        }
    }

    fn created(&self, outcomes: &Outcomes<ShareTable>) -> Result<Arc<Share>, ShareError> {
        let id = outcomes.iter().find_map(|outcome| match outcome {
            Ok(ShareOutcome::Created { id }) => Some(*id),
            _ => None,
        });
        match (id, refusal(outcomes)) {
            (Some(id), _) => self.live(id),
            (None, Some(refusal)) => Err(refusal.into()),
            (None, None) => Err(ShareRefusal::Unknown.into()),
        }
    }

    pub(in crate::share_expiry) fn refuse<T: 'static>(
        &mut self,
        refusal: ShareRefusal,
    ) -> ShareReply<T> {
        self.counters.refused += 1;
        answer(Err(refusal.into()))
    }
}

impl Handler<CreateShare> for ShareExpiry {
    type Result = ShareReply<Arc<Share>>;

    fn handle(&mut self, asked: CreateShare, _: &mut Context<Self>) -> Self::Result {
        let before = asked.request.and_then(|request| self.before(request, Self::created));
        if let Some(before) = before {
            return answer(before);
        }
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        let under_way = asked.request.and_then(|request| self.replica.under_way(request));
        let events = match under_way.map_or_else(|| self.decide_creation(&asked), Ok) {
            Ok(events) => events,
            Err(refusal) => return self.refuse(refusal),
        };
        let asked = match asked.request {
            Some(request) => RequestContext::by_request(asked.asked_by, request),
            None => self.replica.unnamed_request(&asked.asked_by),
        };
        self.commit_for(asked, events, Self::created)
    }
}

impl ShareExpiry {
    fn decide_creation(&mut self, asked: &CreateShare) -> Result<Vec<ShareEvent>, ShareRefusal> {
        let id = ShareId::draw(self.replica.ids())
            .map_err(|bad| ShareRefusal::NoRandomness(bad.to_string()))?;
        let moment = self.moment();
        let (policy, context) = self.at(moment);
        policy.create(asked, id, context)
    }
}

impl Handler<RecallShare> for ShareExpiry {
    type Result = ShareReply<Option<Arc<Share>>>;

    fn handle(&mut self, asked: RecallShare, _: &mut Context<Self>) -> Self::Result {
        answer(self.before(asked.request, Self::created).transpose())
    }
}

impl Handler<ChangeShare> for ShareExpiry {
    type Result = ShareReply<Arc<Share>>;

    fn handle(&mut self, asked: ChangeShare, _: &mut Context<Self>) -> Self::Result {
        let ChangeShare { id, change, asked_by, request } = asked;
        let read = move |expiry: &Self, outcomes: &Outcomes<ShareTable>| match refusal(outcomes) {
            Some(refusal) => Err(refusal.into()),
            None => expiry.live(id),
        };
        if let Some(before) = self.before(request, read) {
            return answer(before);
        }
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        let asked = RequestContext::by_request(asked_by, request);
        if let Some(events) = self.replica.under_way(request) {
            return self.commit_for(asked, events, read);
        }
        let moment = self.moment();
        let (policy, context) = self.at(moment);
        match policy.change(id, &change, context) {
            Err(refusal) => self.refuse(refusal),
            Ok(events) if events.is_empty() => answer(self.live(id)),
            Ok(events) => self.commit_for(asked, events, read),
        }
    }
}

impl Handler<RevokeShares> for ShareExpiry {
    type Result = ShareReply<Revoked>;

    fn handle(&mut self, asked: RevokeShares, _: &mut Context<Self>) -> Self::Result {
        let RevokeShares { ids, hard, asked_by, request } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        tracing::info!(shares = ids.len(), hard, asked_by, "revocation of shares requested");
        let count = ids.len() as u64;
        let asked = RequestContext::by_request(asked_by, request);
        let ending = self.end_all(&ids, ShareEnding::Revoked, hard, asked, true);
        let revoked = move |ended: u64| Revoked { ended, others: count.saturating_sub(ended) };
        Box::pin(ending.map(move |ended, _, _| ended.map(revoked)))
    }
}

impl ShareExpiry {
    /// Ends these shares, in commits of bounded size. Answers how many that were.
    fn end_all(
        &mut self,
        ids: &[ShareId],
        why: ShareEnding,
        cut: bool,
        asked: RequestContext,
        may_be_repeated: bool,
    ) -> ShareReply<u64> {
        let now = self.now();
        let mut before = 0;
        let mut commits: Vec<LocalBoxFuture<'static, CommitSettlement<ShareTable>>> = Vec::new();
        for (part, ids) in ids.chunks(AT_ONCE).enumerate() {
            let asked = asked.part(part);
            if let Some(outcomes) = self.replica.recall(asked.request).filter(|_| may_be_repeated) {
                before += ended(&outcomes);
                continue;
            }
            let event = ShareEvent::Ended { ids: ids.to_vec(), why, cut, by: asked.by.clone() };
            commits.push(Box::pin(self.replica.commit(now, asked, vec![event])));
        }
        let answering = wrap_future::<_, Self>(join_all(commits)).map(
            move |settlements, expiry, _: &mut Context<Self>| {
                let settle = |settlement| expiry.settle_request(settlement);
                // Every one is settled, also behind one that failed.
                let settled: Vec<_> = settlements.into_iter().map(settle).collect();
                let mut ended_now = before;
                for outcomes in settled {
                    ended_now += ended(&outcomes?);
                }
                Ok(ended_now)
            },
        );
        Box::pin(answering)
    }
}

fn ended(outcomes: &Outcomes<ShareTable>) -> u64 {
    let ended = outcomes.iter().map(|outcome| match outcome {
        Ok(ShareOutcome::Ended { ended, .. }) => *ended,
        _ => 0,
    });
    ended.sum()
}

impl Handler<EndRemoved> for ShareExpiry {
    type Result = ShareReply<u64>;

    fn handle(&mut self, asked: EndRemoved, _: &mut Context<Self>) -> Self::Result {
        let EndRemoved { gone, asked_by } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        let moment = self.moment();
        let (_, at) = self.at(moment);
        let still = gone.iter().filter(|(id, place)| at.stands_for(*id, place));
        let ids: Vec<ShareId> = still.map(|(id, _)| *id).collect();
        tracing::info!(shares = ids.len(), "files of shares are gone: the shares end");
        let asked = self.replica.unnamed_request(&asked_by);
        self.end_all(&ids, ShareEnding::Removed, false, asked, false)
    }
}

impl Handler<PauseReclaim> for ShareExpiry {
    type Result = ShareReply<bool, CommitError>;

    fn handle(&mut self, asked: PauseReclaim, _: &mut Context<Self>) -> Self::Result {
        let PauseReclaim { paused, asked_by, request } = asked;
        if let Some(outcomes) = self.replica.recall(request) {
            return answer(Ok(was_news(&outcomes)));
        }
        if let Err(error) = self.replica.leading() {
            return answer(Err(error));
        }
        tracing::info!(paused, asked_by, "reclaim paused or resumed");
        let asked = RequestContext::by_request(asked_by.clone(), request);
        let event = match paused {
            true => ShareEvent::Paused { by: asked_by },
            false => ShareEvent::Resumed { by: asked_by },
        };
        let now = self.now();
        let committing = self.replica.commit(now, asked, vec![event]);
        let answering =
            wrap_future::<_, Self>(committing).map(|settlement, expiry, _: &mut Context<Self>| {
                expiry.settle_request(settlement).map(|outcomes| was_news(&outcomes))
            });
        Box::pin(answering)
    }
}

fn was_news(outcomes: &Outcomes<ShareTable>) -> bool {
    outcomes.iter().any(|outcome| matches!(outcome, Ok(ShareOutcome::Applied)))
}

impl Handler<RecordDelivery> for ShareExpiry {
    type Result = ShareReply<(), CommitError>;

    fn handle(&mut self, delivered: RecordDelivery, _: &mut Context<Self>) -> Self::Result {
        let RecordDelivery { hook, up_to } = delivered;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error));
        }
        let asked = self.replica.unnamed_request(&hook);
        let event = ShareEvent::Delivered { hook, up_to };
        let now = self.now();
        let committing = self.replica.commit(now, asked, vec![event]);
        let answering =
            wrap_future::<_, Self>(committing).map(|settlement, expiry, _: &mut Context<Self>| {
                expiry.settle_request(settlement).map(drop)
            });
        Box::pin(answering)
    }
}

impl Handler<FetchNotifications> for ShareExpiry {
    type Result = MessageResult<FetchNotifications>;

    fn handle(&mut self, asked: FetchNotifications, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.replica.piece().happenings(asked.from, asked.most))
    }
}

impl Handler<GetDeliveryCursor> for ShareExpiry {
    type Result = Option<u64>;

    fn handle(&mut self, asked: GetDeliveryCursor, _: &mut Context<Self>) -> Option<u64> {
        self.replica.piece().cursors().get(&asked.hook).copied()
    }
}

impl Handler<SharesWithin> for ShareExpiry {
    type Result = MessageResult<SharesWithin>;

    fn handle(&mut self, asked: SharesWithin, _: &mut Context<Self>) -> Self::Result {
        let SharesWithin { root, path, after, most } = asked;
        let within = self.replica.piece().within(&root, &path, after.as_ref());
        MessageResult(within.take(most.min(LARGEST_PAGE)).cloned().collect())
    }
}

impl Handler<ReclaimNow> for ShareExpiry {
    type Result = MessageResult<ReclaimNow>;

    fn handle(&mut self, _: ReclaimNow, ctx: &mut Context<Self>) -> Self::Result {
        let leading = self.replica.leading().map(|_| {
            self.upkeep_at = None;
            self.turn(ctx);
        });
        MessageResult(leading)
    }
}

impl Handler<ChangeShareSettings> for ShareExpiry {
    type Result = ();

    fn handle(
        &mut self,
        ChangeShareSettings(settings): ChangeShareSettings,
        ctx: &mut Context<Self>,
    ) {
        self.budget.set_effort(settings.effort);
        self.board.hold_clock_for(settings.clock_hold);
        self.policy.settings = settings;
        // The notices are computed again: the new settings may name other shares.
        self.start_notices();
        self.upkeep_at = None;
        self.soon(ctx);
    }
}
