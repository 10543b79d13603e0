//! Batches: small copies from one source that one thread makes one after the other, over one connection.
//! Pure.
//!
//! A small file costs more in waits and wake-ups than in bytes. All files of a batch are requested at
//! once, so neither side waits for the other between two files.

use std::collections::{HashMap, VecDeque};

use crate::downloader::copying::order::CopyOrder;

/// Copies up to this size, in bytes, are made in batches: a whole batch is no larger than one large step
/// of a large copy.
pub const SMALL: u64 = 256 << 10;

/// How many copies a batch has at most. Few enough that the report of the hottest copy is not much later
/// than its arrival.
pub const LONGEST: usize = 16;

/// Takes the next batch of waiting copies, best first, if `free` slots are free. As many batches as
/// free slots are better than one long batch.
pub(in crate::downloader) fn next_batch(
    waiting: &mut VecDeque<CopyOrder>,
    free: usize,
) -> Vec<CopyOrder> {
    let share = waiting.len().div_ceil(free.max(1)).clamp(1, LONGEST);
    let Some(first) = waiting.front() else { return Vec::new() };
    let go_together = |order: &&CopyOrder| is_small(order) && is_like(first, order);
    let together = waiting.iter().take(share).take_while(go_together).count();
    waiting.drain(..together.max(1)).collect()
}

/// A copy at a limited rate does not count as small, because early requests would be answered too late.
fn is_small(order: &CopyOrder) -> bool {
    order.size.is_some_and(|size| size <= SMALL) && order.copy_speed.is_none()
}

fn is_like(first: &CopyOrder, other: &CopyOrder) -> bool {
    (first.source, first.source_data) == (other.source, other.source_data)
}

/// The occupied slots. The slot of a batch is free as soon as none of its copies needs it.
#[derive(Clone, Debug, Default)]
pub(in crate::downloader) struct BatchSlots {
    /// How many copies of each batch need their slot.
    taken: HashMap<BatchSlot, usize>,
    next: u64,
}

/// The slot of one batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::downloader) struct BatchSlot(u64);

impl BatchSlots {
    /// The number of occupied slots.
    pub(in crate::downloader) fn taken(&self) -> usize {
        self.taken.len()
    }

    /// Takes a slot for a batch of this many copies.
    pub(in crate::downloader) fn acquire(&mut self, copies: usize) -> BatchSlot {
        let slot = BatchSlot(self.next);
        self.next += 1;
        self.taken.insert(slot, copies);
        slot
    }

    /// One copy no longer needs it.
    pub(in crate::downloader) fn leave(&mut self, slot: BatchSlot) {
        let Some(left) = self.taken.get_mut(&slot) else { return };
        *left -= 1;
        if *left == 0 {
            self.taken.remove(&slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::host::BitsPerSecond;
    use reelyard_core::names::FileName;
    use reelyard_protocol::worker::TaskId;

    use super::*;

    fn order(id: i64, size: Option<u64>, port: u16) -> CopyOrder {
        CopyOrder {
            id: TaskId(id),
            name: FileName::new(format!("{id}.mpg")).unwrap(),
            dir: "/data".into(),
            source: format!("127.0.0.1:{port}").parse().unwrap(),
            source_tls: false,
            source_data: None,
            size,
            copy_speed: None,
            tickets: None,
        }
    }

    fn batches(mut waiting: VecDeque<CopyOrder>, free: usize) -> Vec<Vec<i64>> {
        let mut batches = Vec::new();
        for free in (1..=free).rev() {
            let batch = next_batch(&mut waiting, free);
            batches.push(batch.iter().map(|order| order.id.0).collect());
        }
        batches
    }

    #[test]
    fn small_copies_share_the_free_places() {
        let small = |copies: i64| (0..copies).map(|id| order(id, Some(SMALL), 1)).collect();
        assert_eq!(batches(small(5), 2), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(batches(small(2), 4), [vec![0], vec![1], vec![], vec![]]);
        let lengths = batches(small(100), 3).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths, [LONGEST; 3]);
    }

    #[test]
    fn only_small_copies_of_one_source_at_no_limited_rate_go_together() {
        let mut slow = order(6, Some(1), 2);
        slow.copy_speed = Some(BitsPerSecond(1));
        let waiting = [
            order(0, Some(SMALL + 1), 1),
            order(1, Some(1), 1),
            order(2, Some(1), 2),
            order(3, Some(1), 2),
            order(4, None, 2),
            order(5, Some(1), 2),
            slow,
        ];
        let mut waiting = VecDeque::from(waiting);
        let mut lengths = Vec::new();
        while !waiting.is_empty() {
            lengths.push(next_batch(&mut waiting, 1).len());
        }
        assert_eq!(lengths, [1, 1, 2, 1, 1, 1]);
    }

    #[test]
    fn a_place_is_free_when_its_last_copy_has_left_it() {
        let mut slots = BatchSlots::default();
        let (first, second) = (slots.acquire(2), slots.acquire(1));
        slots.leave(first);
        assert_eq!(slots.taken(), 2);
        slots.leave(first);
        slots.leave(first);
        assert_eq!(slots.taken(), 1);
        slots.leave(second);
        assert_eq!(slots.taken(), 0);
    }
}
