//! Grants of free boxes to waiting requests, and what their outcomes mean for the callers.

use std::time::Duration;

use reelyard_core::secret_id::{IdSource, NoRandomness};
use reelyard_protocol::boxes::{BoxNumber, LeaseId, PoolName};
use reelyard_replication::CommitError;

use super::decision_context::BoxDecisionContext;
use super::leases::PriorAcquire;
use super::memory::BoxMemory;
use super::memory::queue::WaiterId;
use super::memory::terms::RequestedTerms;
use super::memory::waiters::WaiterStage;
use crate::box_lease::messages::BoxError;
use crate::box_lease::state::event::{BoxEvent, BoxRefusal, NewGrant};

/// When to repeat a request whose leases could not be taken back yet.
const AGAIN: Duration = Duration::from_secs(1);

/// The next step after a grant was applied or refused.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::box_lease) enum GrantFollowUp {
    /// The grant needs no further step.
    Nothing,
    /// The next tick grants other boxes to the request.
    GrantAgain,
    /// No caller waits for the leases: they are taken back.
    TakeBack,
    /// The boxes are made ready first.
    Prepare(Option<WaiterId>),
    /// The caller gets the leases.
    HandOut(WaiterId),
}

impl BoxMemory {
    /// Grants boxes to the next requests, `most` at most and while boxes are free. One more box may be
    /// about to become free: the first request gets it. Each lease gets an id of `ids`.
    pub(in crate::box_lease) fn next_grants(
        &mut self,
        context: &BoxDecisionContext<'_>,
        name: &PoolName,
        mut coming: Option<BoxNumber>,
        most: usize,
        ids: &mut IdSource,
    ) -> Vec<BoxEvent> {
        let mut events = Vec::new();
        let waits_for_host = self.rechecks.contains_key(name) || self.is_silent(context, name);
        if waits_for_host || !context.has_led() {
            return events;
        }
        while events.len() < most {
            let Ok(pool) = context.table.pool(name) else { break };
            let Some(allocator) = self.allocators.get_mut(name) else { break };
            let Some((id, count)) = allocator.first(pool) else { break };
            if pool.goes() || !allocator.can_grant(pool, count, usize::from(coming.is_some())) {
                break;
            }
            let Some(waiter) = self.waiters.get_mut(id) else {
                allocator.queue.remove(id);
                continue;
            };
            let leases = match draw_leases(ids, count) {
                Ok(leases) => leases,
                Err(error) => {
                    let refusal = BoxRefusal::NoRandomness(error.to_string());
                    self.end_waiter(id, refusal.into());
                    continue;
                }
            };
            allocator.queue.remove(id);
            waiter.stage = WaiterStage::Granting;
            let numbers = allocator.allocate(count, coming.take());
            let leases = leases.into_iter().zip(numbers).collect();
            let rested_before = allocator.rests.before();
            let RequestedTerms { first, renewed } = waiter.terms;
            let grant = waiter.ask.grant(leases, first, renewed, rested_before);
            self.waiters.deadlines.remove(&id);
            self.granting.extend(grant.leases.first().map(|(first, _)| (*first, id)));
            events.push(grant.into());
        }
        events
    }

    /// The grants to the next request that a released box makes possible. They are part of the entry of
    /// the release, if no hook runs in between.
    pub(in crate::box_lease) fn grants_behind(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: LeaseId,
        ids: &mut IdSource,
    ) -> Vec<BoxEvent> {
        let table = &context.table;
        let Ok(lease) = table.live(id) else { return Vec::new() };
        let Ok(pool) = table.pool(&lease.pool) else { return Vec::new() };
        let retires = pool.find(lease.number).is_none_or(|record| record.retiring);
        if !pool.spec().is_logical() || retires || pool.goes() {
            return Vec::new();
        }
        self.next_grants(context, &lease.pool, Some(lease.number), 1, ids)
    }

    /// A commit of grants has no outcome. Applied grants were already handled.
    pub(in crate::box_lease) fn not_granted(
        &mut self,
        context: &BoxDecisionContext<'_>,
        events: &[BoxEvent],
        error: &CommitError,
    ) {
        let is_unknown = matches!(error, CommitError::Unknown { .. });
        let may_be_tried_again =
            matches!(error, CommitError::Busy { .. } | CommitError::DiskFull { .. });
        for event in events {
            let Some(grant) = event.grant() else { continue };
            let Some((first, _)) = grant.leases.first() else { continue };
            // It is missing if it was applied meanwhile, or if leadership ended.
            let Some(id) = self.granting.remove(first) else { continue };
            if !is_unknown {
                self.end_granting(context, grant);
            }
            let now = context.now.monotonic;
            let has_time = self.waiters.get(id).is_some_and(|waiter| now < waiter.deadline());
            if may_be_tried_again && has_time {
                self.requeue(context, id);
            } else {
                self.end_waiter(id, error.clone().into());
            }
        }
    }

