//! Requests to the BoxLeaseActor, except those for boxes.

use actix::fut::wrap_future;
use actix::{ActorFutureExt, Context, Handler, MessageResult};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::event::RequestId;
use reelyard_protocol::boxes::{AdoptBoxes, FenceToken, HookOutput, LeaseId, PoolName};
use reelyard_replication::{
    Outcomes, OwnerReply, OwnerRequests, OwnerTicks, ReplicaHandle, RequestContext, reply_now,
};

use super::grants::MYSELF;
use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal};
use crate::box_lease::state::pools::spec::BadSpec;
use crate::box_lease::{
    AdoptPool, BoxError, BoxLease, BoxLeaseSettings, LeaseAnswer, PoolPut, PoolSpec,
    ProcessDueBoxes, PutPool, QuarantineBox, RecheckPool, ReleaseLease, RemovePool, RenewLease,
    RevokeLease, SharedTable, UnquarantineBox, VerifyLease,
};

/// The number of the first settings on record.
const FIRST_SETTINGS: u64 = 1;

type BoxReply<T> = OwnerReply<BoxLease, T, BoxError>;

/// The outcome of a commit's first event.
fn first(outcomes: Outcomes<SharedTable>) -> Result<BoxOutcome, BoxRefusal> {
    outcomes.into_iter().next().unwrap_or(Ok(BoxOutcome::AlreadySo))
}

/// Whether the pool has disappeared with the last of these events.
fn was_removed(outcomes: Outcomes<SharedTable>) -> Result<bool, BoxError> {
    let last = outcomes.into_iter().next_back().transpose()?;
    Ok(matches!(last, Some(BoxOutcome::PoolRemoved { gone: true })))
}

impl BoxLease {
    /// A request of this caller, which is remembered if it has an id.
    fn asked(&mut self, by: &str, request: Option<RequestId>) -> RequestContext {
        match request {
            Some(request) => RequestContext::by_request(by, request),
            None => self.replica.unnamed_request(by),
        }
    }

    /// Answers a request: decides and commits it, and reads the outcome of its first event.
    fn answer_once<T: 'static>(
        &mut self,
        (asked_by, request): (&str, Option<RequestId>),
        decide: impl FnOnce(&mut Self) -> Result<Vec<BoxEvent>, BoxError>,
        read: impl FnOnce(&Self, BoxOutcome) -> Result<T, BoxError> + 'static,
    ) -> BoxReply<T> {
        let asked = self.asked(asked_by, request);
        self.answer_request(asked, decide, |actor, outcomes| read(actor, first(outcomes)?))
    }

    /// The specification that a request sets. The first settings on record are those that the node had applied while it
    /// was alone. A pool that was changed or removed since then stays so. None if nothing is to be set.
    fn spec_to_put(
        &self,
        pool: &PoolName,
        spec: PoolSpec,
        by_settings: Option<u64>,
    ) -> Option<PoolSpec> {
        if by_settings != Some(FIRST_SETTINGS) {
            return Some(spec);
        }
        let table = self.replica.piece().read();
        match table.pool(pool) {
            Ok(there) if !there.goes() => Some((**there.spec()).clone()),
            Ok(_) => None,
            Err(_) if table.knows_tokens_of(pool) => None,
            Err(_) => Some(spec),
        }
    }

    fn lease_answer(&self, id: LeaseId) -> Result<LeaseAnswer, BoxError> {
        let now = self.now();
        let table = self.replica.piece().read();
        Ok(self.memory.terms.answer(table.live(id)?, now))
    }
}

impl Handler<PutPool> for BoxLease {
    type Result = BoxReply<PoolPut>;

    fn handle(&mut self, asked: PutPool, _: &mut Context<Self>) -> Self::Result {
        let PutPool { pool, spec, by_settings, asked_by, request } = asked;
        let by = asked_by.clone();
        let decide = move |actor: &mut Self| {
            spec.check().map_err(BoxRefusal::from)?;
            let is_done = {
                let table = actor.replica.piece().read();
                match by_settings {
                    Some(version) => table.is_put_by_settings(&pool, version),
                    None => {
                        table.pool(&pool).is_ok_and(|there| **there.spec() == spec && !there.goes())
                    }
                }
            };
            if is_done {
                return Ok(Vec::new());
            }
            let Some(spec) = actor.spec_to_put(&pool, spec, by_settings) else {
                return Ok(Vec::new());
            };
            tracing::info!(%pool, asked_by, "pool creation or change requested");
            let (_, context) = actor.at();
            Ok(context.put_events(pool, spec, by_settings))
        };
        self.answer_once((&by, request), decide, |_, outcome| {
            Ok(match outcome {
                BoxOutcome::PoolPut { created: true } => PoolPut::Created,
                BoxOutcome::PoolPut { created: false } => PoolPut::Changed,
                _ => PoolPut::AlreadySo,
            })
        })
    }
}

impl Handler<RemovePool> for BoxLease {
    type Result = BoxReply<bool>;

