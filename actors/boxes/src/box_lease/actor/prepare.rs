//! Making boxes ready before their holder gets them: all boxes of a request, or the request goes back to
//! its place and gets the next ones.

use std::time::Duration;

use actix::{ActorFutureExt, AsyncContext, Context, WrapFuture};
use reelyard_protocol::boxes::{HookKind, HookOutput, LeaseId};
use reelyard_replication::{Owner, RequestContext};

use super::grants::MYSELF;
use super::probes::OVERDUE_AFTER;
use crate::box_lease::messages::{AcquireProgress, BoxError, BoxLeaseRequest};
use crate::box_lease::policy::queue::{LeaseQueuePosition, WaiterId};
use crate::box_lease::policy::waiters::{LeaseWaiter, WaiterListener, WaiterStage};
use crate::box_lease::state::event::BoxEvent;
use crate::box_lease::{BoxLease, BoxRefusal};

impl BoxLease {
    /// Boxes were granted that are to be made ready first.
    pub(in crate::box_lease) fn prepare(
        &mut self,
        waiter: Option<WaiterId>,
        leases: Vec<LeaseId>,
        term: Duration,
        ctx: &mut Context<Self>,
    ) {
        if let Some(waiter) = waiter.and_then(|id| self.waiters.get_mut(id)) {
            waiter.stage = WaiterStage::Preparing;
            waiter.notify(AcquireProgress::Preparing);
        }
        if let Some(id) = waiter {
            self.look_after(id, ctx);
        }
        self.groups.add(waiter, &leases, term);
        for id in leases {
            self.start_init(id, ctx);
        }
    }

    /// A request whose boxes are being made ready is checked when its time is over.
    fn look_after(&mut self, id: WaiterId, ctx: &mut Context<Self>) {
        let now = self.now().monotonic;
        let Some(deadline) = self.waiters.get(id).map(LeaseWaiter::deadline) else { return };
        let at = deadline.max(now).saturating_add(OVERDUE_AFTER);
        self.waiters.deadlines.set(id, at);
        self.wake_at(at, ctx);
    }

    /// A request is repeated while its boxes are being made ready.
    pub(in crate::box_lease) fn await_ready(
        &mut self,
        ask: BoxLeaseRequest,
        leases: &[LeaseId],
        listener: WaiterListener,
        ctx: &mut Context<Self>,
    ) {
        let id = self.waiters.next_id();
        let first = leases.first().and_then(|lease| self.groups.group_of.get(lease)).copied();
        let group = first.and_then(|first| self.groups.groups.get_mut(&first));
        let Some(group) = group else {
            // The boxes are about to be taken back, or to be made ready again.
            listener.answer(Err(BoxRefusal::NotReady.into()));
            return;
        };
        // An earlier one is not there any more, or this one would have joined it.
        group.waiter = Some(id);
        self.groups.of_waiter.extend(first.map(|first| (id, first)));
        let (term, came) = (group.term, self.now().monotonic);
        let (step, ttl) = {
            let table = self.replica.piece().read();
            let lease = first.and_then(|first| table.leases.get(&first));
            let step = table.pool(&ask.pool).map(|pool| pool.spec().priority_ages);
            (step.unwrap_or_default(), lease.map_or(term, |lease| lease.ttl))
        };
        let place = LeaseQueuePosition::of(id, ask.priority, came, step);
        let waiter = LeaseWaiter::new(ask, (term, ttl), place, came, WaiterStage::Preparing);
        self.waiters.add(id, waiter, listener);
        self.look_after(id, ctx);
    }

    /// A box is ready: if all of its request are, that goes on record.
    pub(in crate::box_lease) fn init_done(&mut self, id: LeaseId, ctx: &mut Context<Self>) {
        if self.groups.one_ready(id) && !self.is_held_up() {
            self.commit_ready(ctx);
        }
    }

