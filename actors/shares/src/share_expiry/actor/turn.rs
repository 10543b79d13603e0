//! The actor's own turns, and its work after journal notifications.

use std::time::{Duration, Instant};

use actix::{ActorFutureExt, AsyncContext, Context, Handler, WrapFuture};
use reelyard_core::clock::{Millis, time_of_thread};
use reelyard_core::turns::{ScheduledTurns, TurnTimer};
use reelyard_replication::{
    AppliedEvent, CommitBackoff, CommitError, CommitSettlement, JournalCommand, Outcomes,
    ReplicaHandle, RequestContext, StateChange,
};

use super::watch_clock::{COUNTED, COUNTED_EACH_TURN};
use crate::share_expiry::{
    ShareDueKey, ShareEvent, ShareExpiry, ShareOutcome, ShareRefusal, ShareTable,
};

/// The name under which the actor commits its own work.
const MYSELF: &str = "share-expiry";

/// The longest sleep: jumps of the clock and suspends are noticed after it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The shortest pause between turns: shares that are due within it are reclaimed together.
const SHORTEST_SLEEP: Duration = Duration::from_millis(2);

/// How often the upkeep runs: shorter than the longest sleep, so that each turn after one does it.
const UPKEEP: Duration = Duration::from_millis(500);

impl ScheduledTurns for ShareExpiry {
    fn next_turn(&mut self) -> &mut TurnTimer {
        &mut self.next_turn
    }

    fn take_turn(&mut self, ctx: &mut Context<Self>) {
        self.turn(ctx);
    }
}

impl ShareExpiry {
    /// Schedules a turn soon.
    pub(in crate::share_expiry) fn soon(&mut self, ctx: &mut Context<Self>) {
        self.wake_after(SHORTEST_SLEEP, ctx);
    }

    /// Does the work that is due now.
    pub(in crate::share_expiry) fn turn(&mut self, ctx: &mut Context<Self>) {
        let moment = self.moment();
        self.watch_clock(moment);
        self.board.prune_cuts();
        let now = moment.now;
        self.wake_after(LONGEST_SLEEP, ctx);
        if self.replica.epoch().is_none() {
            self.publish_view();
            return;
        }
        if let Some(left) = self.hold.left(now) {
            self.wake_after(left, ctx);
            self.publish_view();
            return;
        }
        self.reclaim(now, ctx);
        self.note_time(now, ctx);
        self.notice(now, ctx);
        let is_upkeep = self.is_upkeep();
        if is_upkeep || self.backlog < COUNTED_EACH_TURN {
            self.backlog = self.replica.piece().backlog(now, COUNTED);
        }
        if is_upkeep {
            self.upkeep_at = Some(Instant::now());
            self.upkeep(ctx);
        }
        self.wake_for_next(now, ctx);
        self.publish_view();
    }

    /// Whether the upkeep is due.
    pub(in crate::share_expiry) fn is_upkeep(&self) -> bool {
        self.upkeep_at.is_none_or(|last| last.elapsed() >= UPKEEP)
    }

    /// Runs the upkeep, and again once it is done.
    pub(in crate::share_expiry) fn upkeep(&mut self, ctx: &mut Context<Self>) {
        let moment = self.moment();
        let (desk, standpoint) = self.at(moment);
        let events = desk.upkeep(standpoint);
        for event in desk.moves_on(standpoint) {
            self.commit_move(event, ctx);
        }
        self.commit(events, ctx, |expiry, outcomes, ctx| {
            if outcomes.is_ok() {
                // There may be more of it than one event takes.
                expiry.upkeep(ctx);
            }
        });
    }

    fn wake_for_next(&mut self, now: Millis, ctx: &mut Context<Self>) {
        let ShareExpiry { timer, notices, replica: seat, desk, .. } = self;
        let table = seat.piece();
        let notice = desk
            .settings
            .notice_before
            .and_then(|before| notices.next(table).map(|deadline| deadline.before(before)));
        let reclaim = match table.paused() {
            None => timer.next(table),
            // Due shares are counted, and go on record.
            Some(_) => table.next_due_after(now),
        };
        // Overdue shares wait for the budget or for a commit, which both wake the actor.
        let next = [reclaim.filter(|at| *at > now), notice].into_iter().flatten().min();
        if let Some(at) = next {
            self.wake_after(at.since(now).max(SHORTEST_SLEEP), ctx);
        }
    }

    /// Commits events of the actor's own, cut to entries.
    pub(in crate::share_expiry) fn commit(
        &mut self,
        events: Vec<ShareEvent>,
        ctx: &mut Context<Self>,
        then: impl Fn(&mut Self, Result<Outcomes<ShareTable>, CommitError>, &mut Context<Self>)
        + Clone
        + 'static,
    ) {
        let now = self.now();
        for events in ReplicaHandle::<ShareTable>::parts(events) {
            let committing = self.replica.commit(now, RequestContext::by_itself(MYSELF), events);
            let then = then.clone();
            ctx.spawn(committing.into_actor(self).map(move |settlement, expiry, ctx| {
                let settled = expiry.on_own_commit(settlement, ctx);
                then(expiry, settled, ctx);
            }));
        }
    }

