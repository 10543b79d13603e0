//! The terms of leases: when each is over. Pure.
//!
//! A term is over when it has passed by the clock that nobody sets, and not before the instant that its
//! holder was told by the clock on the wall: neither running ahead ends a lease. A clock on the wall
//! that is set back keeps leases until it shows what was told.

use std::collections::HashMap;
use std::time::Duration;

use super::id::LeaseId;
use super::schedule::Schedule;
use crate::clock::{Millis, Reading};

/// A duration on the wall, as an instant of a schedule: those before 1970 are its beginning.
fn on_wall(instant: Millis) -> Duration {
    Duration::from_millis(u64::try_from(instant.0).unwrap_or(0))
}

/// The terms of the live leases.
///
/// **Invariant:** a lease stands in one of the two schedules at most: on the wall only when its time
/// has passed.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    passing: Schedule<LeaseId>,
    on_wall: Schedule<LeaseId>,
    terms: HashMap<LeaseId, Term>,
}

/// The term of a lease.
#[derive(Clone, Copy, Debug)]
struct Term {
    /// Until when its holder was told it lasts.
    told: Millis,
    /// When it has been held as long as it may be, by the clock that nobody sets.
    hold_ends: Option<Duration>,
}

/// How long a lease may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// When it was granted.
    pub granted: Millis,
    /// How long it may be held in all.
    pub most: Option<Duration>,
}

impl Terms {
    /// A lease lasts for `term` from now on, and until `told` at least.
    pub fn note(&mut self, id: LeaseId, term: Duration, told: Millis, hold: Hold, now: Reading) {
        let before = self.terms.get(&id);
        let hold_ends = match before {
            // However the wall was set since.
            Some(before) => before.hold_ends,
            None => hold.most.map(|most| {
                let held = now.wall.since(hold.granted);
                now.monotonic.saturating_add(most.saturating_sub(held))
            }),
        };
        let ends = now.monotonic.saturating_add(term);
        self.terms.insert(id, Term { told, hold_ends });
        self.on_wall.remove(&id);
        self.passing.set(id, ends);
    }

    /// The full term of a lease that another leader granted, or this one in a former life: it may
    /// have been told just now. Never beyond what it may be held, but as long as was told.
    pub fn note_again(
        &mut self,
        id: LeaseId,
        term: Duration,
        told: Millis,
        hold: Hold,
        now: Reading,
    ) {
        let held = now.wall.since(hold.granted);
        let left = hold.most.map(|most| most.saturating_sub(held));
        self.note(id, left.map_or(term, |left| term.min(left)), told, hold, now);
    }

    /// A lease ended.
    pub fn remove(&mut self, id: LeaseId) {
        self.passing.remove(&id);
        self.on_wall.remove(&id);
        self.terms.remove(&id);
    }

    /// How long a lease may last if it is renewed now: as long as is wanted, but not longer than it
    /// may be held in all.
    pub fn renewed(&self, id: LeaseId, wanted: Duration, now: Reading) -> Duration {
        let ends = self.terms.get(&id).and_then(|term| term.hold_ends);
        ends.map_or(wanted, |ends| wanted.min(ends.saturating_sub(now.monotonic)))
    }

    /// Takes a lease whose term is over. It is to be noted again unless it ends.
    pub fn take_due(&mut self, now: Reading) -> Option<LeaseId> {
        while let Some(id) = self.passing.take_due(now.monotonic) {
            let told = self.terms.get(&id).map_or(now.wall, |term| term.told);
            self.on_wall.set(id, on_wall(told));
        }
        self.on_wall.take_due(on_wall(now.wall))
    }

    /// Whether the term of a lease is over, whether it was taken or not.
    pub fn is_over(&self, id: LeaseId, now: Reading) -> bool {
        let has_passed = self.passing.at(&id).is_none_or(|ends| ends <= now.monotonic);
        has_passed && self.terms.get(&id).is_some_and(|term| term.told <= now.wall)
    }

    /// How long it is until a term may be over.
    pub fn next(&self, now: Reading) -> Option<Duration> {
        let passing = self.passing.next().map(|at| at.saturating_sub(now.monotonic));
        let wall = self.on_wall.next().map(|at| at.saturating_sub(on_wall(now.wall)));
        [passing, wall].into_iter().flatten().min()
    }

    /// A lease that was taken and did not end is due again at once.
    pub fn put_back(&mut self, id: LeaseId) {
        if let Some(term) = self.terms.get(&id) {
            self.on_wall.set(id, on_wall(term.told));
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// Knows of none.
    pub fn clear(&mut self) {
        *self = Terms::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: LeaseId = LeaseId(1);
    const FREELY: Hold = Hold { granted: Millis(1000), most: None };

    fn ms(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    fn at(wall: i64, passed: u64) -> Reading {
        Reading { wall: Millis(wall), monotonic: ms(passed) }
    }

    fn of_a_second(hold: Hold) -> Terms {
        let mut terms = Terms::default();
        terms.note(ID, ms(1000), Millis(2000), hold, at(1000, 0));
        terms
    }

    #[test]
    fn a_term_is_over_when_both_clocks_say_so() {
        for (early, due) in [
            (at(1999, 999), at(2000, 1000)),
            // The wall runs ahead.
            (at(90_000, 999), at(90_001, 1000)),
            // The other one does.
            (at(1999, 5000), at(2000, 5001)),
            // The wall was set back.
            (at(-500, 1000), at(2000, 3500)),
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
        }
    }

    #[test]
    fn what_is_renewed_lasts_from_then_on_and_what_was_put_back_is_due_again() {
        let mut terms = of_a_second(FREELY);
        terms.note(ID, ms(1000), Millis(2999), FREELY, at(1999, 999));
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
        let hold = Hold { granted: Millis(1000), most: Some(ms(2500)) };
        let mut terms = of_a_second(hold);
        assert_eq!(terms.renewed(ID, ms(1000), at(1500, 500)), ms(1000));
        // However the wall is set.
        assert_eq!(terms.renewed(ID, ms(1000), at(90_000, 1700)), ms(800));
        terms.note(ID, ms(800), Millis(3500), hold, at(2700, 1700));
        assert_eq!(terms.renewed(ID, ms(1000), at(3499, 2499)), ms(1));
        assert_eq!(terms.renewed(ID, ms(1000), at(3500, 2500)), ms(0));
    }

    #[test]
    fn a_new_leader_gives_the_full_term_again_but_not_beyond_the_longest_hold() {
        let mut terms = Terms::default();
        terms.note_again(ID, ms(1000), Millis(2000), FREELY, at(1900, 0));
        assert_eq!(
            (terms.take_due(at(2899, 999)), terms.take_due(at(2900, 1000))),
            (None, Some(ID))
        );
        let hold = Hold { granted: Millis(1000), most: Some(ms(1200)) };
        let mut terms = Terms::default();
        terms.note_again(ID, ms(1000), Millis(2000), hold, at(1900, 0));
        assert_eq!(
            (terms.take_due(at(2199, 299)), terms.take_due(at(2200, 300))),
            (None, Some(ID))
        );
        // What was told holds all the same.
        let hold = Hold { granted: Millis(1000), most: Some(ms(1)) };
        let mut terms = Terms::default();
        terms.note_again(ID, ms(1000), Millis(2000), hold, at(1900, 0));
        assert_eq!((terms.take_due(at(1999, 99)), terms.take_due(at(2000, 100))), (None, Some(ID)));
    }
}
