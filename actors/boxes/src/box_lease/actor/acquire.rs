//! Requests for boxes: coming, waiting and leaving.

use actix::{Context, Handler, MessageResult};
use reelyard_replication::{CommitError, OwnerTicks};

use crate::box_lease::BoxLease;
use crate::box_lease::messages::{
    Acquire, BoxLeaseRequest, CancelAcquire, QueuedRequest, ShowQueue,
};
use crate::box_lease::policy::acquiring::{AcquireDecision, WaitDecision};
use crate::box_lease::policy::memory::queue::WaiterId;
use crate::box_lease::policy::memory::terms::RequestedTerms;
use crate::box_lease::policy::memory::waiters::{WaiterListener, WaiterStage};

impl Handler<Acquire> for BoxLease {
    type Result = ();

    fn handle(&mut self, acquire: Acquire, ctx: &mut Context<Self>) {
        let Acquire { ask, ticket, reply, progress } = acquire;
        let listener = WaiterListener { ticket, reply, progress };
        if let Err(error) = self.replica.leading() {
            listener.answer(Err(error.into()));
            return;
        }
        let (memory, context) = self.at();
        let overdue = match memory.admit(&context, &ask) {
            Err(error) => {
                memory.count_refused(&context, &ask.pool, &error);
                listener.answer(Err(error));
                None
            }
            Ok(AcquireDecision::Join(waiter)) => {
                memory.waiters.join(waiter, listener);
                None
            }
            Ok(AcquireDecision::Repeat(leases)) => {
                memory.repeat_grant(&context, &leases, listener);
                None
            }
            Ok(AcquireDecision::Await(leases)) => {
                memory.await_ready(&context, ask, &leases, listener)
            }
            Ok(AcquireDecision::New(terms)) => {
                drop(context);
                self.enqueue(ask, terms, listener, ctx);
                self.mark_view_stale(ctx);
                return;
            }
        };
        drop(context);
        self.wake_at(overdue, ctx);
        self.mark_view_stale(ctx);
    }
}

impl Handler<ShowQueue> for BoxLease {
    type Result = MessageResult<ShowQueue>;

    fn handle(&mut self, asked: ShowQueue, _: &mut Context<Self>) -> Self::Result {
        let ShowQueue { pool, most } = asked;
        if let Err(error) = self.replica.leading() {
            return MessageResult(Err(error.into()));
        }
        let (memory, context) = self.at();
        let queue = memory.allocators.get(&pool).map(|allocator| &allocator.queue);
        let waiting = queue.into_iter().flat_map(|queue| queue.all()).take(most);
        let waiting = waiting.filter_map(|(id, count)| {
            let waiter = memory.waiters.get(id)?;
            let waited = context.now.monotonic.saturating_sub(waiter.came);
            Some(QueuedRequest {
                holder: waiter.ask.holder.clone(),
                priority: waiter.ask.priority,
                count,
                since: context.now.wall.before(waited),
            })
        });
        MessageResult(Ok(waiting.collect()))
    }
}

impl BoxLease {
    fn enqueue(
        &mut self,
        ask: BoxLeaseRequest,
        terms: RequestedTerms,
        listener: WaiterListener,
        ctx: &mut Context<Self>,
    ) {
        let pool = ask.pool.clone();
        let (memory, context) = self.at();
        let Some(id) = memory.enqueue(&context, ask, terms, listener) else { return };
        drop(context);
        self.grant_waiting(&pool, ctx);
        let decision = self.policy(|memory, at| memory.begin_wait(at, id));
        match decision {
            WaitDecision::Over => {}
            WaitDecision::TimeOut => self.time_out(id, ctx),
            WaitDecision::Until(deadline) => self.wake_at(Some(deadline), ctx),
        }
    }

    /// A request has reached its time limit.
    pub(in crate::box_lease) fn time_out(&mut self, id: WaiterId, ctx: &mut Context<Self>) {
        let Some(waiter) = self.memory.waiters.get(id) else { return };
        match waiter.stage {
            WaiterStage::Preparing => self.overdue(id, ctx),
            WaiterStage::Granting => {}
            WaiterStage::Queued => {
                let full_disk = self.replica.disk_full();
                let (memory, context) = self.at();
                match full_disk {
                    Some(why) if memory.waits_only_for_disk(&context, id) => {
                        memory.end_waiter(id, CommitError::DiskFull { why }.into());
                    }
                    _ => memory.time_out(&context, id),
                }
            }
        }
    }
}

impl Handler<CancelAcquire> for BoxLease {
    type Result = ();

    fn handle(&mut self, leave: CancelAcquire, ctx: &mut Context<Self>) {
        let CancelAcquire { ticket, unread } = leave;
        if let Some(id) = self.memory.waiters.leave(ticket) {
            let pool = self.memory.waiters.get(id).map(|waiter| waiter.ask.pool.clone());
            let leases = self.memory.abandon(id);
            self.return_leases(leases, ctx);
            // The next request may want fewer boxes.
            if let Some(pool) = pool {
                self.grant_waiting(&pool, ctx);
            }
        }
        if let Some(grant) = unread {
            let leases = self.policy(|memory, at| memory.not_read(at, &grant));
            self.return_leases(leases, ctx);
        }
        self.mark_view_stale(ctx);
    }
}