    /// The outcome of a grant is known.
    fn end_granting(&mut self, context: &BoxDecisionContext<'_>, grant: &NewGrant) {
        let Some(allocator) = self.allocators.get_mut(&grant.pool) else { return };
        let pool = context.table.pool(&grant.pool).ok();
        for (_, number) in &grant.leases {
            allocator.end_granting(pool, *number);
        }
    }

    /// A grant was applied.
    pub(in crate::box_lease) fn grant_applied(
        &mut self,
        context: &BoxDecisionContext<'_>,
        grant: &NewGrant,
    ) -> GrantFollowUp {
        self.end_granting(context, grant);
        let Some((first, _)) = grant.leases.first() else { return GrantFollowUp::Nothing };
        let granted_to = self.granting.remove(first);
        let waiter = match granted_to {
            Some(id) => Some(id),
            None => self.repeated(grant),
        };
        if let Some(id) = waiter {
            self.uncount(id);
        }
        for (id, _) in &grant.leases {
            self.start_term(context, *id);
        }
        let is_preparing = context.table.leases.get(first).is_some_and(|lease| !lease.is_held());
        match (waiter, is_preparing) {
            // It is unknown whether it was granted. The caller of a named request can look it up.
            (None, _) if grant.request.is_none() => GrantFollowUp::TakeBack,
            (None, false) => GrantFollowUp::Nothing,
            (waiter, true) => GrantFollowUp::Prepare(waiter),
            (Some(waiter), false) => GrantFollowUp::HandOut(waiter),
        }
    }

    /// The caller of a grant that was unknown, because the request was repeated meanwhile. It leaves the
    /// queue.
    fn repeated(&mut self, grant: &NewGrant) -> Option<WaiterId> {
        let id = self.waiters.of_request(grant.request?).ok().flatten()?;
        // A request with another running grant gets its answer when that grant is refused.
        self.waiters.get(id).filter(|waiter| waiter.stage == WaiterStage::Queued)?;
        self.waiters.deadlines.remove(&id);
        self.allocator(&grant.pool).queue.remove(id);
        Some(id)
    }

    /// A grant was refused when it was applied.
    pub(in crate::box_lease) fn grant_refused(
        &mut self,
        context: &BoxDecisionContext<'_>,
        grant: &NewGrant,
        refusal: &BoxRefusal,
    ) -> GrantFollowUp {
        self.end_granting(context, grant);
        let Some((first, _)) = grant.leases.first() else { return GrantFollowUp::Nothing };
        let Some(id) = self.granting.remove(first) else { return GrantFollowUp::Nothing };
        match refusal {
            // The decision used a state that has changed meanwhile.
            BoxRefusal::NotFree | BoxRefusal::NoSlot | BoxRefusal::IdInUse => {
                self.requeue(context, id);
                return GrantFollowUp::GrantAgain;
            }
            BoxRefusal::GrantedBefore => self.granted_before(context, id),
            refusal => self.end_waiter(id, refusal.clone().into()),
        }
        GrantFollowUp::Nothing
    }

    /// The request was granted under an earlier leader, or its grant was unknown.
    fn granted_before(&mut self, context: &BoxDecisionContext<'_>, id: WaiterId) {
        let Some(waiter) = self.take_waiter(id) else { return };
        let Some(request) = waiter.ask.request else { return };
        let answer = match context.table.prior_acquire(request) {
            // Taking them back has failed so far.
            Ok(PriorAcquire::Held(leases)) if self.are_taken_back(&leases) => {
                Err(BoxError::Busy { retry_after: AGAIN })
            }
            Ok(PriorAcquire::Held(leases)) => self.grant_of(context, &leases),
            Ok(PriorAcquire::Ended(refusal)) | Err(refusal) => Err(refusal.into()),
            Ok(PriorAcquire::Nothing | PriorAcquire::Preparing(_)) => {
                Err(BoxRefusal::GrantedBefore.into())
            }
        };
        let reached = waiter.answer(&answer);
        if let Ok(grant) = answer
            && let Some(first) = grant.leases.first()
        {
            *self.sharing.entry(first.id).or_insert(1) += reached;
        }
    }

