//! The number of bytes that one append call to another node carries, adapted to the link and the disk of that node.

use std::time::Duration;

use crate::raft::CommitBatch;
use openraft::EntryPayload;

/// Bytes of the first call, before anything is known about the node.
const FIRST: usize = 256 << 10;

/// Bytes of the largest call. Larger ones gain nothing and delay the heartbeats behind them.
const LARGEST: usize = 2 << 20;

/// Bytes of an entry beside its commits.
const OVERHEAD: usize = 64;

/// A larger call follows if the bytes of the last one took at most this part of a heartbeat, or as long as the way.
const QUICK: u32 = 4;

/// A call that takes longer than this number of heartbeats is followed by a smaller one.
const SLOW: u32 = 4;

/// Adapts like the congestion window of TCP: doubled after a quick answer, halved after a slow one and without one.
#[derive(Debug)]
pub(super) struct AppendBudget {
    bytes: usize,
    /// The shortest time of an answer since the last loss: about that of the way there and back.
    way: Option<Duration>,
}

impl Default for AppendBudget {
    fn default() -> Self {
        AppendBudget { bytes: FIRST, way: None }
    }
}

impl AppendBudget {
    /// How many of the entries one call carries. At least one, because an entry cannot be divided.
    pub(super) fn fitting(&self, entries: &[openraft::Entry<crate::raft::Types>]) -> usize {
        let mut bytes = 0;
        for (count, entry) in entries.iter().enumerate() {
            bytes += OVERHEAD + payload_bytes(&entry.payload);
            if count > 0 && bytes > self.bytes {
                return count;
            }
        }
        entries.len()
    }

    /// A call was answered after `elapsed`. `is_full` if it carried all that it was allowed to.
    pub(super) fn answered(&mut self, elapsed: Duration, heartbeat: Duration, is_full: bool) {
        let way = self.way.map_or(elapsed, |way| way.min(elapsed));
        self.way = Some(way);
        if elapsed > heartbeat.saturating_mul(SLOW) {
            self.lost();
        } else if is_full && elapsed - way <= way.max(heartbeat / QUICK) {
            self.bytes = self.bytes.saturating_mul(2).min(LARGEST);
        }
    }

    /// A call failed, or was not answered in time.
    pub(super) fn lost(&mut self) {
        self.bytes = (self.bytes / 2).max(OVERHEAD);
        self.way = None;
    }
}

fn payload_bytes(payload: &EntryPayload<crate::raft::Types>) -> usize {
    match payload {
        EntryPayload::Normal(CommitBatch(bytes)) => bytes.len(),
        EntryPayload::Blank | EntryPayload::Membership(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openraft::{CommittedLeaderId, Entry, LogId};

    const HEARTBEAT: Duration = Duration::from_millis(100);

    fn entries(count: u64) -> Vec<Entry<crate::raft::Types>> {
        let entry = |index| Entry {
            log_id: LogId::new(CommittedLeaderId::new(1, 1), index),
            payload: EntryPayload::Normal(CommitBatch(vec![0; 32 << 10].into())),
        };
        (0..count).map(entry).collect()
    }

    #[test]
    fn a_call_carries_at_least_one_entry_and_at_most_its_bytes() {
        let mut budget = AppendBudget::default();
        let all = entries(100);
        assert_eq!(budget.fitting(&all), 7, "256 KiB hold 7 entries with their overhead");
        assert_eq!(budget.fitting(&all[..3]), 3);
        assert_eq!(budget.fitting(&[]), 0);
        for _ in 0..40 {
            budget.lost();
        }
        assert_eq!(budget.fitting(&all), 1);
    }

    #[test]
    fn it_grows_with_quick_answers_and_shrinks_with_slow_ones_and_without() {
        let mut budget = AppendBudget::default();
        let call = |budget: &mut AppendBudget, answer: Option<u64>| {
            match answer {
                Some(millis) => budget.answered(Duration::from_millis(millis), HEARTBEAT, true),
                None => budget.lost(),
            }
            budget.bytes
        };
        assert_eq!(call(&mut budget, Some(5)), 2 * FIRST);
        assert_eq!(call(&mut budget, Some(60)), 2 * FIRST);
        assert_eq!(call(&mut budget, Some(400)), 2 * FIRST, "a long way keeps the size");
        assert_eq!(call(&mut budget, Some(401)), FIRST);
        assert_eq!(call(&mut budget, None), FIRST / 2);
        for _ in 0..20 {
            call(&mut budget, Some(1));
        }
        assert_eq!(budget.bytes, LARGEST);
        budget.lost();
        budget.answered(Duration::from_millis(1), HEARTBEAT, false);
        assert_eq!(budget.bytes, LARGEST / 2, "a small call says nothing about large ones");
    }

    #[test]
    fn on_a_long_way_it_grows_again_after_a_loss() {
        let mut budget = AppendBudget::default();
        for _ in 0..40 {
            budget.lost();
        }
        // 200 ms there and back, and 10 Mbit/s.
        let call = |budget: &mut AppendBudget| {
            let passes = Duration::from_secs_f64(budget.bytes as f64 / 1_250_000.0);
            budget.answered(Duration::from_millis(200) + passes, HEARTBEAT, true);
        };
        for _ in 0..20 {
            call(&mut budget);
        }
        assert!((64 << 10..512 << 10).contains(&budget.bytes), "{}", budget.bytes);
    }
}
