//! The terms of leases, and their ends. Pure.
//!
//! A term is over when it has passed by the monotonic clock, counted from its commit: the holder was
//! promised no more. The wall clock ends no lease and keeps none. Only the total hold of a lease is
//! counted by it when a process begins to decide.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::{ClockReading, Millis};
use reelyard_protocol::boxes::LeaseId;

use super::schedule::KeyedDeadlines;
use crate::box_lease::state::leases::lease::Lease;
use crate::box_lease::state::leases::lease_answer::LeaseAnswer;

/// The terms of the live leases.
#[derive(Clone, Debug, Default)]
pub struct LeaseTerms {
    passing: KeyedDeadlines<LeaseId>,
    /// The end of the longest allowed hold of each lease, by the monotonic clock; none without a limit.
    hold_ends: HashMap<LeaseId, Option<Duration>>,
}

/// How long the leases of a request last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::box_lease) struct RequestedTerms {
    /// The first term.
    pub(in crate::box_lease) first: Duration,
    /// The term after a renewal.
    pub(in crate::box_lease) renewed: Duration,
}

/// How long a lease may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldLimit {
    /// When it was granted, in milliseconds.
    pub granted: Millis,
    /// How long it may be held in all.
    pub most: Option<Duration>,
}

impl HoldLimit {
    /// The limit of a lease in a pool with the longest hold `most`.
    pub fn of(lease: &Lease, most: Option<Duration>) -> Self {
        HoldLimit { granted: lease.granted, most }
    }

    /// How long it may still be held; none without a limit.
    fn left(self, now: ClockReading) -> Option<Duration> {
        let held = now.wall.since(self.granted);
        self.most.map(|most| most.saturating_sub(held))
    }
}

impl LeaseTerms {
    /// Records that a lease lasts for `term` from now on. A lease of an earlier leader or process gets its
    /// full term once more: its renewal may have been answered just now. The longest hold limits only renewals.
    pub fn start(&mut self, id: LeaseId, term: Duration, hold: HoldLimit, now: ClockReading) {
        // The wall clock may have been stepped since the grant. The holder was promised `term` already.
        self.hold_ends.entry(id).or_insert_with(|| {
            hold.left(now).map(|left| now.monotonic.saturating_add(left.max(term)))
        });
        self.passing.set(id, now.monotonic.saturating_add(term));
    }

    /// Records the term of a lease that got its full term again in the same boot, and was not renewed since.
    /// Only the remaining part of that term is left, by the uptime of the machine. So frequent restarts do not prolong
    /// the lease.
    pub fn start_remaining(
        &mut self,
        id: LeaseId,
        term: Duration,
        remaining: Duration,
        hold: HoldLimit,
        now: ClockReading,
    ) {
        self.start(id, remaining.min(term), hold, now);
    }

    /// Removes an ended lease.
    pub fn remove(&mut self, id: LeaseId) {
        self.passing.remove(&id);
        self.hold_ends.remove(&id);
    }

    /// The term of a lease if it is renewed now: the wanted term, within the longest time that the lease
    /// may be held.
    pub fn renewed(&self, id: LeaseId, wanted: Duration, now: ClockReading) -> Duration {
        let ends = self.hold_ends.get(&id).copied().flatten();
        ends.map_or(wanted, |ends| wanted.min(ends.saturating_sub(now.monotonic)))
    }

    /// Takes a lease whose term has passed. Start it again unless it ends.
    pub fn take_due(&mut self, now: ClockReading) -> Option<LeaseId> {
        self.passing.take_due(now.monotonic)
    }

    /// Whether the term of a lease has passed, whether it was taken or not.
    pub fn is_over(&self, id: LeaseId, now: ClockReading) -> bool {
        let has_passed = self.passing.at(&id).is_none_or(|ends| ends <= now.monotonic);
        has_passed && self.hold_ends.contains_key(&id)
    }

    /// A live lease with the rest of its term, for an answer to its holder.
    pub fn answer(&self, lease: &Arc<Lease>, now: ClockReading) -> LeaseAnswer {
        let ends = self.passing.at(&lease.id).unwrap_or_default();
        let left_from_commit = ends.saturating_sub(now.monotonic);
        LeaseAnswer { lease: Arc::clone(lease), left_from_commit }
    }

    /// How long it is until a term may be over.
    pub fn next(&self, now: ClockReading) -> Option<Duration> {
        self.passing.next().map(|at| at.saturating_sub(now.monotonic))
    }

