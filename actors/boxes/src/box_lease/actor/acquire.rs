//! Coming, waiting and leaving.

use std::time::Duration;

use actix::{Context, Handler};
use reelyard_protocol::boxes::{LeaseId, PoolName};
use reelyard_replication::CommitError;

use crate::box_lease::BoxLease;
use crate::box_lease::messages::{
    Acquire, AcquireProgress, BoxError, BoxLeaseRequest, CancelAcquire, Grant,
};
use crate::box_lease::policy::decide::PriorAcquire;
use crate::box_lease::policy::queue::{LeaseQueuePosition, WaiterId};
use crate::box_lease::policy::waiters::{LeaseWaiter, WaiterListener, WaiterStage};
use crate::box_lease::state::event::BoxRefusal;

/// The shortest wait of a request that arrives before this node's leadership is on record.
const UNTIL_LED: Duration = Duration::from_secs(1);

/// The action for a caller.
enum AcquireDecision {
    /// It waits with others for the same request.
    Join(WaiterId),
    /// The answer is the earlier grant of the request.
    Tell(Vec<LeaseId>),
    /// It waits until the boxes of its request are ready.
    Await(Vec<LeaseId>),
    /// A new request: the first term of its leases, and the term after a renewal.
    New(Duration, Duration),
}

impl Handler<Acquire> for BoxLease {
    type Result = ();

    fn handle(&mut self, acquire: Acquire, ctx: &mut Context<Self>) {
        let Acquire { ask, ticket, reply, progress } = acquire;
        let listener = WaiterListener { ticket, reply, progress };
        match self.admission(&ask) {
            Err(error) => {
                if matches!(error, BoxError::Refused(_))
                    && self.replica.piece().read().pool(&ask.pool).is_ok()
                {
                    self.counts(&ask.pool).refused += 1;
                }
                listener.answer(Err(error));
            }
            Ok(AcquireDecision::Join(waiter)) => self.waiters.join(waiter, listener),
            Ok(AcquireDecision::Tell(leases)) => self.tell_again(&leases, listener),
            Ok(AcquireDecision::Await(leases)) => self.await_ready(ask, &leases, listener, ctx),
            Ok(AcquireDecision::New(term, ttl)) => self.enqueue(ask, (term, ttl), listener, ctx),
        }
        self.note_stale(ctx);
    }
}

impl BoxLease {
    fn admission(&self, ask: &BoxLeaseRequest) -> Result<AcquireDecision, BoxError> {
        self.replica.leading()?;
        let table = self.replica.piece().read();
        let mut going = 0;
        if let Some(request) = ask.request {
            if let Some(waiter) = self.waiters.of_request(request)? {
                if let Some(waiter) = self.waiters.get(waiter) {
                    ask.goes_on_for(&waiter.ask.holder)?;
                }
                return Ok(AcquireDecision::Join(waiter));
            }
            let before = table.prior_acquire(request)?;
            if let PriorAcquire::Held(leases) | PriorAcquire::Preparing(leases) = &before
                && let Some(first) = leases.first()
            {
                ask.goes_on_for(&table.live(*first)?.holder)?;
            }
            match before {
                PriorAcquire::Nothing => {}
                // Leases that no caller knows are dropped, and the request counts as new.
                PriorAcquire::Held(leases) | PriorAcquire::Preparing(leases)
                    if self.are_taken_back(&leases) =>
                {
                    going = u32::try_from(leases.len()).unwrap_or(u32::MAX);
                }
                PriorAcquire::Held(leases) => return Ok(AcquireDecision::Tell(leases)),
                PriorAcquire::Preparing(leases) => return Ok(AcquireDecision::Await(leases)),
                PriorAcquire::Ended(refusal) => return Err(refusal.into()),
            }
        }
        let (term, ttl) = table.may_ask(ask, self.lines.get(&ask.pool), going)?;
        Ok(AcquireDecision::New(term, ttl))
    }

    /// The request was granted before: a repetition gets the same answer.
    fn tell_again(&mut self, leases: &[LeaseId], listener: WaiterListener) {
        let Some(first) = leases.first() else { return };
        // The earlier caller may not have read the answer, and may report that now.
        *self.told.entry(*first).or_insert(1) += 1;
        let answer = self.grant_of(leases);
        if !listener.answer(answer)
            && let Some(told) = self.told.get_mut(first)
        {
            *told -= 1;
        }
    }

