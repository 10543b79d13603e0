//! Granting boxes to waiting requests, and taking back leases without a caller.

use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use reelyard_protocol::boxes::{BoxNumber, LeaseId, PoolName};
use reelyard_replication::{CommitError, Owner, ReplicaHandle, RequestContext};

use crate::box_lease::messages::{AcquireProgress, BoxError};
use crate::box_lease::policy::queue::WaiterId;
use crate::box_lease::policy::waiters::WaiterStage;
use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal, NewGrant};
use crate::box_lease::{BoxLease, SharedTable};

/// The name under which the actor commits its own work.
pub(in crate::box_lease) const MYSELF: &str = "box-lease";

/// When a request may be repeated whose leases could not be taken back yet.
const AGAIN: Duration = Duration::from_secs(1);

impl BoxLease {
    /// Grants free boxes to the waiting requests.
    pub(in crate::box_lease) fn grant_waiting(&mut self, pool: &PoolName, ctx: &mut Context<Self>) {
        if self.is_held_up() {
            return;
        }
        let events = self.next_grants(pool, None, usize::MAX);
        for events in ReplicaHandle::<SharedTable>::parts(events) {
            self.commit_grants(events, ctx);
        }
    }

    /// Grants boxes to the next requests, `most` at most and while boxes are free. One more may be about
    /// to be free: it goes to the first of them.
    pub(in crate::box_lease) fn next_grants(
        &mut self,
        name: &PoolName,
        mut coming: Option<BoxNumber>,
        most: usize,
    ) -> Vec<BoxEvent> {
        let mut events = Vec::new();
        if self.rechecks.contains_key(name) || !self.has_led() || self.is_unheard(name) {
            return events;
        }
        while events.len() < most {
            let table = self.replica.piece().read();
            let (Ok(pool), Some(line)) = (table.pool(name), self.lines.get_mut(name)) else {
                break;
            };
            let Some((id, count)) = line.first(pool) else { break };
            if pool.goes() || !line.can_grant(pool, count, usize::from(coming.is_some())) {
                break;
            }
            let Some(waiter) = self.waiters.get_mut(id) else {
                line.queue.remove(id);
                continue;
            };
            let leases: Result<Vec<LeaseId>, _> = (0..count).map(|_| LeaseId::random()).collect();
            let leases = match leases {
                Ok(leases) => leases,
                Err(error) => {
                    drop(table);
                    let refusal = BoxRefusal::NoRandomness(error.to_string());
                    self.end_waiter(id, refusal.into());
                    continue;
                }
            };
            line.queue.remove(id);
            waiter.stage = WaiterStage::Granting;
            self.waiters.deadlines.remove(&id);
            let first = leases.first().copied();
            let numbers = line.take(count, coming.take());
            let rested_before = line.rests.before();
            drop(table);
            self.granting.extend(first.map(|first| (first, id)));
            let Some(waiter) = self.waiters.get(id) else { continue };
            events.push(BoxEvent::Granted(Box::new(NewGrant {
                pool: name.clone(),
                leases: leases.into_iter().zip(numbers).collect(),
                holder: waiter.ask.holder.clone(),
                ttl: waiter.ttl,
                term: waiter.term,
                request: waiter.ask.request,
                rested_before,
            })));
        }
        events
    }

    fn commit_grants(&mut self, events: Vec<BoxEvent>, ctx: &mut Context<Self>) {
        let grants = events.clone();
        let asked = RequestContext::by_itself(MYSELF);
        let committing = self.replica.commit(self.clock.now(), asked, events);
        ctx.spawn(committing.into_actor(self).map(move |settlement, actor, ctx| {
            if let Err(error) = actor.settle_own(settlement, ctx) {
                actor.not_granted(&grants, &error, ctx);
            }
        }));
    }