    /// A lease that was taken and did not end is due again at once.
    pub fn put_back(&mut self, id: LeaseId) {
        if self.hold_ends.contains_key(&id) {
            self.passing.set(id, Duration::ZERO);
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.hold_ends.len()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.hold_ends.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        *self = LeaseTerms::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: LeaseId = LeaseId(1);
    const FREELY: HoldLimit = HoldLimit { granted: Millis(1000), most: None };

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn at(wall: i64, passed: u64) -> ClockReading {
        ClockReading { wall: Millis(wall), monotonic: ms(passed) }
    }

    fn of_a_second(hold: HoldLimit) -> LeaseTerms {
        let mut terms = LeaseTerms::default();
        terms.start(ID, ms(1000), hold, at(1000, 0));
        terms
    }

    #[test]
    fn a_term_ends_by_the_monotonic_clock_at_any_wall_time() {
        for (early, due) in [
            (at(1999, 999), at(2000, 1000)),
            // The wall was set ahead.
            (at(90_000, 999), at(90_001, 1000)),
            // It was set back.
            (at(-500, 999), at(-499, 1000)),
        ] {
            let mut terms = of_a_second(FREELY);
            assert_eq!(
                (terms.take_due(early), terms.is_over(ID, early)),
                (None, false),
                "{early:?}"
            );
            assert!(terms.is_over(ID, due));
            assert_eq!(terms.take_due(due), Some(ID), "{due:?}");
            assert_eq!(terms.take_due(due), None);
            assert!(terms.is_over(ID, due), "it was only taken");
        }
    }

    #[test]
    fn a_renewed_term_starts_again_and_a_returned_one_is_due() {
        let mut terms = of_a_second(FREELY);
        terms.start(ID, ms(1000), FREELY, at(1999, 999));
        assert_eq!(terms.take_due(at(2998, 1998)), None);
        assert_eq!(terms.next(at(2998, 1998)), Some(ms(1)));
        assert_eq!(terms.take_due(at(2999, 1999)), Some(ID));
        assert_eq!(terms.next(at(2999, 1999)), None);
        terms.put_back(ID);
        assert_eq!(terms.take_due(at(2999, 1999)), Some(ID));
        terms.remove(ID);
        terms.put_back(ID);
        assert_eq!((terms.take_due(at(9999, 9999)), terms.is_empty()), (None, true));
    }

    #[test]
    fn nothing_is_held_longer_than_it_may_be() {
        let hold = HoldLimit { granted: Millis(1000), most: Some(ms(2500)) };
        let mut terms = of_a_second(hold);
        assert_eq!(terms.renewed(ID, ms(1000), at(1500, 500)), ms(1000));
        // For any step of the wall clock.
        assert_eq!(terms.renewed(ID, ms(1000), at(90_000, 1700)), ms(800));
        terms.start(ID, ms(800), hold, at(2700, 1700));
        assert_eq!(terms.renewed(ID, ms(1000), at(3499, 2499)), ms(1));
        assert_eq!(terms.renewed(ID, ms(1000), at(3500, 2500)), ms(0));
    }

    #[test]
    fn the_longest_hold_cuts_no_promised_term() {
        // Granted at 1000, and ready at 2000 for a term of 2500.
        let hold = HoldLimit { granted: Millis(1000), most: Some(ms(2500)) };
        let mut terms = LeaseTerms::default();
        terms.start(ID, ms(2500), hold, at(2000, 0));
        assert_eq!(terms.renewed(ID, ms(2500), at(3000, 1000)), ms(1500));
        // The wall clock of another leader may be ahead.
        let mut terms = LeaseTerms::default();
        terms.start(ID, ms(2500), hold, at(90_000, 0));
        assert_eq!(terms.next(at(90_000, 0)), Some(ms(2500)));
        assert_eq!(terms.renewed(ID, ms(2500), at(91_000, 1000)), ms(1500));
    }

    #[test]
    fn a_new_leader_gives_the_full_term_again_once() {
        let due = |mut terms: LeaseTerms, last: u64| {
            assert_eq!(terms.take_due(at(0, last - 1)), None);
            assert_eq!(terms.take_due(at(0, last)), Some(ID));
        };
        let limited = HoldLimit { granted: Millis(1000), most: Some(ms(1200)) };
        for hold in [FREELY, limited] {
            let mut terms = LeaseTerms::default();
            terms.start(ID, ms(1000), hold, at(1900, 0));
            due(terms, 1000);
        }
        // The next time only the rest of it, for any setting of the wall clock.
        for (wall, remaining, left) in
            [(2500, 400, 400), (90_000, 1, 1), (-90_000, 1000, 1000), (2500, 5000, 1000)]
        {
            let mut terms = LeaseTerms::default();
            terms.start_remaining(ID, ms(1000), ms(remaining), FREELY, at(wall, 0));
            due(terms, left);
        }
        let mut terms = LeaseTerms::default();
        terms.start_remaining(ID, ms(1000), ms(0), FREELY, at(90_000, 7));
        assert_eq!(terms.take_due(at(90_000, 7)), Some(ID));
    }
}
