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
    held: HashMap<LeaseId, HeldTerm>,
}

#[derive(Clone, Copy, Debug)]
struct HeldTerm {
    /// The end of the longest allowed hold, by the monotonic clock; none without a limit.
    hold_ends: Option<Duration>,
    /// The lease ends this much later than an answer to its holder says.
    margin: Duration,
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
    /// Records that a lease lasts for `term` from now on. The longest hold limits only renewals.
    pub fn start(&mut self, id: LeaseId, term: Duration, hold: HoldLimit, now: ClockReading) {
        self.take_over(id, (term, Duration::ZERO), hold, now);
    }

    /// Records that a lease of an earlier leader or process lasts for `left` from now on. Its holder may know only
    /// of an end that is earlier by `margin`, and answers name this end.
    pub fn take_over(
        &mut self,
        id: LeaseId,
        (left, margin): (Duration, Duration),
        hold: HoldLimit,
        now: ClockReading,
    ) {
        // The wall clock may have been stepped since the grant. The holder was promised `left` already.
        let hold_ends = || hold.left(now).map(|may| now.monotonic.saturating_add(may.max(left)));
        let before = self.held.get(&id).map(|held| held.hold_ends);
        let hold_ends = before.unwrap_or_else(hold_ends);
        self.held.insert(id, HeldTerm { hold_ends, margin });
        self.passing.set(id, now.monotonic.saturating_add(left));
    }

    /// Removes an ended lease.
    pub fn remove(&mut self, id: LeaseId) {
        self.passing.remove(&id);
        self.held.remove(&id);
    }

    /// The term of a lease if it is renewed now: the wanted term, within the longest time that the lease
    /// may be held.
    pub fn renewed(&self, id: LeaseId, wanted: Duration, now: ClockReading) -> Duration {
        let ends = self.held.get(&id).and_then(|held| held.hold_ends);
        ends.map_or(wanted, |ends| wanted.min(ends.saturating_sub(now.monotonic)))
    }

    /// Takes a lease whose term has passed. Start it again unless it ends.
    pub fn take_due(&mut self, now: ClockReading) -> Option<LeaseId> {
        self.passing.take_due(now.monotonic)
    }

    /// Whether the term of a lease has passed, whether it was taken or not.
    pub fn is_over(&self, id: LeaseId, now: ClockReading) -> bool {
        let has_passed = self.passing.at(&id).is_none_or(|ends| ends <= now.monotonic);
        has_passed && self.held.contains_key(&id)
    }

    /// A live lease with the rest of its term, for an answer to its holder.
    pub fn answer(&self, lease: &Arc<Lease>, now: ClockReading) -> LeaseAnswer {
        let margin = self.held.get(&lease.id).map(|held| held.margin).unwrap_or_default();
        let ends = self.passing.at(&lease.id).unwrap_or_default().saturating_sub(margin);
        let left_from_commit = ends.saturating_sub(now.monotonic);
        LeaseAnswer { lease: Arc::clone(lease), left_from_commit }
    }

    /// How long it is until a term may be over.
    pub fn next(&self, now: ClockReading) -> Option<Duration> {
        self.passing.next().map(|at| at.saturating_sub(now.monotonic))
    }

    /// A lease that was taken and did not end is due again at once.
    pub fn put_back(&mut self, id: LeaseId) {
        if self.held.contains_key(&id) {
            self.passing.set(id, Duration::ZERO);
        }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        *self = LeaseTerms::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::box_lease::PoolSpec;
    use crate::box_lease::samples::{granted, table};

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
    fn a_lease_of_an_earlier_leader_outlasts_the_end_in_answers() {
        let mut table = table(PoolSpec::of(0, 1));
        granted(&mut table, 1, 0);
        let lease = table.live(ID).unwrap().clone();
        let limited = HoldLimit { granted: Millis(1000), most: Some(ms(1200)) };
        for hold in [FREELY, limited] {
            let mut terms = LeaseTerms::default();
            terms.take_over(ID, (ms(1500), ms(1000)), hold, at(1900, 0));
            let answered =
                |terms: &LeaseTerms, passed| terms.answer(&lease, at(0, passed)).left_from_commit;
            assert_eq!((answered(&terms, 400), answered(&terms, 600)), (ms(100), ms(0)));
            assert_eq!(terms.take_due(at(0, 1499)), None);
            assert!(!terms.is_over(ID, at(0, 1499)) && terms.is_over(ID, at(0, 1500)));
            // A renewal is a new term.
            terms.start(ID, ms(300), hold, at(0, 1200));
            assert_eq!(answered(&terms, 1200), ms(300));
            assert_eq!(terms.take_due(at(0, 1500)), Some(ID));
        }
    }
}
