//! Prepares boxes before their holder gets them.

use std::time::Duration;

use actix::Context;
use reelyard_protocol::boxes::{HookKind, HookOutput, LeaseId};
use reelyard_replication::{OwnerCommits, OwnerTicks};

use crate::box_lease::BoxLease;
use crate::box_lease::actor::grants::MYSELF;
use crate::box_lease::policy::memory::queue::WaiterId;
use crate::box_lease::policy::preparing::PreparingLease;

impl BoxLease {
    /// Prepares granted boxes before their holder gets them.
    pub(in crate::box_lease) fn prepare(
        &mut self,
        waiter: Option<WaiterId>,
        leases: Vec<LeaseId>,
        term: Duration,
        ctx: &mut Context<Self>,
    ) {
        let overdue = self.policy(|memory, at| memory.prepare(at, waiter, &leases, term));
        self.wake_at(overdue, ctx);
        for id in leases {
            self.start_init(id, ctx);
        }
    }

    /// Prepares boxes again whose preparation began under an earlier leader.
    pub(in crate::box_lease) fn prepare_again(
        &mut self,
        preparing: Vec<PreparingLease>,
        ctx: &mut Context<Self>,
    ) {
        for (leases, term) in self.memory.sort_preparing(preparing) {
            self.prepare(None, leases, term, ctx);
        }
    }

    /// A box is ready. If all boxes of its request are ready, the grant is recorded.
    pub(in crate::box_lease) fn init_done(&mut self, id: LeaseId, ctx: &mut Context<Self>) {
        if self.memory.groups.one_ready(id) && !self.is_held_up() {
            self.commit_ready(ctx);
        }
    }

    /// Commits which boxes are ready.
    pub(in crate::box_lease) fn commit_ready(&mut self, ctx: &mut Context<Self>) {
        for (first, event) in self.memory.take_ready() {
            let asked = self.replica.unnamed_request(MYSELF);
            // Applied or refused results were already handled.
            self.commit_part(asked, vec![event], ctx, move |actor, result, _| {
                if result.is_err() {
                    actor.memory.not_ready(first);
                }
            });
        }
    }

    /// The ready boxes are recorded: their holder gets the answer.
    pub(in crate::box_lease) fn on_prepared(
        &mut self,
        leases: &[LeaseId],
        ctx: &mut Context<Self>,
    ) {
        let (memory, context) = self.at();
        for id in leases {
            memory.start_term(&context, *id);
        }
        drop(context);
        // A lease without a group was prepared under an earlier leader. The caller of a named request
        // may ask for it.
        let group = leases.first().and_then(|first| self.memory.groups.dissolve(*first));
        if let Some(waiter) = group.and_then(|group| group.waiter) {
            self.hand_out(waiter, leases.to_vec(), ctx);
        }
    }

    /// The preparation of a box failed, or its host did not answer. The request gets the next boxes.
    pub(in crate::box_lease) fn init_failed(
        &mut self,
        id: LeaseId,
        output: Option<HookOutput>,
        ctx: &mut Context<Self>,
    ) {
        let Some((group, events)) = self.memory.init_failed(id, output) else { return };
        let waiter = group.waiter;
        let asked = self.replica.unnamed_request(MYSELF);
        // In another epoch the memory is new.
        self.commit_part(asked, events, ctx, move |actor, result, ctx| {
            if result.is_err() {
                actor.memory.orphans.extend(group.leases);
            }
            let Some(id) = waiter.filter(|id| actor.memory.waiters.get(*id).is_some()) else {
                return;
            };
            match result {
                Ok(_) => actor.requeue(id, ctx),
                Err(error) => actor.memory.end_waiter(id, error.into()),
            }
        });
    }

    /// A request whose boxes could not be prepared gets the next ones.
    fn requeue(&mut self, id: WaiterId, ctx: &mut Context<Self>) {
        let pool = self.policy(|memory, at| memory.requeue(at, id));
        if let Some(pool) = pool {
            self.grant_waiting(&pool, ctx);
        }
        self.soon(ctx);
    }

    fn start_init(&mut self, id: LeaseId, ctx: &mut Context<Self>) {
        let found = self.replica.piece().read().leases.get(&id).cloned();
        if let Some(lease) = found {
            let key = (lease.pool.clone(), lease.number);
            self.start_hook(key, HookKind::Init, Some(id), 1, ctx);
        }
    }
}
