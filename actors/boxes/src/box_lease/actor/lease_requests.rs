//! Requests of holders, and the revocation of a lease.

use actix::{Context, Handler, MessageResult};
use reelyard_protocol::boxes::{FenceToken, LeaseId};
use reelyard_replication::{OwnerRequests, OwnerTicks, reply_now};

use super::grants::MYSELF;
use super::requests::{BoxReply, first};
use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal};
use crate::box_lease::{
    BoxError, BoxLease, LeaseAnswer, ReleaseLease, RenewLease, RevokeLease, VerifyLease,
};

impl BoxLease {
    fn lease_answer(&self, id: LeaseId) -> Result<LeaseAnswer, BoxError> {
        let now = self.now();
        let table = self.replica.piece().read();
        Ok(self.memory.terms.answer(table.live(id)?, now))
    }

    /// Records a wrong token that a refusal names.
    fn refusing(
        &mut self,
        lease: LeaseId,
        token: FenceToken,
        refusal: BoxRefusal,
        ctx: &mut Context<Self>,
    ) -> BoxError {
        if refusal == BoxRefusal::WrongToken {
            self.policy(|memory, at| memory.record_wrong_token(at, lease, token));
            self.mark_view_stale(ctx);
        }
        refusal.into()
    }
}

impl Handler<RenewLease> for BoxLease {
    type Result = BoxReply<LeaseAnswer>;

    fn handle(&mut self, asked: RenewLease, ctx: &mut Context<Self>) -> Self::Result {
        let RenewLease { lease, token, ttl } = asked;
        let decide = |actor: &mut Self| {
            let decided = actor
                .policy(|memory, at| at.table.renewal(lease, token, ttl, &memory.terms, at.now));
            match decided {
                Err(refusal) => Err(actor.refusing(lease, token, refusal, ctx)),
                Ok(event) => Ok(vec![event]),
            }
        };
        self.answer_once((MYSELF, None), decide, move |actor, _| actor.lease_answer(lease))
    }
}

impl Handler<VerifyLease> for BoxLease {
    type Result = MessageResult<VerifyLease>;

    fn handle(&mut self, asked: VerifyLease, ctx: &mut Context<Self>) -> Self::Result {
        let VerifyLease { lease, token } = asked;
        if let Err(error) = self.replica.leading() {
            return MessageResult(Err(error.into()));
        }
        let (memory, context) = self.at();
        let held = context.table.held_now(lease, token, &memory.terms, context.now);
        // The lease itself, not a copy, because it is never changed in place.
        let held = held.and_then(|_| context.table.live(lease).cloned());
        drop(context);
        MessageResult(held.map_err(|refusal| self.refusing(lease, token, refusal, ctx)))
    }
}

impl Handler<ReleaseLease> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: ReleaseLease, ctx: &mut Context<Self>) -> Self::Result {
        let ReleaseLease { lease, token, may_be_repeated } = asked;
        let is_done =
            move |why: &BoxRefusal| may_be_repeated && *why == BoxRefusal::AlreadyReleased;
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
        }
        let is_held_up = self.is_held_up();
        let (memory, context, ids) = self.at_with_ids();
        let held = context.table.held_now(lease, token, &memory.terms, context.now);
        if let Err(refusal) = held.map(drop) {
            drop(context);
            if is_done(&refusal) {
                return reply_now(Ok(()));
            }
            return reply_now(Err(self.refusing(lease, token, refusal, ctx)));
        }
        let mut events = vec![BoxEvent::Released { lease, token }];
        if !is_held_up {
            events.extend(memory.grants_behind(&context, lease, ids));
        }
        drop(context);
        let grants = events.get(1..).unwrap_or_default().to_vec();
        let asked = self.replica.unnamed_request(MYSELF);
        self.commit_request(vec![(asked, events)], move |actor, outcomes, ctx| match outcomes {
            Ok(outcomes) => match first(outcomes) {
                Err(refusal) if !is_done(&refusal) => Err(refusal.into()),
                // A refusal means that the first request was committed meanwhile.
                _ => Ok(()),
            },
            Err(error) => {
                // Grants of the boxes go to waiting requests.
                actor.not_granted(&grants, &error, ctx);
                Err(error.into())
            }
        })
    }
}

impl Handler<RevokeLease> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: RevokeLease, _: &mut Context<Self>) -> Self::Result {
        let RevokeLease { lease, reason, asked_by, request } = asked;
        let by = asked_by.clone();
        let decide = |actor: &mut Self| {
            actor.lease_answer(lease)?;
            tracing::info!(?lease, asked_by, "lease revocation requested");
            Ok(vec![BoxEvent::Revoked { leases: vec![lease], by: asked_by, reason }])
        };
        self.answer_once((&by, request), decide, move |actor, outcome| {
            match outcome {
                BoxOutcome::Ended { leases } if leases.contains(&lease) => Ok(()),
                // The lease ended for another reason before.
                _ => actor.lease_answer(lease).map(drop),
            }
        })
    }
}
