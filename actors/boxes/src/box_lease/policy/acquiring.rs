//! Requests for boxes: their arrival, their wait and their end.

use std::time::Duration;

use reelyard_protocol::boxes::{LeaseId, PoolName};

use super::decision_context::BoxDecisionContext;
use super::leases::PriorAcquire;
use super::memory::BoxMemory;
use super::memory::queue::{LeaseQueuePosition, WaiterId};
use super::memory::terms::RequestedTerms;
use super::memory::waiters::{LeaseWaiter, WaiterListener, WaiterStage};
use crate::box_lease::messages::{AcquireProgress, BoxError, BoxLeaseRequest, Grant};
use crate::box_lease::state::event::BoxRefusal;

/// The shortest wait of a request that arrives before this node's leadership is recorded.
const UNTIL_LED: Duration = Duration::from_secs(1);

/// When a request that met a full queue may be retried, if nothing is known of the pool.
const RETRY: Duration = Duration::from_secs(1);

/// The action for a caller.
pub(in crate::box_lease) enum AcquireDecision {
    /// It waits with others for the same request.
    Join(WaiterId),
    /// The answer is the earlier grant of the request.
    Repeat(Vec<LeaseId>),
    /// It waits until the boxes of its request are ready.
    Await(Vec<LeaseId>),
    /// A request without an answer from a pending or remembered grant.
    New(RequestedTerms),
}

/// The next step of a queued request after the free boxes were granted.
pub(in crate::box_lease) enum WaitDecision {
    /// It was granted, or has ended.
    Over,
    /// It does not wait, because its time limit has passed.
    TimeOut,
    /// It waits until this instant of the monotonic clock.
    Until(Duration),
}

