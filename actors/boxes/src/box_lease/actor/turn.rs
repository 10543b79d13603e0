//! The actor's timed work.

use std::time::{Duration, Instant};

use actix::Context;
use reelyard_core::clock::{ClockReading, Millis};
use reelyard_protocol::boxes::{FenceToken, LeaseId, PoolName};
use reelyard_replication::{EPOCH_LEAP, Owner};

use crate::box_lease::BoxLease;
use crate::box_lease::state::box_table::FoundLease;
use crate::box_lease::state::event::BoxEvent;

/// The longest sleep: jumps of the clock and suspends are noticed after it.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The shortest pause between turns: work that is due within it is done together.
const SHORTEST_SLEEP: Duration = Duration::from_millis(1);

/// The maximum age of the published view.
const STALE: Duration = Duration::from_millis(20);

/// How often waiting callers get their progress.
const PROGRESS: Duration = Duration::from_millis(100);

/// How often old records are checked for removal.
const UPKEEP: Duration = Duration::from_secs(1);

/// How many leases one commit ends at most: they fit an entry of the journal.
const AT_ONCE: usize = 1000;

/// More tokens than are ever given in a millisecond.
const TOKENS_A_MILLI: u64 = 1000;

/// More tokens than are given between a backup and its restore.
const TOKENS_SKIPPED: u64 = 1_000_000_000_000;

/// How many leases one commit reports as used with a wrong token, and how many are remembered until then.
const WRONG_TOKENS_AT_ONCE: usize = 20;
const MOST_WRONG_TOKENS: usize = 1000;

/// How much one event forgets at most.
const FORGOTTEN_AT_ONCE: u64 = 10_000;

impl BoxLease {
    /// Schedules a turn soon.
    pub(in crate::box_lease) fn soon(&mut self, ctx: &mut Context<Self>) {
        self.wake_after(SHORTEST_SLEEP, ctx);
    }

    /// Schedules a turn before the published view is too old.
    pub(in crate::box_lease) fn note_stale(&mut self, ctx: &mut Context<Self>) {
        self.is_stale = true;
        self.wake_after(STALE, ctx);
    }

    /// Schedules a turn at this instant of the monotonic clock, or earlier.
    pub(in crate::box_lease) fn wake_at(&mut self, at: Duration, ctx: &mut Context<Self>) {
        let delay = at.saturating_sub(self.now().monotonic);
        self.wake_after(delay.clamp(SHORTEST_SLEEP, LONGEST_SLEEP), ctx);
    }

    /// Whether nothing is decided just now: a commit came back without an outcome.
    pub(in crate::box_lease) fn is_held_up(&self) -> bool {
        self.replica.pause_left().is_some()
    }

    /// Does the work that is due now.
    pub(in crate::box_lease) fn turn(&mut self, ctx: &mut Context<Self>) {
        let now = self.now();
        self.wake_after(LONGEST_SLEEP, ctx);
        if self.replica.epoch().is_none() {
            self.publish_view();
            return;
        }
        if let Some(left) = self.replica.pause_left() {
            self.wake_after(left.max(SHORTEST_SLEEP), ctx);
            // A request that arrives meanwhile keeps its place.
            self.look_at_progress(ctx);
            self.publish_view();
            return;
        }
        self.note_led(ctx);
        self.recheck(ctx);
        self.expire(now, ctx);
        self.look_at_rests(now, ctx);
        self.take_up_again(ctx);
        self.probe_due(ctx);
        while let Some(key) = self.cleanings.take_due(now.monotonic) {
            self.clean(key, ctx);
        }
        while let Some(pool) = self.looks.take_due(now.monotonic) {
            self.start_look(pool, ctx);
        }
        // A request that is served at this instant counts as in time.
        while let Some(waiter) = self.waiters.deadlines.take_due(now.monotonic) {
            self.time_out(waiter, ctx);
        }
        if self.upkeep_at.is_none_or(|last| last.elapsed() >= UPKEEP) {
            self.upkeep_at = Some(Instant::now());
            self.upkeep(ctx);
        }
        self.look_at_progress(ctx);
        self.wake_for_next(now, ctx);
        if self.is_stale {
            self.publish_view();
        }
    }

    fn wake_for_next(&mut self, now: ClockReading, ctx: &mut Context<Self>) {
        let others = [
            self.cleanings.next(),
            self.looks.next(),
            self.waiters.deadlines.next(),
            self.probes.next(),
        ];
        let others = others.into_iter().flatten().map(|at| at.saturating_sub(now.monotonic));
        let next = others.chain(self.terms.next(now)).min();
        if let Some(delay) = next {
            self.wake_after(delay.clamp(SHORTEST_SLEEP, LONGEST_SLEEP), ctx);
        }
    }