    /// The present leases, for the answer.
    pub(in crate::box_lease) fn grant_of(&self, leases: &[LeaseId]) -> Result<Grant, BoxError> {
        let epoch = self.replica.leading()?;
        let table = self.replica.piece().read();
        let found = leases.iter().map(|id| table.live(*id).cloned());
        Ok(Grant { leases: found.collect::<Result<_, BoxRefusal>>()?, epoch })
    }

    fn enqueue(
        &mut self,
        ask: BoxLeaseRequest,
        terms: (Duration, Duration),
        listener: WaiterListener,
        ctx: &mut Context<Self>,
    ) {
        let (id, came) = (self.waiters.next_id(), self.now().monotonic);
        let (step, limit) = match self.replica.piece().read().pool(&ask.pool) {
            Ok(pool) => (pool.spec().priority_ages, pool.spec().queue_limit as usize),
            Err(refusal) => {
                listener.answer(Err(refusal.into()));
                return;
            }
        };
        let (pool, wait) = (ask.pool.clone(), ask.wait);
        let place = LeaseQueuePosition::of(id, ask.priority, came, step);
        let line = self.line(&pool);
        line.queue.push(place, ask.count);
        line.asking.add(&ask.holder, ask.count);
        self.waiters.add(
            id,
            LeaseWaiter::new(ask, terms, place, came, WaiterStage::Queued),
            listener,
        );
        self.grant_waiting(&pool, ctx);
        let queue = &self.line(&pool).queue;
        if !queue.has(id) {
            return;
        }
        let waiting = queue.len();
        // A request that comes before the start of this lead is on record waits for that record.
        let wait = if self.has_led() { wait } else { wait.max(UNTIL_LED) };
        if wait.is_zero() {
            self.time_out(id, ctx);
        } else if waiting > limit {
            self.queue_full(id, &pool, waiting as u64 - 1);
        } else {
            let deadline = came.saturating_add(wait);
            self.waiters.deadlines.set(id, deadline);
            self.wake_at(deadline, ctx);
            self.notify_newcomer(id, &pool);
        }
    }

    fn queue_full(&mut self, id: WaiterId, pool: &PoolName, waiting: u64) {
        self.counts(pool).queue_full += 1;
        let retry_after = match (self.replica.piece().read().pool(pool), self.lines.get(pool)) {
            (Ok(standing), Some(line)) => line.retry_after(standing),
            _ => Duration::from_secs(1),
        };
        self.end_waiter(id, BoxError::QueueFull { pool: pool.clone(), waiting, retry_after });
    }

    /// A request has reached its time limit.
    pub(in crate::box_lease) fn time_out(&mut self, id: WaiterId, ctx: &mut Context<Self>) {
        if self.waiters.get(id).is_some_and(|waiter| waiter.stage == WaiterStage::Preparing) {
            self.overdue(id, ctx);
            return;
        }
        let Some(waiter) =
            self.waiters.get(id).filter(|waiter| waiter.stage == WaiterStage::Queued)
        else {
            return;
        };
        let (pool, wait) = (waiter.ask.pool.clone(), waiter.ask.wait);
        if let Some(why) = self.full_disk_before(id, &pool) {
            self.end_waiter(id, CommitError::DiskFull { why }.into());
            return;
        }
        self.counts(&pool).timed_out += 1;
        let why = self.wait_obstacle(&pool);
        self.end_waiter(id, BoxError::TimedOut { pool, wait, why });
    }

    /// Why nothing can be put on record on a full disk, if that alone keeps a request from free boxes.
    fn full_disk_before(&self, id: WaiterId, name: &PoolName) -> Option<String> {
        let why = self.replica.disk_full()?;
        let (table, line) = (self.replica.piece().read(), self.lines.get(name)?);
        let pool = table.pool(name).ok()?;
        let (first, count) = line.first(pool)?;
        (first == id && line.can_grant(pool, count, 0)).then_some(why)
    }

