//! The heap timer wheel. Pure.
//!
//! Deadlines before the end of a window are in a heap. The others are only in the table's own order, which
//! costs nothing more. When the heap is empty the window moves forward, by a range of that order with a
//! fixed number of deadlines. A share that is created or changed before the end of the window goes into
//! the heap at once. Its earlier entry is stale, and is dropped at its time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use reelyard_core::clock::Millis;

use crate::share_expiry::state::table::order::ShareDueKey;
use crate::share_expiry::state::table::share::Share;
use crate::share_expiry::state::table::share_table::ShareTable;
use crate::share_expiry::state::values::id::ShareId;

/// How many deadlines a window has.
pub const WINDOW: usize = 16 * 1024;

/// The next deadlines of shares.
#[derive(Debug)]
pub struct ExpiryTimerWheel {
    heap: BinaryHeap<Reverse<ShareDueKey>>,
    /// The first position after the window; none if the window has no end.
    end: Option<ShareDueKey>,
    window: usize,
}

impl Default for ExpiryTimerWheel {
    fn default() -> Self {
        ExpiryTimerWheel::with_window(WINDOW)
    }
}

impl ExpiryTimerWheel {
    /// A timer whose windows have this many deadlines.
    pub fn with_window(window: usize) -> Self {
        ExpiryTimerWheel { heap: BinaryHeap::new(), end: None, window: window.max(1) }
    }

    /// Restarts with the deadlines from `from` on.
    pub fn start(&mut self, from: ShareDueKey) {
        self.heap.clear();
        self.end = Some(from);
    }

    /// A share is new, or its deadline changed.
    pub fn add(&mut self, share: &Share) {
        let Some(due) = ShareDueKey::of(share) else { return };
        if self.end.is_some_and(|end| due >= end) {
            return;
        }
        self.heap.push(Reverse(due));
        if self.heap.len() > 2 * self.window {
            self.shorten();
        }
    }

    /// The shares that are due at `now`, the most overdue first, at most `most`. Each is returned only
    /// once, unless it is added again.
    pub fn due(&mut self, now: Millis, most: usize, table: &ShareTable) -> Vec<ShareId> {
        let mut due = Vec::new();
        while due.len() < most && self.next(table).is_some_and(|at| at <= now) {
            let Some(Reverse(entry)) = self.heap.pop() else { break };
            // Duplicates follow each other, and are returned once.
            while self.heap.peek() == Some(&Reverse(entry)) {
                self.heap.pop();
            }
            // The share is due at another time now. It has another entry, or will get one.
            if table.look(entry.id(), ShareDueKey::of).flatten() == Some(entry) {
                due.push(entry.id());
            }
        }
        due
    }

    /// The next deadline in the heap. It may be stale.
    pub fn next(&mut self, table: &ShareTable) -> Option<Millis> {
        if self.heap.is_empty() {
            self.refill(table);
        }
        self.heap.peek().map(|Reverse(due)| due.instant())
    }

    /// How many deadlines are in the heap.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no deadline is left.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Moves the window forward, from the table.
    fn refill(&mut self, table: &ShareTable) {
        let Some(from) = self.end else { return };
        let mut range = table.due_from(from);
        let entries = range.by_ref().take(self.window).map(Reverse);
        self.heap = entries.collect::<Vec<_>>().into();
        self.end = range.next();
    }

    /// Keeps one window in the heap, because the table has the others.
    fn shorten(&mut self) {
        let mut entries = std::mem::take(&mut self.heap).into_vec();
        let (_, Reverse(first_behind), _) =
            entries.select_nth_unstable_by_key(self.window, |Reverse(due)| *due);
        let end = *first_behind;
        entries.retain(|Reverse(due)| *due < end);
        self.heap = entries.into();
        self.end = Some(end);
    }
}

#[cfg(test)]
mod tests {
    use reelyard_replication::Piece;

    use super::*;
    use crate::share_expiry::samples::new_share;
    use crate::share_expiry::state::event::{NewDeadline, ShareChanges, ShareEvent};
    use crate::share_expiry::state::values::value_types::Deadline;

    fn create(table: &mut ShareTable, timer: &mut ExpiryTimerWheel, id: u128, deadline: i64) {
        let new = new_share(id, "a", deadline);
        table.apply(Millis(0), &ShareEvent::Created(Box::new(new))).unwrap();
        table.look(ShareId(id), |share| timer.add(share));
    }

    fn change(table: &mut ShareTable, timer: &mut ExpiryTimerWheel, id: u128, deadline: i64) {
        let generation = table.look(ShareId(id), Share::generation).unwrap();
        let deadline = Deadline::at(Millis(deadline));
        let deadline = Some(NewDeadline { deadline, noticed: false });
        let changes = Box::new(ShareChanges { deadline, ..ShareChanges::default() });
        let event = ShareEvent::Changed { id: ShareId(id), generation, changes };
        table.apply(Millis(0), &event).unwrap();
        table.look(ShareId(id), |share| timer.add(share));
    }

