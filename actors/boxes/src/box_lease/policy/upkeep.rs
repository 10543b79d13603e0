//! Ends by time: terms, rests, and old records. Also the records of wrong tokens.

use std::time::Duration;

use reelyard_core::history::BoundedLog;
use reelyard_protocol::boxes::{FenceToken, LeaseId, PoolName};

use super::decision_context::BoxDecisionContext;
use super::memory::BoxMemory;
use crate::box_lease::state::box_table::FoundLease;
use crate::box_lease::state::event::BoxEvent;

/// How many leases one event ends at most, so that it fits into an entry of the journal.
pub(in crate::box_lease) const LEASES_AT_ONCE: usize = 1000;

/// How many leases one commit reports as used with a wrong token, and how many are remembered until then.
const WRONG_TOKENS_AT_ONCE: usize = 20;
const MOST_WRONG_TOKENS: usize = 1000;

/// How many records one event forgets at most.
const FORGOTTEN_AT_ONCE: u64 = 10_000;

/// The pools whose ids have rested, and when the next rest ends by the monotonic clock.
#[derive(Debug, Default)]
pub(in crate::box_lease) struct EndedRests {
    pub(in crate::box_lease) ready: Vec<PoolName>,
    pub(in crate::box_lease) next: Option<Duration>,
}

impl BoxMemory {
    /// The leases whose terms have passed, with their numbers of renewals, at most as many as one event
    /// ends.
    pub(in crate::box_lease) fn take_expired(
        &mut self,
        context: &BoxDecisionContext<'_>,
    ) -> Vec<(LeaseId, u32)> {
        let mut over = Vec::new();
        while over.len() < LEASES_AT_ONCE
            && let Some(id) = self.terms.take_due(context.now)
        {
            match context.table.leases.get(&id) {
                Some(lease) => over.push((id, lease.renewals)),
                None => self.terms.remove(id),
            }
        }
        over
    }

    /// The commit that ends these leases returned. A lease that is live and was not renewed is due again.
    /// A renewed lease has another term. Answers whether any is due.
    pub(in crate::box_lease) fn put_back_expired(
        &mut self,
        context: &BoxDecisionContext<'_>,
        over: &[(LeaseId, u32)],
    ) -> bool {
        let mut is_due = false;
        for (id, renewals) in over {
            let same = context.table.leases.get(id).map(|lease| lease.renewals);
            if same == Some(*renewals) {
                self.terms.put_back(*id);
                is_due = true;
            }
        }
        is_due
    }

    /// Ids may have rested long enough.
    pub(in crate::box_lease) fn end_rests(
        &mut self,
        context: &BoxDecisionContext<'_>,
    ) -> EndedRests {
        let mut ended = EndedRests::default();
        for (name, allocator) in &mut self.allocators {
            let Ok(pool) = context.table.pool(name) else { continue };
            let Some(range) = pool.spec().slots else { continue };
            if allocator.rests.look(range.rest, context.now.monotonic) {
                ended.ready.push(name.clone());
            }
            let next = allocator.rests.next(range.rest);
            ended.next = [ended.next, next].into_iter().flatten().min();
        }
        ended
    }

    /// Ids of a pool may have begun to rest. Answers when the next rest ends.
    pub(in crate::box_lease) fn begin_rests(
        &mut self,
        context: &BoxDecisionContext<'_>,
        name: &PoolName,
    ) -> Option<Duration> {
        let pool = context.table.pool(name).ok()?;
        let (range, slots) = (pool.spec().slots?, pool.slots()?);
        let now = context.now.monotonic;
        let rests = &mut self.allocators.entry(name.clone()).or_default().rests;
        rests.begin(slots.next_rest_number(), range.rest, now);
        rests.look(range.rest, now);
        rests.next(range.rest)
    }

    /// The event that forgets records that are too old or too many, if there are any.
    pub(in crate::box_lease) fn forget_records(
        &self,
        context: &BoxDecisionContext<'_>,
    ) -> Option<BoxEvent> {
        let now = context.now.wall;
        let settings = &self.settings;
        let ended = context.table.ended();
        let ended_before = forgotten(ended, settings.keep_ended_most.get(), |ended| {
            now.since(ended.at) >= settings.keep_ended
        });
        let log = context.table.box_log();
        let log_before = forgotten(log, settings.log_retention_count.get(), |entry| {
            now.since(entry.at) >= settings.log_retention
        });
        if ended.first() == ended_before && log.first() == log_before {
            return None;
        }
        Some(BoxEvent::Forgot { ended_before, box_log_before: log_before })
    }

    /// The uses of leases with wrong tokens to record now: at most a few at a time.
    pub(in crate::box_lease) fn drain_wrong_tokens(&mut self) -> Vec<BoxEvent> {
        let mut events = Vec::new();
        while events.len() < WRONG_TOKENS_AT_ONCE
            && let Some((lease, (given, times))) = self.wrong_tokens.pop_first()
        {
            events.push(BoxEvent::WrongToken { lease, given, times });
        }
        events
    }

    /// A caller used a lease with a token of another one.
    pub(in crate::box_lease) fn record_wrong_token(
        &mut self,
        context: &BoxDecisionContext<'_>,
        lease: LeaseId,
        given: FenceToken,
    ) {
        let pool = match context.table.find(lease) {
            FoundLease::Live(lease) => lease.pool.clone(),
            FoundLease::Ended(ended) => ended.lease.pool.clone(),
            FoundLease::Unknown => return,
        };
        self.counts(&pool).wrong_tokens += 1;
        if self.wrong_tokens.len() < MOST_WRONG_TOKENS || self.wrong_tokens.contains_key(&lease) {
            let counted = self.wrong_tokens.entry(lease).or_insert((given, 0));
            *counted = (given, counted.1 + 1);
        }
    }
}

impl BoxDecisionContext<'_> {
    /// The events that revoke every lease of a pool.
    pub(in crate::box_lease) fn revocations(&self, pool: &PoolName, by: &str) -> Vec<BoxEvent> {
        let live = self.table.leases().filter(|lease| lease.pool == *pool);
        let mut live: Vec<LeaseId> = live.map(|lease| lease.id).collect();
        live.sort_unstable();
        let mut events = Vec::new();
        for leases in live.chunks(LEASES_AT_ONCE) {
            let (leases, by) = (leases.to_vec(), by.to_owned());
            events.push(BoxEvent::Revoked { leases, by, reason: None });
        }
        events
    }
}

/// The number of the first line that stays, if at most this many are forgotten at once.
fn forgotten<T>(list: &BoundedLog<T>, most: u64, is_old: impl Fn(&T) -> bool) -> u64 {
    let too_many = list.len().saturating_sub(most).min(FORGOTTEN_AT_ONCE);
    let surplus = list.first() + too_many;
    let last = list.first() + FORGOTTEN_AT_ONCE;
    let old = list.oldest_from(surplus).take_while(|(number, line)| *number < last && is_old(line));
    match old.last() {
        Some((number, _)) => number + 1,
        None => surplus,
    }
}
