//! The actor and its clock: it records the time, and reports a wrong clock.

use std::time::Duration;

use actix::{Context, Handler};
use reelyard_core::clock::Millis;
use reelyard_replication::{
    AppliedEvent, CommitError, OwnerCommits, OwnerReply, OwnerRequests, OwnerTicks, RequestContext,
    reply_now,
};
use tokio::time::Instant;

use crate::share_expiry::{
    ClockStep, ClockTrouble, ConfirmClock, ShareEvent, ShareExpiry, ShareMoment, ShareTable,
};

/// The largest number of due shares that are counted for the backlog.
pub(in crate::share_expiry) const COUNTED: usize = 1_000_000;

/// A backlog below this is counted in each tick, a larger one in each upkeep.
pub(in crate::share_expiry) const COUNTED_EACH_TURN: u64 = 1000;

/// How often the actor records that a share has become due while reclaim is paused.
const DUE_RECORDED_EVERY: Duration = Duration::from_secs(1);

impl ShareExpiry {
    /// Records the time if no other commit does: when a share has become due while reclaim is paused, and at
    /// intervals.
    pub(in crate::share_expiry) fn record_time(&mut self, now: Millis, ctx: &mut Context<Self>) {
        let is_recent = |recorded: Instant| self.clock.timer() - recorded < DUE_RECORDED_EVERY;
        let is_recent = self.time_recorded.is_some_and(is_recent);
        let moment = ShareMoment { now, ..self.moment() };
        let is_reclaiming = self.reclaiming > 0;
        let (_, context) = self.at(moment);
        if !is_reclaiming && context.must_record_time(is_recent) {
            self.time_recorded = Some(self.clock.timer());
            self.commit(vec![ShareEvent::TimeRecorded], ctx);
        }
    }

    /// If another node decides, its time is used.
    pub(in crate::share_expiry) fn on_time_applied(
        &mut self,
        applied: &[AppliedEvent<ShareTable>],
    ) {
        if self.replica.epoch().is_some() || !self.replica.is_caught_up() {
            return;
        }
        let was_set =
            |one: &AppliedEvent<ShareTable>| matches!(one.event, ShareEvent::TimeSet { .. });
        if applied.iter().any(was_set) {
            self.views.set_time(&self.clock);
        }
        self.views.start_time(self.replica.piece().time(), &self.clock);
    }

    /// Checks whether the clock was set, and whether it is right.
    pub(in crate::share_expiry) fn watch_clock(&mut self, moment: ShareMoment) {
        match self.watch.look(self.clock.reading()) {
            Some(ClockStep::Forward(by)) => {
                self.counters.steps_forward += 1;
                tracing::warn!(by_ms = by.as_millis(), "wall clock jumped forward");
            }
            Some(ClockStep::Back(by)) => {
                self.counters.steps_back += 1;
                tracing::warn!(by_ms = by.as_millis(), "wall clock jumped back");
            }
            None => {}
        }
        self.keep_time(moment.now);
        let trouble = self.trouble_at(moment);
        let before = std::mem::replace(&mut self.trouble, trouble);
        match (before, trouble) {
            (
                None | Some(ClockTrouble::Behind { .. }),
                Some(ClockTrouble::Ahead { by, links, .. }),
            ) => {
                tracing::warn!(
                    ahead_s = by.as_secs(),
                    links,
                    "{}",
                    ClockTrouble::Ahead {
                        by,
                        links,
                        confirmed_in: moment.confirmed_in.unwrap_or_default(),
                    }
                );
            }
            (
                Some(ClockTrouble::Ahead { by, links, .. }),
                None | Some(ClockTrouble::Behind { .. }),
            ) => {
                let was_confirmed =
                    moment.now.0 >= self.last_moment.0.saturating_add(as_ms(by) / 2);
                if was_confirmed {
                    tracing::warn!(
                        by_s = by.as_secs(),
                        links,
                        "clock confirmed: these links are reclaimed"
                    );
                } else {
                    tracing::warn!(
                        by_s = by.as_secs(),
                        links,
                        "clock corrected: these links work again"
                    );
                }
            }
            (None, Some(behind @ ClockTrouble::Behind { by })) => {
                tracing::warn!(behind_s = by.as_secs(), "{behind}");
            }
            _ => {}
        }
        self.last_moment = moment.now;
    }

    /// Stores the time for the next process.
    fn keep_time(&mut self, now: Millis) {
        if !self.replica.is_caught_up() {
            return;
        }
        let uptime = self.clock.uptime();
        let update = self.anchor.as_mut().and_then(|anchor| anchor.update(now, uptime));
        if let Some(update) = update {
            // No caller waits for it, because the journal has the time too, except for the last minutes.
            drop(tokio::task::spawn_blocking(move || {
                if let Err(error) = update.write() {
                    tracing::debug!(%error, "time of shares could not be written to its file");
                }
            }));
        }
    }

    fn trouble_at(&self, moment: ShareMoment) -> Option<ClockTrouble> {
        let ShareMoment { now, latest, confirmed_in, behind } = moment;
        let trouble = match confirmed_in {
            Some(confirmed_in) => {
                let counted = match self.trouble {
                    Some(ClockTrouble::Ahead { links, .. }) if !self.is_upkeep() => Some(links),
                    _ => None,
                };
                let table = self.replica.piece();
                let count = || table.backlog(latest, COUNTED) - table.backlog(now, COUNTED);
                let links = counted.unwrap_or_else(count);
                ClockTrouble::Ahead { by: latest.since(now), links, confirmed_in }
            }
            None => ClockTrouble::Behind { by: behind },
        };
        trouble.matters().then_some(trouble)
    }
}

fn as_ms(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

impl Handler<ConfirmClock> for ShareExpiry {
    type Result = OwnerReply<ShareExpiry, (), CommitError>;

    fn handle(&mut self, asked: ConfirmClock, _: &mut Context<Self>) -> Self::Result {
        let ConfirmClock { asked_by, request } = asked;
        if self.replica.recall(request).is_some() {
            return reply_now(Ok(()));
        }
        if let Err(error) = self.replica.leading() {
            return reply_now(Err(error));
        }
        // At once, because later commits use the time that is set.
        self.views.set_time(&self.clock);
        let to = self.now();
        tracing::warn!(%to, asked_by, "wall clock confirmed: shares use it");
        // Shares that counted as ended may become due again.
        self.start_notices();
        self.upkeep_at = None;
        let asked = RequestContext::by_request(asked_by.clone(), request);
        let events = vec![ShareEvent::TimeSet { to, by: asked_by }];
        self.commit_request(vec![(asked, events)], |expiry, outcomes, ctx| {
            if outcomes.is_err() {
                // The record has the time from before: refused links stay refused.
                expiry.views.start_time(expiry.replica.piece().time(), &expiry.clock);
            }
            expiry.run_tick(ctx);
            outcomes.map(drop)
        })
    }
}