    fn handle(&mut self, asked: RemovePool, _: &mut Context<Self>) -> Self::Result {
        let RemovePool { pool, revoke, asked_by, request } = asked;
        let asked = self.asked(&asked_by, request);
        if let Some(outcomes) = self.replica.recall(asked.request) {
            // It disappeared then or since, or it waits for its last box.
            let is_gone = self.replica.piece().read().pool(&pool).is_err();
            return reply_now(was_removed(outcomes).map(|then| then || is_gone));
        }
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
        }
        tracing::info!(%pool, revoke, asked_by, "pool removal requested");
        let mut parts = Vec::new();
        if revoke {
            let revocations = self.policy(|_, at| at.revocations(&pool, &asked_by));
            for events in ReplicaHandle::<SharedTable>::parts(revocations) {
                parts.push((self.replica.unnamed_request(&asked_by), events));
            }
        }
        // The order matters: the pool is removed at once only if its leases have ended before.
        parts.push((asked, vec![BoxEvent::PoolRemoved { pool }]));
        self.commit_request(parts, |_, outcomes, _| was_removed(outcomes?))
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

impl BoxLease {
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
        let ReleaseLease { lease, token } = asked;
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
        }
        let is_held_up = self.is_held_up();
        let (memory, context, ids) = self.at_with_ids();
        let held = context.table.held_now(lease, token, &memory.terms, context.now);
        if let Err(refusal) = held.map(drop) {
            drop(context);
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
            Ok(outcomes) => Ok(first(outcomes).map(drop)?),
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

impl Handler<QuarantineBox> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: QuarantineBox, _: &mut Context<Self>) -> Self::Result {
        let QuarantineBox { pool, number, reason, asked_by, request } = asked;
        let (output, by) = (HookOutput::cut(reason.as_str()), Some(asked_by.clone()));
        let event = BoxEvent::Quarantined { pool, number, cleaning: None, output, by };
        self.answer_once((&asked_by, request), |_| Ok(vec![event]), |_, _| Ok(()))
    }
}

impl Handler<UnquarantineBox> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: UnquarantineBox, _: &mut Context<Self>) -> Self::Result {
        let UnquarantineBox { pool, number, asked_by, request } = asked;
        let event = BoxEvent::Unquarantined { pool, number, by: asked_by.clone() };
        self.answer_once((&asked_by, request), |_| Ok(vec![event]), |_, _| Ok(()))
    }
}

impl Handler<RecheckPool> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: RecheckPool, _: &mut Context<Self>) -> Self::Result {
        let event = BoxEvent::Recheck { pool: asked.pool };
        self.answer_once((MYSELF, None), |_| Ok(vec![event]), |_, _| Ok(()))
    }
}

impl Handler<AdoptPool> for BoxLease {
    type Result = BoxReply<Vec<PoolName>>;

    fn handle(&mut self, asked: AdoptPool, _: &mut Context<Self>) -> Self::Result {
        let AdoptPool { pool, asked_by } = asked;
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error.into()));
        }
        let place = self.policy(|_, at| at.hook_target(&pool));
        let place = match place {
            Ok(Some(place)) => place,
            Ok(None) => return reply_now(Err(BoxRefusal::from(BadSpec::NoHost).into())),
            Err(refusal) => return reply_now(Err(refusal.into())),
        };
        tracing::info!(%pool, asked_by, "handover of boxes requested");
        let host = self.hosts.adopt.recipient();
        let asking = async move { host.send(AdoptBoxes { place }).await };
        Box::pin(wrap_future::<_, Self>(asking).then(move |output, actor, ctx| {
            let losers = match output.unwrap_or_else(|error| Err(error.to_string())) {
                Ok(losers) => losers,
                Err(why) => return reply_now(Err(BoxError::HostSilent { pool, why })),
            };
            actor.ask_again(&pool, ctx);
            let output = HookOutput::cut(&lost_by(&losers));
            let event = BoxEvent::Adopted { pool, output, by: asked_by.clone() };
            actor.answer_once((&asked_by, None), |_| Ok(vec![event]), |_, _| Ok(losers))
        }))
    }
}

/// Names the pools that lost boxes, in words.
fn lost_by(losers: &[PoolName]) -> String {
    match losers {
        [] => "no pool lost boxes".to_owned(),
        [one] => format!("pool {one} lost boxes"),
        [first, others @ ..] => {
            let others: Vec<&str> = others.iter().map(PoolName::as_str).collect();
            format!("pools {first}, {} lost boxes", others.join(", "))
        }
    }
}

impl Handler<ProcessDueBoxes> for BoxLease {
    type Result = MessageResult<ProcessDueBoxes>;

    fn handle(&mut self, _: ProcessDueBoxes, ctx: &mut Context<Self>) -> Self::Result {
        let leading = self.replica.leading().map(|_| {
            self.upkeep_at = None;
            self.run_tick(ctx);
        });
        MessageResult(leading)
    }
}

impl Handler<ChangeSettings<BoxLeaseSettings>> for BoxLease {
    type Result = ();

    fn handle(&mut self, change: ChangeSettings<BoxLeaseSettings>, ctx: &mut Context<Self>) {
        self.memory.settings = change.0;
        self.upkeep_at = None;
        self.soon(ctx);
    }
}