impl BoxMemory {
    /// Decides whether a request for boxes is answered, queued or refused.
    pub(in crate::box_lease) fn admit(
        &self,
        context: &BoxDecisionContext<'_>,
        ask: &BoxLeaseRequest,
    ) -> Result<AcquireDecision, BoxError> {
        let table = &context.table;
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
                PriorAcquire::Held(leases) => return Ok(AcquireDecision::Repeat(leases)),
                PriorAcquire::Preparing(leases) => return Ok(AcquireDecision::Await(leases)),
                PriorAcquire::Ended(refusal) => return Err(refusal.into()),
            }
        }
        let terms = table.may_ask(ask, self.allocators.get(&ask.pool), going)?;
        Ok(AcquireDecision::New(terms))
    }

    /// A request was refused: counted if its pool exists.
    pub(in crate::box_lease) fn count_refused(
        &mut self,
        context: &BoxDecisionContext<'_>,
        pool: &PoolName,
        error: &BoxError,
    ) {
        if matches!(error, BoxError::Refused(_)) && context.table.pool(pool).is_ok() {
            self.counts(pool).refused += 1;
        }
    }

    /// The current leases of a grant, for the answer.
    pub(in crate::box_lease) fn grant_of(
        &self,
        context: &BoxDecisionContext<'_>,
        leases: &[LeaseId],
    ) -> Result<Grant, BoxError> {
        let epoch = context.epoch.ok_or(BoxError::LeaderChanged)?;
        let mut held = Vec::with_capacity(leases.len());
        for id in leases {
            held.push(self.terms.answer(context.table.live(*id)?, context.now));
        }
        Ok(Grant { leases: held, epoch })
    }

    /// The request was granted before: a repetition gets the same answer.
    pub(in crate::box_lease) fn repeat_grant(
        &mut self,
        context: &BoxDecisionContext<'_>,
        leases: &[LeaseId],
        listener: WaiterListener,
    ) {
        let Some(first) = leases.first() else { return };
        // The earlier caller may not have read the answer, and may report that soon.
        *self.sharing.entry(*first).or_insert(1) += 1;
        let answer = self.grant_of(context, leases);
        if !listener.answer(answer)
            && let Some(callers) = self.sharing.get_mut(first)
        {
            *callers -= 1;
        }
    }

    /// A new request enters the queue. Refused if its pool no longer exists.
    pub(in crate::box_lease) fn enqueue(
        &mut self,
        context: &BoxDecisionContext<'_>,
        ask: BoxLeaseRequest,
        terms: RequestedTerms,
        listener: WaiterListener,
    ) -> Option<WaiterId> {
        let step = match context.table.pool(&ask.pool) {
            Ok(pool) => pool.spec().priority_ages,
            Err(refusal) => {
                listener.answer(Err(refusal.into()));
                return None;
            }
        };
        let id = self.waiters.next_id();
        let came = context.now.monotonic;
        let position = LeaseQueuePosition::of(id, ask.priority, came, step);
        let allocator = self.allocator(&ask.pool);
        allocator.queue.push(position, ask.count);
        allocator.asking.add(&ask.holder, ask.count);
        let waiter = LeaseWaiter::new(ask, terms, position, came, WaiterStage::Queued);
        self.waiters.add(id, waiter, listener);
        Some(id)
    }

    /// Whether and how long a new request waits, after the free boxes were granted.
    pub(in crate::box_lease) fn begin_wait(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: WaiterId,
    ) -> WaitDecision {
        let Some(waiter) = self.waiters.get(id) else { return WaitDecision::Over };
        let (pool, wait, came) = (waiter.ask.pool.clone(), waiter.ask.wait, waiter.came);
        let queue = &self.allocator(&pool).queue;
        if !queue.has(id) {
            return WaitDecision::Over;
        }
        let waiting = queue.len();
        let limit = match context.table.pool(&pool) {
            Ok(found) => found.spec().queue_limit as usize,
            Err(_) => 0,
        };
        // A request that arrives before this leader has recorded its start waits for that record.
        let wait = if context.has_led() { wait } else { wait.max(UNTIL_LED) };
        if wait.is_zero() {
            return WaitDecision::TimeOut;
        }
        if waiting > limit {
            self.refuse_by_full_queue(context, id, &pool, waiting as u64 - 1);
            return WaitDecision::Over;
        }
        let deadline = came.saturating_add(wait);
        self.waiters.deadlines.set(id, deadline);
        self.notify_newcomer(context, id, &pool);
        WaitDecision::Until(deadline)
    }

    fn refuse_by_full_queue(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: WaiterId,
        pool: &PoolName,
        waiting: u64,
    ) {
        self.counts(pool).queue_full += 1;
        let retry_after = match (context.table.pool(pool), self.allocators.get(pool)) {
            (Ok(found), Some(allocator)) => allocator.retry_after(found),
            _ => RETRY,
        };
        self.end_waiter(id, BoxError::QueueFull { pool: pool.clone(), waiting, retry_after });
    }

    /// Whether a full disk alone keeps a request from free boxes.
    pub(in crate::box_lease) fn waits_only_for_disk(
        &self,
        context: &BoxDecisionContext<'_>,
        id: WaiterId,
    ) -> bool {
        let Some(waiter) = self.waiters.get(id) else { return false };
        let Some(allocator) = self.allocators.get(&waiter.ask.pool) else { return false };
        let Ok(pool) = context.table.pool(&waiter.ask.pool) else { return false };
        let Some((first, count)) = allocator.first(pool) else { return false };
        first == id && allocator.can_grant(pool, count, 0)
    }

    /// The maximum wait of a request has passed.
    pub(in crate::box_lease) fn time_out(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: WaiterId,
    ) {
        let Some(waiter) = self.waiters.get(id) else { return };
        let (pool, wait) = (waiter.ask.pool.clone(), waiter.ask.wait);
        self.counts(&pool).timed_out += 1;
        let why = self.wait_obstacle(context, &pool);
        self.end_waiter(id, BoxError::TimedOut { pool, wait, why });
    }

    /// A grant to a request failed: the request goes back to its place, unless its wait ends when all
    /// free boxes have been granted. If its pool has changed meanwhile, or all its callers have left, the
    /// wait ends instead.
    pub(in crate::box_lease) fn requeue(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: WaiterId,
    ) -> Option<PoolName> {
        let waiter = self.waiters.get(id)?;
        if !waiter.has_listeners() {
            let pool = waiter.ask.pool.clone();
            self.counts(&pool).left += 1;
            self.take_waiter(id);
            return None;
        }
        if let Err(refusal) = context.table.may_wait(&waiter.ask) {
            self.end_waiter(id, refusal.into());
            return None;
        }
        let waiter = self.waiters.get_mut(id)?;
        waiter.stage = WaiterStage::Queued;
        waiter.notify(AcquireProgress::Asked);
        let (ask, position, deadline) = (waiter.ask.clone(), waiter.position, waiter.deadline());
        let was_counted = std::mem::replace(&mut waiter.is_counted, true);
        self.waiters.deadlines.set(id, deadline);
        let allocator = self.allocator(&ask.pool);
        allocator.queue.push(position, ask.count);
        if !was_counted {
            allocator.asking.add(&ask.holder, ask.count);
        }
        Some(ask.pool)
    }

    /// Every caller of a request has left. Answers the leases to take back.
    pub(in crate::box_lease) fn abandon(&mut self, id: WaiterId) -> Vec<LeaseId> {
        let Some(waiter) = self.waiters.get(id) else { return Vec::new() };
        let (pool, stage) = (waiter.ask.pool.clone(), waiter.stage);
        // A running grant is taken back, and counted, once its outcome is known.
        if stage == WaiterStage::Granting {
            return Vec::new();
        }
        self.counts(&pool).left += 1;
        self.take_waiter(id);
        self.groups.dissolve_of(id)
    }

    /// A caller has left without reading its answer. Answers the leases to take back: none if another
    /// caller has them.
    pub(in crate::box_lease) fn not_read(
        &mut self,
        context: &BoxDecisionContext<'_>,
        grant: &Grant,
    ) -> Vec<LeaseId> {
        if context.epoch != Some(grant.epoch) {
            return Vec::new();
        }
        let Some(first) = grant.leases.first() else { return Vec::new() };
        if let Some(others) = self.sharing.get_mut(&first.id) {
            *others -= 1;
            if *others > 0 {
                return Vec::new();
            }
        }
        self.counts(&first.pool).left += 1;
        grant.leases.iter().map(|lease| lease.id).collect()
    }

    /// Reports its position to a new request at once, if it is the last one, which nearly all are. A more
    /// urgent request gets its position in the next turn, because with thousands of requests each would
    /// have to be counted.
    fn notify_newcomer(&self, context: &BoxDecisionContext<'_>, id: WaiterId, name: &PoolName) {
        let Ok(pool) = context.table.pool(name) else { return };
        let Some(allocator) = self.allocators.get(name) else { return };
        let Some((last, position, wanted)) = allocator.wanted_by_last(pool) else { return };
        // Also callers that do not watch yet, because they may do so in a moment.
        if let Some(waiter) = self.waiters.get(id).filter(|_| last == id) {
            let estimate = allocator.estimate(pool, wanted);
            waiter.notify(AcquireProgress::Waiting { position, estimate });
        }
    }

    /// Sends their progress to the watching callers.
    pub(in crate::box_lease) fn notify_progress(&self, context: &BoxDecisionContext<'_>) {
        for (name, allocator) in &self.allocators {
            let Ok(pool) = context.table.pool(name) else { continue };
            for (position, (id, wanted)) in allocator.wanted(pool).enumerate() {
                let Some(waiter) = self.waiters.get(id).filter(|waiter| waiter.is_watched()) else {
                    continue;
                };
                let estimate = wanted.and_then(|wanted| allocator.estimate(pool, wanted));
                waiter.notify(AcquireProgress::Waiting { position: position as u64 + 1, estimate });
            }
        }
    }

    /// Ends the waits of requests for boxes of a pool, if they want as many boxes as `of` selects.
    pub(in crate::box_lease) fn end_waiters(
        &mut self,
        name: &PoolName,
        refusal: &BoxRefusal,
        of: impl Fn(u32) -> bool,
    ) {
        let Some(allocator) = self.allocators.get(name) else { return };
        let waiting = allocator.queue.all().filter(|(_, count)| of(*count));
        let waiting: Vec<WaiterId> = waiting.map(|(id, _)| id).collect();
        for id in waiting {
            self.end_waiter(id, refusal.clone().into());
        }
    }
}
