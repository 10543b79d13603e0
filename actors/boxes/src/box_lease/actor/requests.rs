//! Other requests to the BoxLeaseActor than those for boxes.

use std::sync::Arc;

use actix::fut::{ready, wrap_future};
use actix::{ActorFutureExt, Context, Handler, MessageResult, ResponseActFuture};
use reelyard_protocol::boxes::{AdoptBoxes, FenceToken, HookOutput, LeaseId, PoolName};
use reelyard_replication::{Outcomes, Owner, ReplicaHandle};

use super::grants::MYSELF;
use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal};
use crate::box_lease::state::spec::BadSpec;
use crate::box_lease::{
    AdoptPool, BoxError, BoxLease, ChangeBoxSettings, Lease, PoolPut, ProcessDueBoxes, PutPool,
    QuarantineBox, RecheckPool, ReleaseLease, RemovePool, RenewLease, RevokeLease, SharedTable,
    UnquarantineBox, VerifyLease,
};

type BoxReply<T> = ResponseActFuture<BoxLease, Result<T, BoxError>>;

fn answer<T: 'static>(result: Result<T, BoxError>) -> BoxReply<T> {
    Box::pin(ready(result))
}

/// The outcome of a commit's first event.
fn first(outcomes: Outcomes<SharedTable>) -> Result<BoxOutcome, BoxRefusal> {
    outcomes.into_iter().next().unwrap_or(Ok(BoxOutcome::AlreadySo))
}

impl BoxLease {
    /// Commits events for a caller, and answers the result of `read` on the first one's outcome. Grants
    /// of the other boxes go to waiting requests.
    fn commit_for<T: 'static>(
        &mut self,
        asked_by: &str,
        events: Vec<BoxEvent>,
        read: impl FnOnce(&Self, BoxOutcome) -> Result<T, BoxError> + 'static,
    ) -> BoxReply<T> {
        let grants: Vec<BoxEvent> = events.get(1..).unwrap_or_default().to_vec();
        let asked = self.replica.unnamed_request(asked_by);
        let committing = self.replica.commit(self.clock.now(), asked, events);
        let reading = wrap_future::<_, Self>(committing).map(
            move |settlement, actor, ctx: &mut Context<Self>| {
                let outcomes = match actor.settle_request(settlement) {
                    Ok(outcomes) => outcomes,
                    Err(error) => {
                        actor.not_granted(&grants, &error, ctx);
                        return Err(error.into());
                    }
                };
                read(actor, first(outcomes)?)
            },
        );
        Box::pin(reading)
    }

    fn live(&self, id: LeaseId) -> Result<Arc<Lease>, BoxError> {
        Ok(Arc::clone(self.replica.piece().read().live(id)?))
    }
}

impl Handler<PutPool> for BoxLease {
    type Result = BoxReply<PoolPut>;

    fn handle(&mut self, asked: PutPool, _: &mut Context<Self>) -> Self::Result {
        let PutPool { pool, spec, asked_by } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        if let Err(bad) = spec.check() {
            return answer(Err(BoxRefusal::from(bad).into()));
        }
        let is_so = {
            let table = self.replica.piece().read();
            table.pool(&pool).is_ok_and(|there| **there.spec() == spec && !there.goes())
        };
        if is_so {
            return answer(Ok(PoolPut::AlreadySo));
        }
        tracing::info!(%pool, asked_by, "pool creation or change requested");
        let event = BoxEvent::PoolPutAlone { pool, spec: Box::new(spec) };
        self.commit_for(&asked_by, vec![event], |_, outcome| {
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
        let RemovePool { pool, revoke, asked_by } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        tracing::info!(%pool, revoke, asked_by, "pool removal requested");
        let mut events = Vec::new();
        if revoke {
            let (_, context) = self.at();
            events.extend(context.revocations(&pool, &asked_by));
        }
        events.push(BoxEvent::PoolRemoved { pool });
        let now = self.clock.now();
        let parts = ReplicaHandle::<SharedTable>::parts(events).into_iter();
        let commits = parts.map(|part| {
            let asked = self.replica.unnamed_request(&asked_by);
            self.replica.commit(now, asked, part)
        });
        let commits: Vec<_> = commits.collect();
        // One after the other: the pool is gone at once only if its leases have ended before.
        let one_by_one = async move {
            let mut settlements = Vec::new();
            for commit in commits {
                settlements.push(commit.await);
            }
            settlements
        };
        Box::pin(wrap_future::<_, Self>(one_by_one).map(|settlements, actor, _| {
            // Each of them is taken back out of flight, also behind one that failed.
            let answered: Vec<_> = settlements
                .into_iter()
                .map(|settlement| actor.settle_request(settlement))
                .collect();
            let answered = answered.into_iter().collect::<Result<Vec<_>, _>>();
            let last = answered?.into_iter().flatten().next_back().transpose()?;
            Ok(matches!(last, Some(BoxOutcome::PoolRemoved { gone: true })))
        }))
    }
}

impl Handler<RenewLease> for BoxLease {
    type Result = BoxReply<Arc<Lease>>;

    fn handle(&mut self, asked: RenewLease, ctx: &mut Context<Self>) -> Self::Result {
        let RenewLease { lease, token, ttl } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        let (memory, context) = self.at();
        let decided = context.table.renewal(lease, token, ttl, &memory.terms, context.now);
        drop(context);
        match decided {
            Err(refusal) => answer(Err(self.refusing(lease, token, refusal, ctx))),
            Ok(event) => self.commit_for(MYSELF, vec![event], move |actor, _| actor.live(lease)),
        }
    }
}

impl BoxLease {
    /// Notes a wrong token among the reasons for a refusal.
    fn refusing(
        &mut self,
        lease: LeaseId,
        token: FenceToken,
        refusal: BoxRefusal,
        ctx: &mut Context<Self>,
    ) -> BoxError {
        if refusal == BoxRefusal::WrongToken {
            let (memory, context) = self.at();
            memory.note_wrong_token(&context, lease, token);
            drop(context);
            self.note_stale(ctx);
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
        // The lease itself, not a copy: it is never changed in place.
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
            return answer(Err(error.into()));
        }
        let is_held_up = self.is_held_up();
        let (memory, context, ids) = self.at_with_ids();
        let held = context.table.held_now(lease, token, &memory.terms, context.now);
        if let Err(refusal) = held.map(drop) {
            drop(context);
            return answer(Err(self.refusing(lease, token, refusal, ctx)));
        }
        let mut events = vec![BoxEvent::Released { lease, token }];
        if !is_held_up {
            events.extend(memory.grants_behind(&context, lease, ids));
        }
        drop(context);
        self.commit_for(MYSELF, events, |_, _| Ok(()))
    }
}

impl Handler<RevokeLease> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: RevokeLease, _: &mut Context<Self>) -> Self::Result {
        let RevokeLease { lease, reason, asked_by } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        if let Err(error) = self.live(lease) {
            return answer(Err(error));
        }
        tracing::info!(?lease, asked_by, "lease revocation requested");
        let (leases, by) = (vec![lease], asked_by.clone());
        let event = BoxEvent::Revoked { leases, by, reason };
        self.commit_for(&asked_by, vec![event], move |actor, outcome| {
            match outcome {
                BoxOutcome::Ended { leases } if leases.contains(&lease) => Ok(()),
                // It ended before that.
                _ => actor.live(lease).map(drop),
            }
        })
    }
}

