//! Granting boxes to waiting requests, and taking back leases without a caller.

use actix::Context;
use reelyard_protocol::boxes::{LeaseId, PoolName};
use reelyard_replication::{CommitError, OwnerCommits, OwnerTicks, ReplicaHandle};

use crate::box_lease::policy::granting::GrantFollowUp;
use crate::box_lease::policy::memory::queue::WaiterId;
use crate::box_lease::state::event::{BoxEvent, BoxOutcome, BoxRefusal, NewGrant};
use crate::box_lease::{BoxLease, SharedTable};

/// The name under which the actor commits its own work.
pub(in crate::box_lease) const MYSELF: &str = "box-lease";

impl BoxLease {
    /// Grants free boxes to the waiting requests.
    pub(in crate::box_lease) fn grant_waiting(&mut self, pool: &PoolName, ctx: &mut Context<Self>) {
        if self.is_held_up() {
            return;
        }
        let (memory, context, ids) = self.at_with_ids();
        let events = memory.next_grants(&context, pool, None, usize::MAX, ids);
        drop(context);
        for events in ReplicaHandle::<SharedTable>::parts(events) {
            let (asked, grants) = (self.replica.unnamed_request(MYSELF), events.clone());
            self.commit_part(asked, events, ctx, move |actor, result, ctx| {
                if let Err(error) = result {
                    actor.not_granted(&grants, &error, ctx);
                }
            });
        }
    }

    /// A commit of grants has no outcome.
    pub(in crate::box_lease) fn not_granted(
        &mut self,
        events: &[BoxEvent],
        error: &CommitError,
        ctx: &mut Context<Self>,
    ) {
        self.policy(|memory, at| memory.not_granted(at, events, error));
        self.soon(ctx);
    }

    /// A grant was applied, or refused when it was applied.
    pub(in crate::box_lease) fn on_grant_applied(
        &mut self,
        grant: &NewGrant,
        result: &Result<BoxOutcome, BoxRefusal>,
        ctx: &mut Context<Self>,
    ) {
        let follow_up = self.policy(|memory, at| match result {
            Ok(_) => memory.grant_applied(at, grant),
            Err(refusal) => memory.grant_refused(at, grant, refusal),
        });
        let leases: Vec<LeaseId> = grant.leases.iter().map(|(id, _)| *id).collect();
        match follow_up {
            GrantFollowUp::Nothing => {}
            GrantFollowUp::GrantAgain => self.soon(ctx),
            GrantFollowUp::TakeBack => self.return_leases(leases, ctx),
            GrantFollowUp::Prepare(waiter) => self.prepare(waiter, leases, grant.term, ctx),
            GrantFollowUp::HandOut(waiter) => self.hand_out(waiter, leases, ctx),
        }
    }

    /// Answers the waiting callers with their leases. If no caller is left, the leases are taken
    /// back.
    pub(in crate::box_lease) fn hand_out(
        &mut self,
        waiter: WaiterId,
        leases: Vec<LeaseId>,
        ctx: &mut Context<Self>,
    ) {
        let is_handed_out = self.policy(|memory, at| memory.hand_out(at, waiter, &leases));
        if !is_handed_out {
            self.return_leases(leases, ctx);
        }
    }

    /// Takes back leases that no caller knows.
    pub(in crate::box_lease) fn return_leases(
        &mut self,
        leases: Vec<LeaseId>,
        ctx: &mut Context<Self>,
    ) {
        if leases.is_empty() {
            return;
        }
        let event = BoxEvent::NotTaken { leases: leases.clone() };
        self.memory.taking_back.extend(leases.iter().copied());
        self.commit_then(vec![event], ctx, move |actor, result, ctx| {
            // A commit without an outcome may still be applied: taking back an ended lease changes
            // nothing.
            if result.is_ok() {
                // A lease that had already ended is not reported as ending now.
                actor.memory.taking_back.retain(|id| !leases.contains(id));
            } else if actor.replica.epoch().is_some() {
                actor.memory.orphans.extend(leases.iter().copied());
                actor.soon(ctx);
            }
        });
    }
}
