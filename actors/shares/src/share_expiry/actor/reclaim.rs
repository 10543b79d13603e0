//! The active side of expiry: ticks reclaim due shares, within the budget.

use std::time::Duration;

use actix::Context;
use reelyard_core::clock::Millis;
use reelyard_replication::{AppliedEvent, Outcomes, Owner, OwnerCommits, OwnerTicks};

use crate::share_expiry::{AT_ONCE, ShareEvent, ShareExpiry, ShareId, ShareOutcome, ShareTable};

/// How many commits of reclaimed shares may run: the journal writes one while the next ones are
/// prepared.
const UNDER_WAY: usize = 4;

impl ShareExpiry {
    /// Reclaims due shares within the budget.
    pub(in crate::share_expiry) fn reclaim(&mut self, now: Millis, ctx: &mut Context<Self>) {
        if self.replica.piece().paused().is_some() {
            return;
        }
        let began = self.clock.cost();
        if let Some(first) = self.timer.next(self.replica.piece()).filter(|first| *first <= now) {
            self.counters.ticks += 1;
            self.reclaim_late(now, now.since(first), ctx);
        }
        self.decision_time += self.clock.cost().saturating_sub(began);
    }

    /// Reclaims, if the most overdue share has this lag.
    fn reclaim_late(&mut self, now: Millis, lag: Duration, ctx: &mut Context<Self>) {
        let mut granted = self.budget.grant(self.clock.timer() - self.began, lag);
        while self.reclaiming < UNDER_WAY {
            let most = granted.min(AT_ONCE);
            let ids = match most {
                0 => Vec::new(),
                most => self.timer.due(now, most, self.replica.piece()),
            };
            if !ids.is_empty() {
                granted -= ids.len();
                self.set_out(ids, ctx);
            }
            let has_more = self.timer.next(self.replica.piece()).is_some_and(|first| first <= now);
            if !has_more {
                return;
            }
            if granted == 0 {
                self.counters.time_caps += 1;
                let wait = self.budget.wait(AT_ONCE / 4, lag);
                self.wake_after(wait.max(Duration::from_millis(1)), ctx);
                return;
            }
        }
    }

    /// Commits the reclaim of these shares.
    fn set_out(&mut self, ids: Vec<ShareId>, ctx: &mut Context<Self>) {
        self.budget.begin(ids.len());
        self.reclaiming += 1;
        let event = ShareEvent::Reclaimed { ids: ids.clone() };
        let asked = self.replica.unnamed_request(Self::NAME);
        // In another epoch the timer has restarted.
        self.commit_part(asked, vec![event], ctx, move |expiry, result, ctx| {
            expiry.reclaiming = expiry.reclaiming.saturating_sub(1);
            if result.is_err() {
                expiry.budget.returned(ids.len());
            }
            if !result.as_ref().is_ok_and(|outcomes| have_ended(outcomes, ids.len())) {
                // A share that is still live is due again: it was not reclaimed, or a clock was ahead.
                let ShareExpiry { replica, timer, .. } = expiry;
                for id in &ids {
                    replica.piece().look(*id, |share| timer.add(share));
                }
            }
            if result.is_ok() {
                // The timer puts this behind all waiting messages. A direct call would start one commit
                // after the other, and no other actor of this thread would run in between.
                expiry.wake_after(Duration::ZERO, ctx);
            }
        });
    }

    /// Sends the notices of shares that end soon.
    pub(in crate::share_expiry) fn notice(&mut self, now: Millis, ctx: &mut Context<Self>) {
        let Some(before) = self.policy.settings.notice_before else { return };
        let until = now.after(before);
        let ShareExpiry { notices, replica, .. } = self;
        let mut ids = notices.due(until, AT_ONCE, replica.piece());
        let has_more = ids.len() == AT_ONCE;
        let wants = |id: &ShareId| {
            let share =
                replica.piece().look(*id, |share| !share.is_noticed() && share.is_live(now));
            share.unwrap_or_default()
        };
        ids.retain(wants);
        if has_more {
            self.soon(ctx);
        }
        if ids.is_empty() {
            return;
        }
        let event = ShareEvent::Noticed { ids: ids.clone(), until };
        self.commit_then(vec![event], ctx, move |expiry, result, _| {
            if result.is_err() {
                let ShareExpiry { replica, notices, .. } = expiry;
                for id in &ids {
                    replica.piece().look(*id, |share| notices.add(share));
                }
            }
        });
    }

    /// Counts the reclaimed shares of an event.
    pub(in crate::share_expiry) fn record_reclaimed(
        &mut self,
        leads: bool,
        now: Millis,
        ended: u64,
        first: u64,
        next: u64,
    ) {
        if !leads {
            return;
        }
        self.counters.reclaimed += ended;
        self.backlog = self.backlog.saturating_sub(ended);
        let ShareExpiry { replica, lags, .. } = self;
        for (_, notification) in replica.piece().notifications_between(first, next) {
            if let Some(due) = notification.share.due().instant() {
                lags.record(now.since(due));
            }
        }
    }

    /// Subtracts the cost of an entry of reclaimed shares from the budget.
    pub(in crate::share_expiry) fn spend(
        &mut self,
        applied: &[AppliedEvent<ShareTable>],
        took: Duration,
    ) {
        let (mut reclaimed, mut others) = (0_usize, 0_usize);
        for AppliedEvent { event, result, .. } in applied {
            match (event, result) {
                (ShareEvent::Reclaimed { ids }, Ok(ShareOutcome::Ended { .. })) => {
                    reclaimed += ids.len();
                }
                _ => others += 1,
            }
        }
        if reclaimed > 0 && self.replica.epoch().is_some() {
            let part = reclaimed as f64 / (reclaimed + others) as f64;
            let decision_time = std::mem::take(&mut self.decision_time);
            self.budget.spent(reclaimed, decision_time + took.mul_f64(part));
        }
    }
}

/// Whether a commit ended at least this many shares.
fn have_ended(outcomes: &Outcomes<ShareTable>, count: usize) -> bool {
    let ended = outcomes.iter().map(|outcome| match outcome {
        Ok(ShareOutcome::Ended { ended, .. }) => *ended,
        _ => 0,
    });
    ended.sum::<u64>() == count as u64
}