    /// Ends the leases that are past their terms.
    fn expire(&mut self, now: ClockReading, ctx: &mut Context<Self>) {
        loop {
            let mut over: Vec<(LeaseId, u32)> = Vec::new();
            while over.len() < AT_ONCE
                && let Some(id) = self.terms.take_due(now)
            {
                match self.replica.piece().read().leases.get(&id) {
                    Some(lease) => over.push((id, lease.renewals)),
                    None => self.terms.remove(id),
                }
            }
            if over.is_empty() {
                return;
            }
            let event = BoxEvent::TermsPassed { leases: over.clone() };
            self.commit_then(vec![event], ctx, move |actor, _, ctx| {
                // A lease that is still live was renewed meanwhile, and has another term; or the commit
                // failed.
                for (id, renewals) in &over {
                    let same = actor.replica.piece().read().leases.get(id).map(|l| l.renewals);
                    if same == Some(*renewals) {
                        actor.terms.put_back(*id);
                        actor.soon(ctx);
                    }
                }
            });
        }
    }

    /// Ids may have rested long enough.
    fn look_at_rests(&mut self, now: ClockReading, ctx: &mut Context<Self>) {
        let mut ready = Vec::new();
        let mut next = None;
        {
            let table = self.replica.piece().read();
            for (name, line) in &mut self.lines {
                let Ok(pool) = table.pool(name) else { continue };
                let Some(range) = pool.spec().slots else { continue };
                if line.rests.look(range.rest, now.monotonic) {
                    ready.push(name.clone());
                }
                next = [next, line.rests.next(range.rest)].into_iter().flatten().min();
            }
        }
        for pool in ready {
            self.grant_waiting(&pool, ctx);
        }
        if let Some(at) = next {
            self.wake_at(at, ctx);
        }
    }

    /// Failed work is repeated.
    fn take_up_again(&mut self, ctx: &mut Context<Self>) {
        self.commit_ready(ctx);
        let orphans: Vec<LeaseId> = std::mem::take(&mut self.orphans).into_iter().collect();
        for leases in orphans.chunks(AT_ONCE) {
            self.take_back(leases.to_vec(), ctx);
        }
        let waiting: Vec<PoolName> = {
            let lines = self.lines.iter().filter(|(_, line)| !line.queue.is_empty());
            lines.map(|(name, _)| name.clone()).collect()
        };
        for pool in waiting {
            self.grant_waiting(&pool, ctx);
        }
    }

    /// Whether it is on record that this leader decides. Nothing is granted before: its tokens may have
    /// to go on beyond those of a past that its store has forgotten.
    pub(in crate::box_lease) fn has_led(&self) -> bool {
        self.replica.epoch().is_some_and(|epoch| self.replica.piece().read().led() >= epoch)
    }

    /// Puts on record that this leader decides. An epoch far above the last one means that the store was
    /// restored from a backup, or that a loss was accepted: it does not know the tokens that were given
    /// since.
    fn note_led(&mut self, ctx: &mut Context<Self>) {
        let Some(epoch) = self.replica.epoch() else { return };
        if self.has_led() || self.noting_led {
            return;
        }
        self.noting_led = true;
        let (led, highest) = {
            let table = self.replica.piece().read();
            (table.led(), table.highest_token())
        };
        let was_restored = epoch.0.saturating_sub(led.0) >= EPOCH_LEAP;
        let beyond = was_restored.then(|| beyond_all(highest, self.clock.now()));
        if let Some(beyond) = beyond {
            tracing::warn!(
                %epoch, before = %led, %beyond,
                "store restored: fencing tokens of all pools raised above those given since the backup"
            );
        }
        self.commit_then(vec![BoxEvent::Led { epoch, beyond }], ctx, |actor, settled, ctx| {
            actor.noting_led = false;
            if settled.is_err() {
                actor.soon(ctx);
                return;
            }
            let pools: Vec<PoolName> = actor.lines.keys().cloned().collect();
            for pool in pools {
                actor.grant_waiting(&pool, ctx);
            }
        });
    }

