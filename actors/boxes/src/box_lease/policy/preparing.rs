//! Prepares the boxes of a request. If one fails, the request goes back to its place and gets other
//! boxes.

use std::time::Duration;

use reelyard_core::event::RequestId;
use reelyard_protocol::boxes::{FenceToken, HookOutput, LeaseId};

use super::decision_context::BoxDecisionContext;
use super::hosts::OVERDUE_AFTER;
use super::memory::BoxMemory;
use super::memory::preparing_groups::PreparingGroup;
use super::memory::queue::{LeaseQueuePosition, WaiterId};
use super::memory::terms::RequestedTerms;
use super::memory::waiters::{LeaseWaiter, WaiterListener, WaiterStage};
use crate::box_lease::messages::{AcquireProgress, BoxLeaseRequest};
use crate::box_lease::state::event::{BoxEvent, BoxRefusal};

/// A lease whose box was being prepared under an earlier leader.
#[derive(Clone, Copy, Debug)]
pub(in crate::box_lease) struct PreparingLease {
    pub(in crate::box_lease) token: FenceToken,
    pub(in crate::box_lease) id: LeaseId,
    pub(in crate::box_lease) request: Option<RequestId>,
    pub(in crate::box_lease) term: Duration,
}

impl BoxMemory {
    /// Boxes were granted that must be prepared first. Answers when their request is overdue, by the
    /// monotonic clock.
    pub(in crate::box_lease) fn prepare(
        &mut self,
        context: &BoxDecisionContext<'_>,
        waiter: Option<WaiterId>,
        leases: &[LeaseId],
        term: Duration,
    ) -> Option<Duration> {
        if let Some(waiter) = waiter.and_then(|id| self.waiters.get_mut(id)) {
            waiter.stage = WaiterStage::Preparing;
            waiter.notify(AcquireProgress::Preparing);
        }
        self.groups.add(waiter, leases, term);
        self.watch_overdue(context, waiter?)
    }

    /// A request whose boxes are being prepared is checked when its time limit passes. Answers when.
    fn watch_overdue(
        &mut self,
        context: &BoxDecisionContext<'_>,
        id: WaiterId,
    ) -> Option<Duration> {
        let deadline = self.waiters.get(id)?.deadline();
        let at = deadline.max(context.now.monotonic).saturating_add(OVERDUE_AFTER);
        self.waiters.deadlines.set(id, at);
        Some(at)
    }

    /// A request is repeated while its boxes are being prepared. Answers when it is overdue.
    pub(in crate::box_lease) fn await_ready(
        &mut self,
        context: &BoxDecisionContext<'_>,
        ask: BoxLeaseRequest,
        leases: &[LeaseId],
        listener: WaiterListener,
    ) -> Option<Duration> {
        let id = self.waiters.next_id();
        let first = leases.first().and_then(|lease| self.groups.group_of.get(lease)).copied();
        let group = first.and_then(|first| self.groups.groups.get_mut(&first));
        let Some(group) = group else {
            // The boxes are about to be taken back, or to be prepared again.
            listener.answer(Err(BoxRefusal::NotReady.into()));
            return None;
        };
        // An earlier waiter no longer exists, because this one would have joined it.
        group.waiter = Some(id);
        let term = group.term;
        self.groups.of_waiter.extend(first.map(|first| (id, first)));
        let lease = first.and_then(|first| context.table.leases.get(&first));
        let step = match context.table.pool(&ask.pool) {
            Ok(pool) => pool.spec().priority_ages,
            Err(_) => Duration::ZERO,
        };
        let renewed = match lease {
            Some(lease) => lease.ttl,
            None => term,
        };
        let terms = RequestedTerms { first: term, renewed };
        let came = context.now.monotonic;
        let position = LeaseQueuePosition::of(id, ask.priority, came, step);
        let waiter = LeaseWaiter::new(ask, terms, position, came, WaiterStage::Preparing);
        self.waiters.add(id, waiter, listener);
        self.watch_overdue(context, id)
    }

    /// Sorts leases whose boxes were being prepared under an earlier leader, by their requests. Callers
    /// of named requests may return for them. The others are taken back.
    pub(in crate::box_lease) fn sort_preparing(
        &mut self,
        mut preparing: Vec<PreparingLease>,
    ) -> Vec<(Vec<LeaseId>, Duration)> {
        preparing.sort_unstable_by_key(|lease| lease.token);
        let mut named = std::collections::BTreeMap::new();
        for PreparingLease { id, request, term, .. } in preparing {
            match request {
                None => {
                    self.orphans.insert(id);
                }
                Some(request) => {
                    let group = named.entry(request).or_insert_with(|| (Vec::new(), term));
                    group.0.push(id);
                }
            }
        }
        named.into_values().collect()
    }

    /// The events that record ready boxes, each with the first lease of its group.
    pub(in crate::box_lease) fn take_ready(&mut self) -> Vec<(LeaseId, BoxEvent)> {
        let mut ready = Vec::new();
        for first in self.groups.take_ready() {
            if let Some(group) = self.groups.groups.get(&first) {
                let (leases, term) = (group.leases.clone(), group.term);
                ready.push((first, BoxEvent::Prepared { leases, term }));
            }
        }
        ready
    }

    /// The commit of a ready group returned without an outcome. It is repeated, unless the group has
    /// ended.
    pub(in crate::box_lease) fn not_ready(&mut self, first: LeaseId) {
        if self.groups.groups.contains_key(&first) {
            self.groups.ready.insert(first);
        }
    }

    /// A box could not be made ready, or its host did not answer: `output` is then none. No lease of its
    /// request reaches a holder.
    pub(in crate::box_lease) fn init_failed(
        &mut self,
        id: LeaseId,
        output: Option<HookOutput>,
    ) -> Option<(PreparingGroup, Vec<BoxEvent>)> {
        let group = self.groups.dissolve(id)?;
        let mut others = group.leases.clone();
        if output.is_some() {
            others.retain(|other| *other != id);
        }
        let mut events = Vec::new();
        events.extend(output.map(|output| BoxEvent::InitFailed { lease: id, output }));
        if !others.is_empty() {
            events.push(BoxEvent::NotTaken { leases: others });
        }
        Some((group, events))
    }

    /// Another request ended a lease while its box was being prepared. Answers the leases to take back.
    pub(in crate::box_lease) fn ended_while_preparing(
        &mut self,
        id: LeaseId,
        refusal: BoxRefusal,
    ) -> Vec<LeaseId> {
        let Some(group) = self.groups.dissolve(id) else { return Vec::new() };
        if let Some(waiter) = group.waiter {
            self.end_waiter(waiter, refusal.into());
        }
        group.leases.into_iter().filter(|other| *other != id).collect()
    }
}