    /// A commit of grants has no outcome. Applied grants were handled then.
    pub(in crate::box_lease) fn not_granted(
        &mut self,
        events: &[BoxEvent],
        error: &CommitError,
        ctx: &mut Context<Self>,
    ) {
        let is_unknown = matches!(error, CommitError::Unknown { .. });
        let may_be_tried_again =
            matches!(error, CommitError::Busy { .. } | CommitError::DiskFull { .. });
        for event in events {
            let BoxEvent::Granted(grant) = event else { continue };
            let Some((first, _)) = grant.leases.first() else { continue };
            // Not there: it came to be applied, or leadership ended.
            let Some(id) = self.granting.remove(first) else { continue };
            if !is_unknown {
                self.settle_boxes(grant);
            }
            let has_time = self.has_time_left(id);
            if may_be_tried_again && has_time {
                self.requeue(id);
            } else {
                self.end_waiter(id, error.clone().into());
            }
        }
        self.soon(ctx);
    }

    fn has_time_left(&self, id: WaiterId) -> bool {
        let now = self.now().monotonic;
        self.waiters.get(id).is_some_and(|waiter| now < waiter.deadline())
    }

    /// The outcome of a grant is known.
    fn settle_boxes(&mut self, grant: &NewGrant) {
        let table = self.replica.piece().read();
        let Some(line) = self.lines.get_mut(&grant.pool) else { return };
        let pool = table.pool(&grant.pool).ok();
        for (_, number) in &grant.leases {
            line.settled(pool, *number);
        }
    }

    /// A grant was applied, or refused then.
    pub(in crate::box_lease) fn follow_grant(
        &mut self,
        grant: &NewGrant,
        result: &Result<BoxOutcome, BoxRefusal>,
        ctx: &mut Context<Self>,
    ) {
        self.settle_boxes(grant);
        let leases: Vec<LeaseId> = grant.leases.iter().map(|(id, _)| *id).collect();
        let Some(first) = leases.first() else { return };
        let waiter = self.granting.remove(first);
        if let Err(refusal) = result {
            if let Some(id) = waiter {
                self.grant_refused(id, refusal, ctx);
            }
            return;
        }
        let waiter = waiter.or_else(|| self.repeated(grant));
        if let Some(id) = waiter {
            self.uncount(id);
        }
        for id in &leases {
            self.note_term(*id);
        }
        let is_preparing =
            self.replica.piece().read().leases.get(first).is_some_and(|l| !l.is_held());
        match waiter {
            // It is unknown whether it was granted. The caller of a named request can look it up.
            None if grant.request.is_none() => self.take_back(leases, ctx),
            None if !is_preparing => {}
            waiter if is_preparing => self.prepare(waiter, leases, grant.term, ctx),
            waiter => self.hand_out(waiter, &leases, ctx),
        }
    }

    /// The callers of a grant that was not known: the request was repeated meanwhile. It leaves the
    /// queue.
    fn repeated(&mut self, grant: &NewGrant) -> Option<WaiterId> {
        let id = self.waiters.of_request(grant.request?).ok().flatten()?;
        // A request with another grant under way gets its answer when that grant is refused.
        self.waiters.get(id).filter(|waiter| waiter.stage == WaiterStage::Queued)?;
        self.waiters.deadlines.remove(&id);
        self.line(&grant.pool).queue.remove(id);
        Some(id)
    }

    fn grant_refused(&mut self, id: WaiterId, refusal: &BoxRefusal, ctx: &mut Context<Self>) {
        match refusal {
            // Decided on something that had changed meanwhile.
            BoxRefusal::NotFree | BoxRefusal::NoSlot | BoxRefusal::IdInUse => {
                self.requeue(id);
                self.soon(ctx);
            }
            BoxRefusal::GrantedBefore => self.granted_before(id),
            refusal => self.end_waiter(id, refusal.clone().into()),
        }
    }

    /// The request was granted under an earlier leader, or its grant was unknown.
    fn granted_before(&mut self, id: WaiterId) {
        use crate::box_lease::policy::decide::PriorAcquire;
        let Some(waiter) = self.take_waiter(id) else { return };
        let Some(request) = waiter.ask.request else { return };
        let before = self.replica.piece().read().prior_acquire(request);
        let answer = match before {
            // Taking them back has failed so far.
            Ok(PriorAcquire::Held(leases)) if self.are_taken_back(&leases) => {
                Err(BoxError::Busy { retry_after: AGAIN })
            }
            Ok(PriorAcquire::Held(leases)) => self.grant_of(&leases),
            Ok(PriorAcquire::Ended(refusal)) | Err(refusal) => Err(refusal.into()),
            Ok(PriorAcquire::Nothing | PriorAcquire::Preparing(_)) => {
                Err(BoxRefusal::GrantedBefore.into())
            }
        };
        let reached = waiter.answer(&answer);
        if let Ok(grant) = answer
            && let Some(first) = grant.leases.first()
        {
            *self.told.entry(first.id).or_insert(1) += reached;
        }
    }

