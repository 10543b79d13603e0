//! The waiting requests of all pools: with their terms and their callers. In memory.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use reelyard_core::event::RequestId;
use tokio::sync::{oneshot, watch};

use super::queue::{LeaseQueuePosition, WaiterId};
use super::schedule::KeyedDeadlines;
use super::terms::RequestedTerms;
use crate::box_lease::messages::{
    AcquireProgress, AcquireTicket, BoxError, BoxLeaseRequest, Grant,
};
use crate::box_lease::state::event::BoxRefusal;

/// One waiting request, including all its repetitions.
pub(in crate::box_lease) struct LeaseWaiter {
    pub(in crate::box_lease) ask: BoxLeaseRequest,
    pub(in crate::box_lease) terms: RequestedTerms,
    pub(in crate::box_lease) position: LeaseQueuePosition,
    /// When it arrived, by the monotonic clock.
    pub(in crate::box_lease) came: Duration,
    pub(in crate::box_lease) stage: WaiterStage,
    /// Whether the pool's queue counts its boxes.
    pub(in crate::box_lease) is_counted: bool,
    listeners: Vec<WaiterListener>,
}

/// How far a waiter has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::box_lease) enum WaiterStage {
    /// The request is in the queue.
    Queued,
    /// A grant for it is running.
    Granting,
    /// Its boxes are being made ready.
    Preparing,
}

/// One caller of a request.
pub(in crate::box_lease) struct WaiterListener {
    pub(in crate::box_lease) ticket: AcquireTicket,
    pub(in crate::box_lease) reply: oneshot::Sender<Result<Grant, BoxError>>,
    pub(in crate::box_lease) progress: watch::Sender<AcquireProgress>,
}

impl WaiterListener {
    /// Sends the answer. False if the caller has left.
    pub(in crate::box_lease) fn answer(self, answer: Result<Grant, BoxError>) -> bool {
        self.reply.send(answer).is_ok()
    }
}

impl LeaseWaiter {
    /// Whether a caller waits for an answer.
    pub(in crate::box_lease) fn has_listeners(&self) -> bool {
        !self.listeners.is_empty()
    }

    /// The end of its wait, by the monotonic clock.
    pub(in crate::box_lease) fn deadline(&self) -> Duration {
        self.came.saturating_add(self.ask.wait)
    }

    /// Sends the same answer to every caller. Answers how many received it.
    pub(in crate::box_lease) fn answer(self, answer: &Result<Grant, BoxError>) -> usize {
        let reached = self.listeners.into_iter().map(|listener| listener.answer(answer.clone()));
        reached.filter(|reached| *reached).count()
    }

    /// Sends every caller the progress.
    pub(in crate::box_lease) fn notify(&self, progress: AcquireProgress) {
        for listener in &self.listeners {
            listener.progress.send_if_modified(|last| {
                let is_news = *last != progress;
                *last = progress;
                is_news
            });
        }
    }

    /// Whether a caller watches the progress of the wait.
    pub(in crate::box_lease) fn is_watched(&self) -> bool {
        // A waiting caller holds one receiver.
        self.listeners.iter().any(|listener| listener.progress.receiver_count() > 1)
    }
}

/// All waiting requests.
#[derive(Default)]
pub(in crate::box_lease) struct LeaseWaiters {
    all: BTreeMap<WaiterId, LeaseWaiter>,
    by_ticket: HashMap<AcquireTicket, WaiterId>,
    /// By the names of their requests.
    by_request: HashMap<u64, WaiterId>,
    /// The times when they have waited long enough.
    pub(in crate::box_lease) deadlines: KeyedDeadlines<WaiterId>,
    last: u64,
}

impl LeaseWaiters {
    /// The id for the next request.
    pub(in crate::box_lease) fn next_id(&mut self) -> WaiterId {
        self.last += 1;
        WaiterId(self.last)
    }

    /// The waiting request with this name.
    pub(in crate::box_lease) fn of_request(
        &self,
        request: RequestId,
    ) -> Result<Option<WaiterId>, BoxRefusal> {
        let Some(id) = self.by_request.get(&request.name()) else { return Ok(None) };
        let is_same = self.all.get(id).is_some_and(|waiter| waiter.ask.request == Some(request));
        if is_same { Ok(Some(*id)) } else { Err(BoxRefusal::OtherRequest) }
    }

    /// Adds a waiting request.
    pub(in crate::box_lease) fn add(
        &mut self,
        id: WaiterId,
        waiter: LeaseWaiter,
        listener: WaiterListener,
    ) {
        if let Some(request) = waiter.ask.request {
            self.by_request.insert(request.name(), id);
        }
        self.all.insert(id, waiter);
        self.join(id, listener);
    }

    /// Another caller waits for its result, too.
    pub(in crate::box_lease) fn join(&mut self, id: WaiterId, listener: WaiterListener) {
        if let Some(waiter) = self.all.get_mut(&id) {
            self.by_ticket.insert(listener.ticket, id);
            if waiter.stage == WaiterStage::Preparing {
                listener.progress.send_replace(AcquireProgress::Preparing);
            }
            waiter.listeners.push(listener);
        }
    }

    /// A caller has left. Returns the request if it has no caller left.
    pub(in crate::box_lease) fn leave(&mut self, ticket: AcquireTicket) -> Option<WaiterId> {
        let id = self.by_ticket.remove(&ticket)?;
        let waiter = self.all.get_mut(&id)?;
        waiter.listeners.retain(|listener| listener.ticket != ticket);
        waiter.listeners.is_empty().then_some(id)
    }

    /// The requests whose time limit had passed at `now`, while their boxes are still being
    /// prepared.
    pub(in crate::box_lease) fn preparing_since(&self, now: Duration) -> Vec<WaiterId> {
        let waiting = self.all.iter().filter(|(_, waiter)| {
            waiter.stage == WaiterStage::Preparing && waiter.deadline() <= now
        });
        waiting.map(|(id, _)| *id).collect()
    }

    pub(in crate::box_lease) fn get(&self, id: WaiterId) -> Option<&LeaseWaiter> {
        self.all.get(&id)
    }

    pub(in crate::box_lease) fn get_mut(&mut self, id: WaiterId) -> Option<&mut LeaseWaiter> {
        self.all.get_mut(&id)
    }

    /// Removes a waiting request.
    pub(in crate::box_lease) fn remove(&mut self, id: WaiterId) -> Option<LeaseWaiter> {
        let waiter = self.all.remove(&id)?;
        self.deadlines.remove(&id);
        for listener in &waiter.listeners {
            self.by_ticket.remove(&listener.ticket);
        }
        if let Some(request) = waiter.ask.request {
            self.by_request.remove(&request.name());
        }
        Some(waiter)
    }

    /// Removes all waiting requests. Returns them, the earliest first.
    pub(in crate::box_lease) fn take_all(&mut self) -> Vec<LeaseWaiter> {
        self.by_ticket.clear();
        self.by_request.clear();
        self.deadlines.clear();
        std::mem::take(&mut self.all).into_values().collect()
    }

    /// How many requests wait, in the queue or for a running grant.
    pub(in crate::box_lease) fn len(&self) -> usize {
        self.all.len()
    }
}

impl LeaseWaiter {
    /// A request that has just arrived.
    pub(in crate::box_lease) fn new(
        ask: BoxLeaseRequest,
        terms: RequestedTerms,
        position: LeaseQueuePosition,
        came: Duration,
        stage: WaiterStage,
    ) -> Self {
        let is_counted = stage != WaiterStage::Preparing;
        LeaseWaiter { ask, terms, position, came, stage, is_counted, listeners: Vec::new() }
    }
}
