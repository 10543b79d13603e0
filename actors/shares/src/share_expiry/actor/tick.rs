//! The actor's own ticks, and its work after journal notifications.

use std::time::Duration;

use actix::{Context, Handler};
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_replication::{
    AppliedEvent, JournalCommand, Outcomes, Owner, OwnerCommands, OwnerCommits, OwnerTicks,
    Replicated, RequestContext,
};

use super::watch_clock::{COUNTED, COUNTED_EACH_TURN};
use crate::share_expiry::views::changes::changes_of;
use crate::share_expiry::{
    ShareChange, ShareDueKey, ShareEvent, ShareExpiry, ShareOutcome, ShareRefusal, ShareTable,
    ShareView,
};

/// The longest sleep, so that jumps of the clock and suspends are noticed.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The shortest pause between ticks: shares that are due within it are reclaimed together.
const SHORTEST_SLEEP: Duration = Duration::from_millis(2);

/// How often the upkeep runs: shorter than the longest sleep, so that each tick after one does it.
const UPKEEP: Duration = Duration::from_millis(500);

impl ShareExpiry {
    /// Decides all due work.
    fn decide(&mut self, ctx: &mut Context<Self>) {
        let now = self.now();
        self.reclaim(now, ctx);
        self.record_time(now, ctx);
        self.notice(now, ctx);
        let is_upkeep = self.is_upkeep();
        if is_upkeep || self.backlog < COUNTED_EACH_TURN {
            self.backlog = self.replica.piece().backlog(now, COUNTED);
        }
        if is_upkeep {
            self.upkeep_at = Some(self.clock.timer());
            self.upkeep(ctx);
        }
        self.wake_for_next(now, ctx);
    }

    /// Whether the upkeep is due.
    pub(in crate::share_expiry) fn is_upkeep(&self) -> bool {
        self.upkeep_at.is_none_or(|last| self.clock.timer() - last >= UPKEEP)
    }

    /// Runs the upkeep, and repeats it when it is done.
    pub(in crate::share_expiry) fn upkeep(&mut self, ctx: &mut Context<Self>) {
        let moment = self.moment();
        let (policy, context) = self.at(moment);
        let events = policy.upkeep(context);
        for event in policy.moves_on(context) {
            self.commit_move(event, ctx);
        }
        self.commit_then(events, ctx, |expiry, outcomes, ctx| {
            if outcomes.is_ok() {
                // There may be more work than one event can do.
                expiry.upkeep(ctx);
            }
        });
    }

    fn wake_for_next(&mut self, now: Millis, ctx: &mut Context<Self>) {
        let ShareExpiry { timer, notices, replica, policy, .. } = self;
        let table = replica.piece();
        let notice = policy
            .settings
            .notice_before
            .and_then(|before| notices.next(table).map(|deadline| deadline.before(before)));
        let reclaim = match table.paused() {
            None => timer.next(table),
            // Due shares are counted and recorded.
            Some(_) => table.next_due_after(now),
        };
        // Overdue shares wait for the budget or for a commit, which both wake the actor.
        let next = [reclaim.filter(|at| *at > now), notice].into_iter().flatten().min();
        if let Some(at) = next {
            self.wake_after(at.since(now).max(SHORTEST_SLEEP), ctx);
        }
    }

