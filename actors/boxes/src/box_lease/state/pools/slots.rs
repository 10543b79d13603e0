//! The ids that boxes are drawn from. Pure.
//!
//! Unused ids are drawn first, in order, and then those whose use ended longest ago. So a late user of
//! an id cannot disturb another holder before all ids were drawn once. It also cannot before the rest
//! of the id is over.

use std::collections::VecDeque;
use std::mem::take;

use reelyard_protocol::boxes::SlotId;

use super::spec::SlotRange;

/// The ids of a pool that no box has.
///
/// **Invariant:** each id is in use, unused, or resting: in exactly one of these, once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// All ids of the pool: first and end.
    pub(in crate::box_lease) range: (u64, u64),
    /// Ids that were never used, as first and end, the next one first.
    pub(in crate::box_lease) fresh: VecDeque<(u64, u64)>,
    /// Resting ids, as first and end. The range that rests for the longest time is first. Adjacent
    /// ranges are merged.
    pub(in crate::box_lease) resting: VecDeque<(u64, u64)>,
    /// How many ids are in `resting`.
    pub(in crate::box_lease) resting_count: u64,
    /// The number of ids that rested before the first of them.
    pub(in crate::box_lease) drawn: u64,
}

impl Slots {
    /// All of a range, never used.
    pub fn of(range: SlotRange) -> Self {
        let range = bounds(range);
        Slots { range, fresh: VecDeque::from([range]), ..Slots::default() }
    }

    /// Changes the range. No id may be in use. Ids that stay keep their state. New ids rest first,
    /// because they may have been in use a moment ago.
    pub fn move_to(&mut self, range: SlotRange) {
        let (first, end) = bounds(range);
        let (old_first, old_end) = self.range;
        let clip = |(from, to): (u64, u64)| (from.max(first), to.min(end));
        let before = (first, end.min(old_first));
        let behind = (first.max(old_end), end);
        let is_some = |(from, to): &(u64, u64)| from < to;
        self.fresh = self.fresh.iter().copied().map(clip).filter(is_some).collect();
        let (resting, there) = (take(&mut self.resting), take(&mut self.resting_count));
        for (from, to) in resting.into_iter().map(clip).filter(is_some) {
            self.start_rests(from, to);
        }
        // Ids that leave count as drawn, so that the numbers of the others only grow.
        self.drawn += there - self.resting_count;
        for (from, to) in [before, behind].into_iter().filter(is_some) {
            self.start_rests(from, to);
        }
        self.range = (first, end);
    }

    /// How many ids may be drawn, if all rests with lower numbers are over.
    pub fn ready(&self, rested_before: u64) -> u64 {
        count(&self.fresh) + self.count_rested(rested_before)
    }

    fn count_rested(&self, rested_before: u64) -> u64 {
        rested_before.saturating_sub(self.drawn).min(self.resting_count)
    }

    /// The next id, if there is one whose rest is over.
    pub fn draw(&mut self, rested_before: u64) -> Option<SlotId> {
        if let Some(slot) = next_of(&mut self.fresh) {
            return Some(slot);
        }
        if self.count_rested(rested_before) == 0 {
            return None;
        }
        self.drawn += 1;
        self.resting_count -= 1;
        next_of(&mut self.resting)
    }

    /// The use of an id has ended.
    pub fn start_rest(&mut self, slot: SlotId) {
        let first = u64::from(slot.0);
        self.start_rests(first, first + 1);
    }

    /// These ids rest from now on, in this order.
    pub(in crate::box_lease) fn start_rests(&mut self, first: u64, end: u64) {
        self.resting_count += end - first;
        match self.resting.back_mut() {
            Some((_, last)) if *last == first => *last = end,
            _ => self.resting.push_back((first, end)),
        }
    }

    /// The number of the next rest. All rests with lower numbers have begun.
    pub fn next_rest_number(&self) -> u64 {
        self.drawn + self.resting_count
    }

    /// Resting ids, as first and end, the longest resting first.
    pub(in crate::box_lease) fn resting(&self) -> impl Iterator<Item = (u64, u64)> {
        self.resting.iter().copied()
    }
}

fn count(ids: &VecDeque<(u64, u64)>) -> u64 {
    ids.iter().map(|(first, end)| end - first).sum()
}

/// Takes the first of these ids.
fn next_of(ids: &mut VecDeque<(u64, u64)>) -> Option<SlotId> {
    let (first, end) = ids.front_mut()?;
    // The bounds of a range are checked when it is set.
    let slot = SlotId(u32::try_from(*first).unwrap_or(u32::MAX));
    *first += 1;
    if first == end {
        ids.pop_front();
    }
    Some(slot)
}

fn bounds(range: SlotRange) -> (u64, u64) {
    let first = u64::from(range.first.0);
    (first, first + u64::from(range.count))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn range(first: u32, count: u32) -> SlotRange {
        SlotRange { first: SlotId(first), count, rest: Duration::ZERO }
    }

    #[test]
    fn fresh_ones_are_drawn_first_and_then_the_longest_rested() {
        let mut slots = Slots::of(range(10, 3));
        let drawn: Vec<_> = (0..3).filter_map(|_| slots.draw(0)).collect();
        assert_eq!(drawn, [10, 11, 12].map(SlotId));
        for slot in [12, 10] {
            slots.start_rest(SlotId(slot));
        }
        assert_eq!((slots.ready(0), slots.ready(1), slots.ready(2), slots.ready(9)), (0, 1, 2, 2));
        assert_eq!((slots.draw(0), slots.draw(1)), (None, Some(SlotId(12))));
        assert_eq!(
            (slots.draw(1), slots.next_rest_number()),
            (None, 2),
            "the rest of 10 is not over"
        );
        slots.start_rest(SlotId(11));
        assert_eq!(
            (slots.draw(3), slots.draw(3), slots.draw(3)),
            (Some(SlotId(10)), Some(SlotId(11)), None)
        );
    }

    #[test]
    fn another_range_makes_no_used_id_fresh() {
        let mut slots = Slots::of(range(10, 4));
        for _ in 0..2 {
            let slot = slots.draw(0).unwrap();
            slots.start_rest(slot);
        }
        slots.move_to(range(11, 5));
        // 10 left; 12 and 13 are fresh as before; 11 rests on, and behind it 14 and 15, which came.
        assert_eq!(slots.resting().collect::<Vec<_>>(), [(11, 12), (14, 16)]);
        let fresh: Vec<_> = std::iter::from_fn(|| slots.draw(1)).collect();
        assert_eq!(fresh, [12, 13].map(SlotId));
        assert_eq!((slots.draw(2), slots.next_rest_number()), (Some(SlotId(11)), 4));
        for slot in [11, 12, 13] {
            slots.start_rest(SlotId(slot));
        }
        // 14 and 15 leave; 10 returns, and the time since its last use is unknown.
        slots.move_to(range(10, 4));
        assert_eq!((slots.draw(4), slots.next_rest_number()), (None, 8));
        let rested: Vec<_> = std::iter::from_fn(|| slots.draw(8)).collect();
        assert_eq!(rested, [11, 12, 13, 10].map(SlotId));
    }
}