impl Handler<QuarantineBox> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: QuarantineBox, _: &mut Context<Self>) -> Self::Result {
        let QuarantineBox { pool, number, reason, asked_by } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        let (said, by) = (HookOutput::cut(reason.as_str()), Some(asked_by.clone()));
        let event = BoxEvent::Quarantined { pool, number, cleaning: None, said, by };
        self.commit_for(&asked_by, vec![event], |_, _| Ok(()))
    }
}

impl Handler<UnquarantineBox> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: UnquarantineBox, _: &mut Context<Self>) -> Self::Result {
        let UnquarantineBox { pool, number, asked_by } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        let event = BoxEvent::Unquarantined { pool, number, by: asked_by.clone() };
        self.commit_for(&asked_by, vec![event], |_, _| Ok(()))
    }
}

impl Handler<RecheckPool> for BoxLease {
    type Result = BoxReply<()>;

    fn handle(&mut self, asked: RecheckPool, _: &mut Context<Self>) -> Self::Result {
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        let event = BoxEvent::Recheck { pool: asked.pool };
        self.commit_for(MYSELF, vec![event], |_, _| Ok(()))
    }
}

impl Handler<AdoptPool> for BoxLease {
    type Result = BoxReply<Vec<PoolName>>;

    fn handle(&mut self, asked: AdoptPool, _: &mut Context<Self>) -> Self::Result {
        let AdoptPool { pool, asked_by } = asked;
        if let Err(error) = self.replica.leading() {
            return answer(Err(error.into()));
        }
        let (_, context) = self.at();
        let place = context.hook_target(&pool);
        drop(context);
        let place = match place {
            Ok(Some(place)) => place,
            Ok(None) => return answer(Err(BoxRefusal::from(BadSpec::NoHost).into())),
            Err(refusal) => return answer(Err(refusal.into())),
        };
        tracing::info!(%pool, asked_by, "handover of boxes requested");
        let host = self.hosts.adopt.recipient();
        let asking = async move { host.send(AdoptBoxes { place }).await };
        Box::pin(wrap_future::<_, Self>(asking).then(move |said, actor, ctx| {
            let losers = match said.unwrap_or_else(|error| Err(error.to_string())) {
                Ok(losers) => losers,
                Err(why) => return answer(Err(BoxError::HostSilent { pool, why })),
            };
            actor.ask_again(&pool, ctx);
            let said = HookOutput::cut(&lost_by(&losers));
            let event = BoxEvent::Adopted { pool, said, by: asked_by.clone() };
            actor.commit_for(&asked_by, vec![event], |_, _| Ok(losers))
        }))
    }
}

/// Which pools lost boxes, in words.
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
            self.turn(ctx);
        });
        MessageResult(leading)
    }
}

impl Handler<ChangeBoxSettings> for BoxLease {
    type Result = ();

    fn handle(&mut self, ChangeBoxSettings(settings): ChangeBoxSettings, ctx: &mut Context<Self>) {
        self.memory.settings = settings;
        self.upkeep_at = None;
        self.soon(ctx);
    }
}