    /// Puts on record that boxes are to be looked at before they are granted.
    fn recheck(&mut self, ctx: &mut Context<Self>) {
        let wanted: Vec<PoolName> = {
            let wanted = self.rechecks.iter_mut().filter(|(_, under_way)| !**under_way);
            wanted
                .map(|(pool, under_way)| {
                    *under_way = true;
                    pool.clone()
                })
                .collect()
        };
        for pool in wanted {
            let event = BoxEvent::Recheck { pool: pool.clone() };
            self.commit_then(vec![event], ctx, move |actor, settled, ctx| match settled {
                Ok(_) => {
                    actor.rechecks.remove(&pool);
                    actor.grant_waiting(&pool, ctx);
                }
                Err(_) => {
                    if let Some(under_way) = actor.rechecks.get_mut(&pool) {
                        *under_way = false;
                    }
                    actor.soon(ctx);
                }
            });
        }
    }

    /// Forgets records that are too old or too many.
    fn upkeep(&mut self, ctx: &mut Context<Self>) {
        self.put_wrong_tokens_on_record(ctx);
        let now = self.clock.now();
        let settings = &self.settings;
        let (ended, care) = {
            let table = self.replica.piece().read();
            let ended = table.ended();
            let ended_before = forgotten(ended, settings.keep_ended, |ended| {
                now.since(ended.at) >= settings.keep_ended_for
            });
            let care = table.box_log();
            let care_before = forgotten(care, settings.keep_care, |line| {
                now.since(line.at) >= settings.keep_care_for
            });
            ((ended.first(), ended_before), (care.first(), care_before))
        };
        if ended.0 == ended.1 && care.0 == care.1 {
            return;
        }
        let event = BoxEvent::Forgot { ended_before: ended.1, care_before: care.1 };
        self.commit_then(vec![event], ctx, |actor, settled, ctx| {
            if settled.is_ok() {
                // There may be more of it than one event forgets.
                actor.upkeep(ctx);
            }
        });
    }

    /// Records the uses of leases with wrong tokens: a few at a time, however often that is tried.
    fn put_wrong_tokens_on_record(&mut self, ctx: &mut Context<Self>) {
        let mut events = Vec::new();
        while events.len() < WRONG_TOKENS_AT_ONCE
            && let Some((lease, (given, times))) = self.wrong_tokens.pop_first()
        {
            events.push(BoxEvent::WrongToken { lease, given, times });
        }
        if !events.is_empty() {
            self.commit(events, ctx);
        }
    }

    /// A caller used a lease with a token of another one.
    pub(in crate::box_lease) fn note_wrong_token(&mut self, lease: LeaseId, given: FenceToken) {
        let pool = match self.replica.piece().read().find(lease) {
            FoundLease::Live(lease) => lease.pool.clone(),
            FoundLease::Ended(ended) => ended.lease.pool.clone(),
            FoundLease::Unknown => return,
        };
        self.counts(&pool).wrong_tokens += 1;
        if self.wrong_tokens.len() < MOST_WRONG_TOKENS || self.wrong_tokens.contains_key(&lease) {
            let noted = self.wrong_tokens.entry(lease).or_insert((given, 0));
            *noted = (given, noted.1 + 1);
        }
    }

    fn look_at_progress(&mut self, ctx: &mut Context<Self>) {
        if self.lines.values().all(|line| line.queue.is_empty()) {
            return;
        }
        match self.progress_at.map(|last| PROGRESS.saturating_sub(last.elapsed())) {
            Some(left) if !left.is_zero() => self.wake_after(left, ctx),
            _ => {
                self.progress_at = Some(Instant::now());
                self.notify_progress();
            }
        }
    }
}

/// A token above all that may have been given when the highest known one is `highest`: derived from the
/// time of day, so that the same backup restored twice does not lead to the same tokens. Below 2^53 for
/// two centuries: programs that read JSON numbers as floats keep it exact.
fn beyond_all(highest: FenceToken, now: Millis) -> FenceToken {
    let of_now = u64::try_from(now.0).unwrap_or(0).saturating_mul(TOKENS_A_MILLI);
    FenceToken(of_now.max(highest.0.saturating_add(TOKENS_SKIPPED)))
}

/// The number of the first line that stays, of those that may go at once.
fn forgotten<T>(
    list: &reelyard_core::history::BoundedLog<T>,
    most: u64,
    is_old: impl Fn(&T) -> bool,
) -> u64 {
    let too_many = list.len().saturating_sub(most).min(FORGOTTEN_AT_ONCE);
    let surplus = list.first() + too_many;
    let last = list.first() + FORGOTTEN_AT_ONCE;
    let old = list.oldest_from(surplus).take_while(|(number, line)| *number < last && is_old(line));
    old.last().map_or(surplus, |(number, _)| number + 1)
}