    /// Answers the waiting callers with their leases. False if no caller gets them: the caller must take
    /// them back.
    pub(in crate::box_lease) fn hand_out(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: WaiterId,
        leases: &[LeaseId],
    ) -> bool {
        let Some(first) = leases.first() else { return true };
        let Some(waiter) = self.take_waiter(id) else { return false };
        let waited = context.now.monotonic.saturating_sub(waiter.came);
        let pool = waiter.ask.pool.clone();
        let answer = self.grant_of(context, leases);
        let is_granted = answer.is_ok();
        let reached = waiter.answer(&answer);
        if !is_granted {
            // One of them has ended, so no caller gets the others.
            return false;
        }
        let counts = self.counts(&pool);
        if reached == 0 {
            counts.left += 1;
            return false;
        }
        counts.served += 1;
        counts.waits.record(waited);
        if reached > 1 {
            self.sharing.insert(*first, reached);
        }
        true
    }
}

fn draw_leases(ids: &mut IdSource, count: u32) -> Result<Vec<LeaseId>, NoRandomness> {
    (0..count).map(|_| LeaseId::draw(ids)).collect()
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::{ClockReading, Millis};
    use reelyard_core::event::Epoch;
    use tokio::sync::{oneshot, watch};

    use super::*;
    use crate::box_lease::messages::{AcquireProgress, AcquireTicket, BoxLeaseRequest};
    use crate::box_lease::policy::memory::waiters::WaiterListener;
    use crate::box_lease::samples::{TERM, holder, p, table};
    use crate::box_lease::state::box_table::SharedTable;
    use crate::box_lease::state::pools::spec::PoolSpec;

    /// A leader of one pool of three boxes, with a request for two boxes in its queue.
    struct WaitingRequest {
        memory: BoxMemory,
        table: SharedTable,
        epoch: Epoch,
    }

    impl WaitingRequest {
        fn new() -> Self {
            let table = SharedTable::from(table(PoolSpec::of(0, 3)));
            let mut waiting =
                WaitingRequest { memory: BoxMemory::default(), table, epoch: Epoch(1) };
            waiting.memory.allocator(&p()).sync_all(waiting.table.read().pool(&p()).unwrap());
            let ask = BoxLeaseRequest { count: 2, ..BoxLeaseRequest::one(p(), holder()) };
            let terms = RequestedTerms { first: TERM, renewed: TERM };
            let (reply, _) = oneshot::channel();
            let (progress, _) = watch::channel(AcquireProgress::default());
            let listener = WaiterListener { ticket: AcquireTicket(1), reply, progress };
            let (memory, context) = waiting.at();
            memory.enqueue(&context, ask, terms, listener).unwrap();
            drop(context);
            waiting
        }

        fn at(&mut self) -> (&mut BoxMemory, BoxDecisionContext<'_>) {
            let now = ClockReading { wall: Millis(0), monotonic: Duration::ZERO };
            let table = self.table.read();
            (&mut self.memory, BoxDecisionContext { table, epoch: Some(self.epoch), now })
        }

        fn next_grants(&mut self, seed: u64) -> Vec<BoxEvent> {
            let (memory, context) = self.at();
            memory.next_grants(&context, &p(), None, usize::MAX, &mut IdSource::seeded(seed))
        }

        fn commit_leadership(&mut self) {
            let led = BoxEvent::Led { epoch: self.epoch, beyond: None };
            self.table.write().apply(Millis(0), &led).unwrap();
        }
    }

    #[test]
    fn nothing_is_granted_before_the_leadership_is_on_record() {
        let mut waiting = WaitingRequest::new();
        assert_eq!(waiting.next_grants(1), []);
        waiting.commit_leadership();
        assert_eq!(waiting.next_grants(1).len(), 1);
        // The request is in the queue no longer.
        assert_eq!(waiting.next_grants(1), []);
    }

    #[test]
    fn the_same_state_and_the_same_ids_give_the_same_grants() {
        let grants = |seed| {
            let mut waiting = WaitingRequest::new();
            waiting.commit_leadership();
            waiting.next_grants(seed)
        };
        assert_eq!(grants(1), grants(1));
        assert_ne!(grants(1), grants(2));
    }
}