    /// A caller stops waiting and gets the reason.
    pub(in crate::box_lease) fn end_waiter(&mut self, id: WaiterId, error: BoxError) {
        if let Some(waiter) = self.take_waiter(id) {
            waiter.answer(&Err(error));
        }
    }

    /// A caller stops waiting.
    pub(in crate::box_lease) fn take_waiter(&mut self, id: WaiterId) -> Option<LeaseWaiter> {
        self.uncount(id);
        let waiter = self.waiters.remove(id)?;
        self.line(&waiter.ask.pool).queue.remove(id);
        Some(waiter)
    }

    /// A request is no longer only asked for.
    pub(in crate::box_lease) fn uncount(&mut self, id: WaiterId) {
        let Some(waiter) = self.waiters.get_mut(id).filter(|waiter| waiter.is_counted) else {
            return;
        };
        waiter.is_counted = false;
        let (pool, holder, count) =
            (waiter.ask.pool.clone(), waiter.ask.holder.clone(), waiter.ask.count);
        self.line(&pool).asking.take(&holder, count);
    }

    /// A grant to a request failed: the request goes back to its place, unless its time is over once all
    /// free boxes have been granted. If its pool has changed meanwhile, or all its callers have gone, the
    /// wait ends instead.
    pub(in crate::box_lease) fn requeue(&mut self, id: WaiterId) -> Option<PoolName> {
        let waiter = self.waiters.get(id)?;
        if !waiter.has_listeners() {
            let pool = waiter.ask.pool.clone();
            self.counts(&pool).left += 1;
            self.take_waiter(id);
            return None;
        }
        let refusal = self.replica.piece().read().may_wait(&waiter.ask).err();
        if let Some(refusal) = refusal {
            self.end_waiter(id, refusal.into());
            return None;
        }
        let waiter = self.waiters.get_mut(id)?;
        waiter.stage = WaiterStage::Queued;
        waiter.notify(AcquireProgress::Asked);
        let (ask, place) = (waiter.ask.clone(), waiter.place);
        let (deadline, was_counted) =
            (waiter.deadline(), std::mem::replace(&mut waiter.is_counted, true));
        self.waiters.deadlines.set(id, deadline);
        let line = self.line(&ask.pool);
        line.queue.push(place, ask.count);
        if !was_counted {
            line.asking.add(&ask.holder, ask.count);
        }
        Some(ask.pool)
    }
}

impl Handler<CancelAcquire> for BoxLease {
    type Result = ();

    fn handle(&mut self, leave: CancelAcquire, ctx: &mut Context<Self>) {
        let CancelAcquire { ticket, unread } = leave;
        if let Some(id) = self.waiters.leave(ticket) {
            self.nobody_waits(id, ctx);
        }
        if let Some(grant) = unread {
            self.not_read(&grant, ctx);
        }
        self.note_stale(ctx);
    }
}

impl BoxLease {
    /// Every caller of a request has gone.
    fn nobody_waits(&mut self, id: WaiterId, ctx: &mut Context<Self>) {
        let Some(waiter) = self.waiters.get(id) else { return };
        let (pool, stage) = (waiter.ask.pool.clone(), waiter.stage);
        match stage {
            WaiterStage::Queued => {
                self.counts(&pool).left += 1;
                self.take_waiter(id);
                // The next request may want fewer boxes.
                self.grant_waiting(&pool, ctx);
            }
            // It is taken back, and counted, once its outcome is known.
            WaiterStage::Granting => {}
            WaiterStage::Preparing => {
                self.counts(&pool).left += 1;
                self.take_waiter(id);
                let leases = self.groups.dissolve_of(id);
                self.take_back(leases, ctx);
            }
        }
    }

    /// A caller has gone without reading its answer.
    fn not_read(&mut self, grant: &Grant, ctx: &mut Context<Self>) {
        if self.replica.epoch() != Some(grant.epoch) {
            return;
        }
        let leases: Vec<LeaseId> = grant.leases.iter().map(|lease| lease.id).collect();
        let Some(first) = leases.first() else { return };
        if let Some(others) = self.told.get_mut(first) {
            *others -= 1;
            if *others > 0 {
                return;
            }
        }
        if let Some(lease) = grant.leases.first() {
            self.counts(&lease.pool).left += 1;
        }
        self.take_back(leases, ctx);
    }
}