    /// Commits one event of a move, and then the next ones.
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
        self.commit_part(asked, vec![event], ctx, move |expiry, result, ctx| {
            if result.is_ok() {
                expiry.upkeep(ctx);
            } else if let Some(number) = settles {
                // The ShareFilesActor checks the disk again.
                expiry.ends.remove(&number);
            }
        });
    }

    /// This node becomes the leader. It reclaims overdue shares first.
    fn become_leader(&mut self, ctx: &mut Context<Self>) {
        self.ends.clear();
        self.timer.start(ShareDueKey::from(Millis(i64::MIN)));
        self.start_notices();
        self.reclaiming = 0;
        self.upkeep_at = None;
        self.run_tick(ctx);
    }

    /// Looks again for shares that will end soon. No notice is sent for shares that are already due.
    pub(in crate::share_expiry) fn start_notices(&mut self) {
        self.notices.start(ShareDueKey::from(Millis(self.now().0.saturating_add(1))));
    }

    /// Follows the deadlines and uses in applied events.
    fn on_events_applied(&mut self, applied: &[AppliedEvent<ShareTable>], ctx: &mut Context<Self>) {
        let leads = self.replica.epoch().is_some();
        let now = self.now();
        let mut nearest: Option<Millis> = None;
        for AppliedEvent { event, result, .. } in applied {
            if let ShareEvent::Ended { ids, cut: true, .. } = event {
                self.views.cut(ids, self.clock.timer());
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
                    self.record_reclaimed(leads, now, *ended, *first, *next);
                    continue;
                }
                (ShareEvent::Resumed { .. }, _) => {
                    nearest = Some(now);
                    continue;
                }
                _ => continue,
            };
            if leads {
                let ShareExpiry { replica, timer, notices, policy, .. } = self;
                let there = replica.piece().len();
                let due = replica.piece().look(id, |share| {
                    timer.add(share);
                    policy.eviction.add(share, there);
                    if !share.is_noticed() {
                        notices.add(share);
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

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.handle_journal_command(command, ctx);
    }
}

impl Owner for ShareExpiry {
    type Piece = ShareTable;
    type View = ShareView;
    type Change = ShareChange;

    const NAME: &'static str = "share-expiry";
    const SUBJECT: &'static str = "shares";

    fn shell(&mut self) -> &mut Replicated<ShareTable, ShareView, ShareChange> {
        &mut self.replica
    }

    fn commit_time(&mut self) -> Millis {
        self.now()
    }

    fn batch_delay(&self) -> Duration {
        SHORTEST_SLEEP
    }

    fn on_applied(&mut self, entry: &[AppliedEvent<ShareTable>], ctx: &mut Context<Self>) {
        self.on_time_applied(entry);
        self.on_events_applied(entry, ctx);
        self.notify_move_ends(entry);
    }

    fn on_installed(&mut self, _: &mut Context<Self>) {
        self.policy.eviction.clear();
    }

    fn on_leader_started(&mut self, epoch: Epoch, ctx: &mut Context<Self>) {
        tracing::info!(%epoch, shares = self.replica.piece().len(), "leading: this node decides on shares");
        self.become_leader(ctx);
    }

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {
        self.policy.eviction.clear();
        self.ends.clear();
    }

    fn attach_readers(&mut self) {
        self.attach_table();
    }

    fn build_view(&mut self) -> ShareView {
        self.publish_moves();
        self.view()
    }

    fn on_view_published(&mut self) {
        self.views.wake_hooks();
    }

    fn changes_of(&mut self, entry: &[AppliedEvent<ShareTable>]) -> Vec<(Millis, ShareChange)> {
        let table = self.replica.piece();
        entry.iter().flat_map(|applied| changes_of(table, applied)).collect()
    }

    fn record_cost(&mut self, entry: &[AppliedEvent<ShareTable>], cost: Duration) {
        self.spend(entry, cost);
    }

    fn begin_tick(&mut self, ctx: &mut Context<Self>) {
        self.watch_clock(self.moment());
        self.views.prune_revocations(self.clock.timer());
        self.views.prune_index(self.clock.timer());
        self.wake_after(LONGEST_SLEEP, ctx);
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        self.decide(ctx);
    }
}

/// The first refusal among the outcomes of a commit.
pub(in crate::share_expiry) fn refusal(outcomes: &Outcomes<ShareTable>) -> Option<ShareRefusal> {
    outcomes.iter().find_map(|outcome| outcome.as_ref().err().cloned())
}