    /// Answers the waiting callers with their leases. If no caller is left they are taken back.
    pub(in crate::box_lease) fn hand_out(
        &mut self,
        waiter: Option<WaiterId>,
        leases: &[LeaseId],
        ctx: &mut Context<Self>,
    ) {
        let (Some(id), Some(first)) = (waiter, leases.first()) else { return };
        let Some(waiter) = self.take_waiter(id) else {
            self.take_back(leases.to_vec(), ctx);
            return;
        };
        let waited = self.now().monotonic.saturating_sub(waiter.came);
        let pool = waiter.ask.pool.clone();
        let answer = self.grant_of(leases);
        let is_granted = answer.is_ok();
        let reached = waiter.answer(&answer);
        if !is_granted {
            // One of them has ended: no caller gets the others.
            self.take_back(leases.to_vec(), ctx);
            return;
        }
        match reached {
            0 => {
                self.counts(&pool).left += 1;
                self.take_back(leases.to_vec(), ctx);
            }
            reached => {
                let counts = self.counts(&pool);
                counts.served += 1;
                counts.waits.note(waited);
                if reached > 1 {
                    self.told.insert(*first, reached);
                }
            }
        }
    }

    /// Whether no caller gets these leases any more.
    pub(in crate::box_lease) fn are_taken_back(&self, leases: &[LeaseId]) -> bool {
        leases.iter().any(|id| self.taking_back.contains(id))
    }

    /// Takes back leases that no caller knows.
    pub(in crate::box_lease) fn take_back(
        &mut self,
        leases: Vec<LeaseId>,
        ctx: &mut Context<Self>,
    ) {
        if leases.is_empty() {
            return;
        }
        let event = BoxEvent::NotTaken { leases: leases.clone() };
        self.taking_back.extend(leases.iter().copied());
        self.commit_then(vec![event], ctx, move |actor, settled, ctx| {
            // A commit without an outcome may still be applied: taking back an ended lease changes
            // nothing.
            if settled.is_ok() {
                // A lease that had ended before is not reported as ending now.
                actor.taking_back.retain(|id| !leases.contains(id));
            } else if actor.replica.epoch().is_some() {
                actor.orphans.extend(leases.iter().copied());
                actor.soon(ctx);
            }
        });
    }

    /// Reports its place to a new request at once, if it is the last, as nearly all are. A request that
    /// is more urgent than others is shown by the next turn: with thousands of requests each would have
    /// to be counted.
    pub(in crate::box_lease) fn notify_newcomer(&self, id: WaiterId, name: &PoolName) {
        let table = self.replica.piece().read();
        let (Ok(pool), Some(line)) = (table.pool(name), self.lines.get(name)) else { return };
        let Some((last, position, wanted)) = line.wanted_by_last(pool) else { return };
        // Also callers that do not watch yet: they may in a moment.
        if let Some(waiter) = self.waiters.get(id).filter(|_| last == id) {
            let estimate = line.estimate(pool, wanted);
            waiter.notify(AcquireProgress::Waiting { position, estimate });
        }
    }

    /// Sends their progress to the watching callers.
    pub(in crate::box_lease) fn notify_progress(&mut self) {
        let table = self.replica.piece().read();
        for (name, line) in &self.lines {
            let Ok(pool) = table.pool(name) else { continue };
            for (place, (id, wanted)) in line.wanted(pool).enumerate() {
                let Some(waiter) = self.waiters.get(id).filter(|waiter| waiter.is_watched()) else {
                    continue;
                };
                let estimate = wanted.and_then(|wanted| line.estimate(pool, wanted));
                waiter.notify(AcquireProgress::Waiting { position: place as u64 + 1, estimate });
            }
        }
    }
}
