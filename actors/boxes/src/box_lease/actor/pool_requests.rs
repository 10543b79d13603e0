//! Requests about pools and their boxes.

use actix::fut::wrap_future;
use actix::{ActorFutureExt, Context, Handler};
use reelyard_protocol::boxes::{AdoptBoxes, HookOutput, PoolName};
use reelyard_replication::{Outcomes, OwnerRequests, ReplicaHandle, reply_now};

use super::grants::MYSELF;
use super::requests::BoxReply;
use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal};
use crate::box_lease::state::pools::spec::BadSpec;
use crate::box_lease::{
    AdoptPool, BoxError, BoxLease, PoolPut, PoolSpec, PutPool, QuarantineBox, RecheckPool,
    RemovePool, SharedTable, UnquarantineBox,
};

/// The number of the first settings on record.
const FIRST_SETTINGS: u64 = 1;

/// Whether the pool has disappeared with the last of these events.
fn was_removed(outcomes: Outcomes<SharedTable>) -> Result<bool, BoxError> {
    let last = outcomes.into_iter().next_back().transpose()?;
    Ok(matches!(last, Some(BoxOutcome::PoolRemoved { gone: true })))
}

impl BoxLease {
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