    /// Commits which boxes are ready.
    pub(in crate::box_lease) fn commit_ready(&mut self, ctx: &mut Context<Self>) {
        for first in self.groups.take_ready() {
            let Some(group) = self.groups.groups.get(&first) else { continue };
            let (leases, term) = (group.leases.clone(), group.term);
            let event = BoxEvent::Prepared { leases: leases.clone(), term };
            let asked = RequestContext::by_itself(MYSELF);
            let committing = self.replica.commit(self.clock.now(), asked, vec![event]);
            ctx.spawn(committing.into_actor(self).map(move |settlement, actor, ctx| {
                // Applied or refused results were handled then.
                if actor.settle_own(settlement, ctx).is_err()
                    && actor.groups.groups.contains_key(&first)
                {
                    actor.groups.ready.insert(first);
                }
            }));
        }
    }

    /// The boxes are ready on record: their holder gets the answer.
    pub(in crate::box_lease) fn follow_prepared(
        &mut self,
        leases: &[LeaseId],
        ctx: &mut Context<Self>,
    ) {
        for id in leases {
            self.note_term(*id);
        }
        let group = leases.first().and_then(|first| self.groups.dissolve(*first));
        // Without one it was prepared under an earlier leader: the caller of a named request may ask for
        // it.
        if let Some(group) = group {
            self.hand_out(group.waiter, leases, ctx);
        }
    }

    /// A box could not be made ready, or its host did not answer. No lease of its request reaches a
    /// holder: it gets the next boxes.
    pub(in crate::box_lease) fn init_failed(
        &mut self,
        id: LeaseId,
        said: Option<HookOutput>,
        ctx: &mut Context<Self>,
    ) {
        let Some(group) = self.groups.dissolve(id) else { return };
        let others = group.leases.iter().copied().filter(|other| said.is_none() || *other != id);
        let others: Vec<LeaseId> = others.collect();
        let mut events = Vec::new();
        events.extend(said.map(|said| BoxEvent::InitFailed { lease: id, said }));
        if !others.is_empty() {
            events.push(BoxEvent::NotTaken { leases: others });
        }
        let waiter = group.waiter;
        let asked = RequestContext::by_itself(MYSELF);
        let committing = self.replica.commit(self.clock.now(), asked, events);
        let epoch = self.replica.epoch();
        ctx.spawn(committing.into_actor(self).map(move |settlement, actor, ctx| {
            let settled = actor.settle_own(settlement, ctx);
            // The state in memory was built again since, if another epoch began.
            if settled.is_err() && epoch.is_some() && actor.replica.epoch() == epoch {
                actor.orphans.extend(group.leases);
            }
            let Some(id) = waiter.filter(|id| actor.waiters.get(*id).is_some()) else { return };
            match settled {
                Ok(_) => {
                    if let Some(pool) = actor.requeue(id) {
                        actor.grant_waiting(&pool, ctx);
                    }
                    actor.soon(ctx);
                }
                Err(error) => actor.end_waiter(id, error.into()),
            }
        }));
    }

    /// A lease ended while its box was being made ready, by another request.
    pub(in crate::box_lease) fn ended_while_preparing(
        &mut self,
        id: LeaseId,
        refusal: BoxRefusal,
        ctx: &mut Context<Self>,
    ) {
        let Some(group) = self.groups.dissolve(id) else { return };
        let others = group.leases.into_iter().filter(|other| *other != id).collect();
        self.take_back(others, ctx);
        if let Some(waiter) = group.waiter {
            self.end_waiter(waiter, BoxError::Refused(refusal));
        }
    }

    fn start_init(&mut self, id: LeaseId, ctx: &mut Context<Self>) {
        let found = self.replica.piece().read().leases.get(&id).cloned();
        if let Some(lease) = found {
            let key = (lease.pool.clone(), lease.number);
            self.start_hook(key, HookKind::Init, Some(id), 1, ctx);
        }
    }
}
