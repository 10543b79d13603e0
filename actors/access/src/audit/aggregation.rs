//! Joins refused calls of unknown callers that come too fast, so that guesses cannot fill the disk. Pure.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use reelyard_core::clock::Millis;

use super::record::{AuditActorKind, AuditRecord};

/// Number of refused calls that get a row each at once.
const BURST: u32 = 60;

/// One more refused call gets a row of its own after this time.
const INTERVAL: Duration = Duration::from_secs(1);

/// Refused calls are joined for this long.
const WINDOW: Duration = Duration::from_secs(60);

/// Number of addresses with a row of their own per window. One more row stands for all others.
const MOST_ADDRESSES: usize = 256;

/// Refused calls of one address, or of several.
#[derive(Debug)]
struct JoinedCalls {
    first: AuditRecord,
    count: u64,
}

/// Lets some refused calls of unknown callers pass, and joins the others.
#[derive(Debug)]
pub(super) struct RefusedCalls {
    free: u32,
    refilled: Millis,
    joined: BTreeMap<Option<IpAddr>, JoinedCalls>,
    /// The end of the window, if calls are joined.
    due: Option<Millis>,
}

impl RefusedCalls {
    pub(super) fn new(now: Millis) -> Self {
        RefusedCalls { free: BURST, refilled: now, joined: BTreeMap::new(), due: None }
    }

    /// Returns the record if it gets a row of its own. Otherwise it is part of a later row.
    pub(super) fn accept(&mut self, record: AuditRecord) -> Option<AuditRecord> {
        if record.actor.kind != AuditActorKind::Unknown || record.is_accepted() {
            return Some(record);
        }
        self.refill(record.at);
        if self.free > 0 {
            self.free -= 1;
            return Some(record);
        }
        self.due.get_or_insert(record.at.after(WINDOW));
        let is_full = self.joined.len() >= MOST_ADDRESSES;
        let address = record.from.filter(|from| !is_full || self.joined.contains_key(&Some(*from)));
        let joined = self.joined.entry(address);
        joined.or_insert_with(|| JoinedCalls { first: record, count: 0 }).count += 1;
        None
    }

    fn refill(&mut self, now: Millis) {
        let more = now.since(self.refilled).as_millis() / INTERVAL.as_millis();
        let more = u32::try_from(more).unwrap_or(u32::MAX);
        if more > 0 {
            self.free = self.free.saturating_add(more).min(BURST);
            self.refilled = now;
        }
        // After a backward step of the clock, time counts from there.
        self.refilled = self.refilled.min(now);
    }

    /// The end of the window, if calls are joined.
    pub(super) fn due(&self) -> Option<Millis> {
        self.due
    }

    /// The rows of the window: one for each address. Without `now`, the window ends at once.
    pub(super) fn take(&mut self, now: Option<Millis>) -> Vec<AuditRecord> {
        let is_due = self.due.is_some_and(|due| now.is_none_or(|now| now >= due));
        if !is_due {
            return Vec::new();
        }
        self.due = None;
        let joined = std::mem::take(&mut self.joined).into_iter();
        let rows = joined.map(|(from, JoinedCalls { first, count })| AuditRecord {
            from,
            count: Some(count),
            request_id: None,
            reason: None,
            ..first
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::record::AuditActor;

    fn refused(at: i64, from: u32) -> AuditRecord {
        AuditRecord {
            actor: AuditActor::unknown(),
            from: Some(IpAddr::from(from.to_be_bytes())),
            status: Some(401),
            ..AuditRecord::of_node(Millis(at), "createShare")
        }
    }

    #[test]
    fn many_wrong_tokens_become_few_rows() {
        let mut calls = RefusedCalls::new(Millis(0));
        let mut rows = Vec::new();
        for number in 0..100_000_u32 {
            let at = i64::from(number) * 60_000 / 100_000;
            rows.extend(calls.accept(refused(at, number % 2)));
            rows.extend(calls.take(Some(Millis(at))));
        }
        rows.extend(calls.take(None));
        assert!(rows.len() < 130, "{}", rows.len());
        let counted: u64 = rows.iter().map(|row| row.count.unwrap_or(1)).sum();
        assert_eq!(counted, 100_000);
    }

    #[test]
    fn many_addresses_need_no_more_memory() {
        let mut calls = RefusedCalls::new(Millis(0));
        let single = (0..10_000).filter_map(|from| calls.accept(refused(1, from))).count();
        let rows = calls.take(None);
        assert_eq!(rows.len(), MOST_ADDRESSES + 1);
        let others = rows.iter().find(|row| row.from.is_none()).and_then(|row| row.count);
        assert_eq!(others, Some(10_000 - (single + MOST_ADDRESSES) as u64));
    }

    #[test]
    fn accepted_calls_and_known_callers_always_get_a_row() {
        let mut calls = RefusedCalls::new(Millis(0));
        for number in 0..1000 {
            let accepted = AuditRecord { status: Some(200), ..refused(1, number) };
            let known = AuditRecord { actor: AuditActor::node(), ..refused(1, number) };
            assert!(calls.accept(accepted).is_some() && calls.accept(known).is_some());
        }
        assert_eq!(calls.take(None), []);
    }
}