    /// Commits one event of a move, and the next ones once that is done.
    pub(in crate::share_expiry) fn commit_as(
        &mut self,
        asked: RequestContext,
        event: ShareEvent,
        ctx: &mut Context<Self>,
    ) {
        let settles = match &event {
            ShareEvent::MoveSettled { number, .. } => Some(*number),
            _ => None,
        };
        let committing = self.replica.commit(self.now(), asked, vec![event]);
        ctx.spawn(committing.into_actor(self).map(move |settlement, expiry, ctx| {
            if expiry.on_own_commit(settlement, ctx).is_ok() {
                expiry.upkeep(ctx);
            } else if let Some(number) = settles {
                // The watcher of the disk looks again.
                expiry.ends.remove(&number);
            }
        }));
    }

    /// Handles a returned commit of a request: its error goes to the caller, and does not pause reclaim.
    pub(in crate::share_expiry) fn answered(
        &mut self,
        settlement: CommitSettlement<ShareTable>,
    ) -> Result<Outcomes<ShareTable>, CommitError> {
        let settled = self.replica.settle(settlement);
        self.counters.uncommitted += u64::from(settled.is_err());
        settled
    }

    /// Takes a commit of this actor's own that came back.
    pub(in crate::share_expiry) fn on_own_commit(
        &mut self,
        settlement: CommitSettlement<ShareTable>,
        ctx: &mut Context<Self>,
    ) -> Result<Outcomes<ShareTable>, CommitError> {
        let settled = self.replica.settle(settlement);
        match &settled {
            Ok(_) => {
                if self.hold.committed() {
                    tracing::info!("commits of shares work again");
                }
            }
            Err(error) => {
                self.counters.uncommitted += 1;
                let held = self.hold.uncommitted(error, self.now());
                if held.is_news {
                    tracing::warn!(%error, "commit of shares returned without an outcome");
                }
                self.wake_after(held.pause, ctx);
            }
        }
        settled
    }

    /// This node is the leader from now on: overdue shares go first.
    fn become_leader(&mut self, ctx: &mut Context<Self>) {
        self.show_table(true);
        // Commits of another epoch say nothing about this one.
        self.hold = CommitBackoff::default();
        self.timer.start(ShareDueKey::from(Millis(i64::MIN)));
        self.start_notices();
        self.reclaiming = 0;
        self.upkeep_at = None;
        self.turn(ctx);
    }

    /// Looks again for shares that will end soon. No notice is sent for shares that are already due.
    pub(in crate::share_expiry) fn start_notices(&mut self) {
        self.notices.start(ShareDueKey::from(Millis(self.now().0.saturating_add(1))));
    }

    /// Follows the deadlines and uses in applied events.
    fn on_applied(&mut self, applied: &[AppliedEvent<ShareTable>], ctx: &mut Context<Self>) {
        let leads = self.replica.epoch().is_some();
        let now = self.now();
        let mut nearest: Option<Millis> = None;
        for AppliedEvent { event, result, .. } in applied {
            if let ShareEvent::Ended { ids, cut: true, .. } = event {
                self.board.cut(ids);
            }
            let id = match (event, result) {
                (_, Err(_)) => {
                    self.counters.refused += u64::from(leads);
                    continue;
                }
                (_, Ok(ShareOutcome::Created { id })) => *id,
                (ShareEvent::Changed { id, .. }, _) => *id,
                (
                    ShareEvent::Taken { id, .. } | ShareEvent::TakenInPart { id, .. },
                    Ok(ShareOutcome::Taken { exhausted: Some(_), .. }),
                ) => *id,
                (ShareEvent::Reclaimed { .. }, Ok(ShareOutcome::Ended { ended, first, next })) => {
                    self.note_reclaimed(leads, now, *ended, *first, *next);
                    continue;
                }
                (ShareEvent::Resumed { .. }, _) => {
                    nearest = Some(now);
                    continue;
                }
                _ => continue,
            };
            if leads {
                let ShareExpiry { replica: seat, timer, notices, desk, .. } = self;
                let there = seat.piece().len();
                let due = seat.piece().look(id, |share| {
                    timer.note(share);
                    desk.eviction.note(share, there);
                    if !share.is_noticed() {
                        notices.note(share);
                    }
                    share.due().instant()
                });
                nearest = [nearest, due.flatten()].into_iter().flatten().min();
            }
        }
        if let Some(at) = nearest.filter(|_| leads) {
            self.wake_after(at.since(now).clamp(SHORTEST_SLEEP, LONGEST_SLEEP), ctx);
        }
    }
}

impl Handler<JournalCommand> for ShareExpiry {
    type Result = ();

    fn handle(&mut self, order: JournalCommand, ctx: &mut Context<Self>) {
        let began = time_of_thread();
        match self.replica.handle_command(order) {
            StateChange::Applied(applied) => {
                self.follow_time(&applied);
                self.on_applied(&applied, ctx);
                self.notify_move_ends(&applied);
                self.publish_changes(&applied);
                self.spend(&applied, time_of_thread().saturating_sub(began));
                self.publish_view();
            }
            StateChange::Installed => {
                self.desk.eviction.clear();
                self.show_table(false);
                self.publish_view();
            }
            StateChange::LeaderStarted(epoch) => {
                tracing::info!(%epoch, shares = self.replica.piece().len(), "leading: this node decides on shares");
                self.become_leader(ctx);
            }
            StateChange::LeaderStopped => {
                self.desk.eviction.clear();
                self.ends.clear();
                self.publish_view();
            }
            StateChange::Nothing => {}
        }
    }
}

/// The first refusal among the outcomes of a commit.
pub(in crate::share_expiry) fn refusal(outcomes: &Outcomes<ShareTable>) -> Option<ShareRefusal> {
    outcomes.iter().find_map(|outcome| outcome.as_ref().err().cloned())
}
