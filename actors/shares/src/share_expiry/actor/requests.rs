//! The requests to the ShareExpiryActor.

use std::sync::Arc;

use actix::{ActorFutureExt, Context, Handler, MessageResult};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_replication::{
    CommitError, Outcomes, OwnerReply, OwnerRequests, OwnerTicks, RequestContext, reply_now,
};

use super::tick::refusal;
use crate::share_expiry::{
    AT_ONCE, ChangeShare, CreateShare, EndRemoved, FetchNotifications, GetDeliveryCursor,
    LARGEST_PAGE, PauseReclaim, RecallShare, ReclaimNow, RecordDelivery, RecordRoots, RevokeShares,
    Revoked, Share, ShareEnding, ShareError, ShareEvent, ShareExpiry, ShareExpirySettings, ShareId,
    ShareLookup, ShareOutcome, ShareRefusal, ShareTable, SharesWithin,
};

pub(in crate::share_expiry) type ShareReply<T, E = ShareError> = OwnerReply<ShareExpiry, T, E>;

impl ShareExpiry {
    /// Answers a request with `decide` and `read`, unless another request has its name.
    fn answer_share_request<T: 'static>(
        &mut self,
        asked: RequestContext,
        decide: impl FnOnce(&mut Self) -> Result<Vec<ShareEvent>, ShareRefusal>,
        read: impl FnOnce(&Self, &Outcomes<ShareTable>) -> Result<T, ShareError> + 'static,
    ) -> ShareReply<T> {
        if self.replica.means_another(asked.request) {
            return reply_now(Err(ShareRefusal::OtherRequest.into()));
        }
        let decide = |expiry: &mut Self| {
            decide(expiry).map_err(|refusal| {
                expiry.counters.refused += 1;
                refusal.into()
            })
        };
        self.answer_request(asked, decide, move |expiry, outcomes| read(expiry, &outcomes))
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
        reply_now(Err(refusal.into()))
    }
}

impl Handler<CreateShare> for ShareExpiry {
    type Result = ShareReply<Arc<Share>>;

    fn handle(&mut self, asked: CreateShare, _: &mut Context<Self>) -> Self::Result {
        let request = match asked.request {
            Some(request) => RequestContext::by_request(asked.asked_by.clone(), request),
            None => self.replica.unnamed_request(&asked.asked_by),
        };
        let decide = |expiry: &mut Self| expiry.decide_creation(&asked);
        self.answer_share_request(request, decide, Self::created)
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
        if self.replica.means_another(asked.request) {
            return reply_now(Err(ShareRefusal::OtherRequest.into()));
        }
        let before = self.replica.recall(asked.request);
        reply_now(before.map(|outcomes| self.created(&outcomes)).transpose())
    }
}

impl Handler<ChangeShare> for ShareExpiry {
    type Result = ShareReply<Arc<Share>>;

    fn handle(&mut self, asked: ChangeShare, _: &mut Context<Self>) -> Self::Result {
        let ChangeShare { id, change, asked_by, request } = asked;
        let decide = |expiry: &mut Self| {
            let moment = expiry.moment();
            let (policy, context) = expiry.at(moment);
            policy.change(id, &change, context)
        };
        let read = move |expiry: &Self, outcomes: &Outcomes<ShareTable>| match refusal(outcomes) {
            Some(refusal) => Err(refusal.into()),
            None => expiry.live(id),
        };
        self.answer_share_request(RequestContext::by_request(asked_by, request), decide, read)
    }
}

impl Handler<RevokeShares> for ShareExpiry {
    type Result = ShareReply<Revoked>;

    fn handle(&mut self, asked: RevokeShares, _: &mut Context<Self>) -> Self::Result {
        let RevokeShares { ids, hard, asked_by, request } = asked;
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
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
        let mut before = 0;
        let mut parts = Vec::new();
        for (part, ids) in ids.chunks(AT_ONCE).enumerate() {
            let asked = asked.part(part);
            if let Some(outcomes) = self.replica.recall(asked.request).filter(|_| may_be_repeated) {
                before += ended(&outcomes);
                continue;
            }
            let event = ShareEvent::Ended { ids: ids.to_vec(), why, cut, by: asked.by.clone() };
            parts.push((asked, vec![event]));
        }
        self.commit_request(parts, move |_, outcomes, _| Ok(before + ended(&outcomes?)))
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
            return reply_now(Err(error.into()));
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
        let asked = RequestContext::by_request(asked_by.clone(), request);
        let decide = |_: &mut Self| {
            tracing::info!(paused, asked_by, "reclaim paused or resumed");
            Ok(vec![match paused {
                true => ShareEvent::Paused { by: asked_by },
                false => ShareEvent::Resumed { by: asked_by },
            }])
        };
        self.answer_request(asked, decide, |_, outcomes| Ok(was_news(&outcomes)))
    }
}

fn was_news(outcomes: &Outcomes<ShareTable>) -> bool {
    outcomes.iter().any(|outcome| matches!(outcome, Ok(ShareOutcome::Applied)))
}

impl Handler<RecordDelivery> for ShareExpiry {
    type Result = ShareReply<(), CommitError>;

    fn handle(&mut self, delivered: RecordDelivery, _: &mut Context<Self>) -> Self::Result {
        let RecordDelivery { hook, up_to } = delivered;
        let asked = self.replica.unnamed_request(&hook);
        let decide = |_: &mut Self| Ok(vec![ShareEvent::Delivered { hook, up_to }]);
        self.answer_request(asked, decide, |_, _| Ok(()))
    }
}

impl Handler<RecordRoots> for ShareExpiry {
    type Result = ShareReply<(), CommitError>;

    fn handle(&mut self, asked: RecordRoots, _: &mut Context<Self>) -> Self::Result {
        let by = self.replica.unnamed_request("share-files");
        let mut events = Vec::new();
        for (root, id) in asked.found {
            tracing::info!(%root, %id, "the id of a share root goes on record");
            events.push(ShareEvent::RootRecorded { root, id: Some(id) });
        }
        self.answer_request(by, move |_: &mut Self| Ok(events), |_, _| Ok(()))
    }
}

impl Handler<FetchNotifications> for ShareExpiry {
    type Result = MessageResult<FetchNotifications>;

    fn handle(&mut self, asked: FetchNotifications, _: &mut Context<Self>) -> Self::Result {
        MessageResult(self.replica.piece().notifications(asked.from, asked.most))
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
            self.run_tick(ctx);
        });
        MessageResult(leading)
    }
}

impl Handler<ChangeSettings<ShareExpirySettings>> for ShareExpiry {
    type Result = ();

    fn handle(&mut self, change: ChangeSettings<ShareExpirySettings>, ctx: &mut Context<Self>) {
        let ChangeSettings(settings) = change;
        self.budget.set_effort(settings.effort);
        self.views.hold_clock_for(settings.clock_hold);
        self.policy.settings = settings;
        // Computes the notices again, because the new settings may select other shares.
        self.start_notices();
        self.upkeep_at = None;
        self.soon(ctx);
    }
}
