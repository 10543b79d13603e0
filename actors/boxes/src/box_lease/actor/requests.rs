//! The general parts of a request to the BoxLeaseActor, and requests to the actor itself.

use actix::{Context, Handler, MessageResult};
use reelyard_core::actor_parts::ChangeSettings;
use reelyard_core::event::RequestId;
use reelyard_replication::{Outcomes, OwnerReply, OwnerRequests, OwnerTicks, RequestContext};

use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal};
use crate::box_lease::{BoxError, BoxLease, BoxLeaseSettings, ProcessDueBoxes, SharedTable};

pub(super) type BoxReply<T> = OwnerReply<BoxLease, T, BoxError>;

/// The outcome of a commit's first event.
pub(super) fn first(outcomes: Outcomes<SharedTable>) -> Result<BoxOutcome, BoxRefusal> {
    outcomes.into_iter().next().unwrap_or(Ok(BoxOutcome::AlreadySo))
}

impl BoxLease {
    /// A request of this caller, which is remembered if it has an id.
    pub(super) fn asked(&mut self, by: &str, request: Option<RequestId>) -> RequestContext {
        match request {
            Some(request) => RequestContext::by_request(by, request),
            None => self.replica.unnamed_request(by),
        }
    }

    /// Answers a request: decides and commits it, and reads the outcome of its first event.
    pub(super) fn answer_once<T: 'static>(
        &mut self,
        (asked_by, request): (&str, Option<RequestId>),
        decide: impl FnOnce(&mut Self) -> Result<Vec<BoxEvent>, BoxError>,
        read: impl FnOnce(&Self, BoxOutcome) -> Result<T, BoxError> + 'static,
    ) -> BoxReply<T> {
        let asked = self.asked(asked_by, request);
        self.answer_request(asked, decide, |actor, outcomes| read(actor, first(outcomes)?))
    }
}

impl Handler<ProcessDueBoxes> for BoxLease {
    type Result = MessageResult<ProcessDueBoxes>;

    fn handle(&mut self, _: ProcessDueBoxes, ctx: &mut Context<Self>) -> Self::Result {
        let leading = self.replica.leading().map(|_| {
            self.upkeep_at = None;
            self.run_tick(ctx);
        });
        MessageResult(leading)
    }
}

impl Handler<ChangeSettings<BoxLeaseSettings>> for BoxLease {
    type Result = ();

    fn handle(&mut self, change: ChangeSettings<BoxLeaseSettings>, ctx: &mut Context<Self>) {
        self.memory.settings = change.0;
        self.upkeep_at = None;
        self.soon(ctx);
    }
}