    fn ids(due: &[ShareId]) -> Vec<u128> {
        due.iter().map(|id| id.0).collect()
    }

    #[test]
    fn due_shares_come_in_the_order_of_their_deadlines() {
        for window in [1, 2, 7, 1000] {
            let (mut table, mut timer) =
                (ShareTable::default(), ExpiryTimerWheel::with_window(window));
            for id in 0..100_u128 {
                let deadline = i64::try_from(id * 37 % 50).unwrap();
                create(&mut table, &mut timer, id, deadline);
            }
            assert!(timer.len() <= 2 * window);
            let mut all = Vec::new();
            for now in 0..50 {
                let due = timer.due(Millis(now), usize::MAX, &table);
                assert_eq!(due.len(), 2, "at {now} by windows of {window}");
                all.extend(ids(&due));
            }
            let mut expected: Vec<u128> = (0..100).collect();
            expected.sort_by_key(|id| (id * 37 % 50, *id));
            assert_eq!(all, expected);
        }
    }

    #[test]
    fn nothing_is_due_before_its_deadline_and_it_is_at_it() {
        let (mut table, mut timer) = (ShareTable::default(), ExpiryTimerWheel::default());
        create(&mut table, &mut timer, 1, 100);
        assert!(timer.due(Millis(99), 9, &table).is_empty());
        assert_eq!(timer.next(&table), Some(Millis(100)));
        assert_eq!(ids(&timer.due(Millis(100), 9, &table)), [1]);
        assert_eq!(timer.next(&table), None);
    }

    #[test]
    fn a_changed_deadline_takes_the_place_of_the_former_one() {
        let (mut table, mut timer) = (ShareTable::default(), ExpiryTimerWheel::with_window(2));
        for id in 1..=5 {
            create(&mut table, &mut timer, id, 100);
        }
        change(&mut table, &mut timer, 1, 300);
        change(&mut table, &mut timer, 5, 50);
        // There and back: it is in the heap twice.
        change(&mut table, &mut timer, 2, 200);
        change(&mut table, &mut timer, 2, 100);
        assert_eq!(ids(&timer.due(Millis(50), 9, &table)), [5]);
        table.apply(Millis(50), &ShareEvent::Reclaimed { ids: vec![ShareId(5)] }).unwrap();
        assert_eq!(ids(&timer.due(Millis(200), 9, &table)), [2, 3, 4]);
        let ids_due = [2, 3, 4].map(ShareId).to_vec();
        table.apply(Millis(200), &ShareEvent::Reclaimed { ids: ids_due }).unwrap();
        assert_eq!(ids(&timer.due(Millis(300), 9, &table)), [1]);
    }

    #[test]
    fn a_share_added_twice_is_due_once() {
        let (mut table, mut timer) = (ShareTable::default(), ExpiryTimerWheel::default());
        for id in 1..=3 {
            create(&mut table, &mut timer, id, 100);
            table.look(ShareId(id), |share| timer.add(share));
        }
        assert_eq!(ids(&timer.due(Millis(100), 2, &table)), [1, 2]);
        assert_eq!(ids(&timer.due(Millis(100), 2, &table)), [3]);
    }

    #[test]
    fn no_more_are_given_than_asked_for_and_the_others_come_next() {
        let (mut table, mut timer) = (ShareTable::default(), ExpiryTimerWheel::with_window(3));
        for id in 1..=10 {
            create(&mut table, &mut timer, id, 100);
        }
        let (mut given, mut rounds) = (Vec::new(), 0);
        while given.len() < 10 {
            let due = timer.due(Millis(100), 4, &table);
            assert!(!due.is_empty() && due.len() <= 4);
            given.extend(ids(&due));
            rounds += 1;
        }
        assert_eq!((given, rounds), ((1..=10).collect(), 3));
    }

    #[test]
    fn a_starting_timer_reads_the_table() {
        let (mut table, mut timer) = (ShareTable::default(), ExpiryTimerWheel::with_window(3));
        for id in 1..=10 {
            create(&mut table, &mut timer, id, i64::try_from(id).unwrap());
        }
        timer.start(ShareDueKey::from(Millis(i64::MIN)));
        assert_eq!(timer.due(Millis(7), 99, &table).len(), 7);
        timer.start(ShareDueKey::from(Millis(4)));
        assert_eq!(ids(&timer.due(Millis(7), 99, &table)), [4, 5, 6, 7]);
    }
}
