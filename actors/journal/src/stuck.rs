//! Owners that cannot commit their own decisions.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use reelyard_core::event::PieceId;

/// An owner repeats a failed decision after a second. If a failure was not repeated for this long,
/// it is over.
const SHOWN_FOR: Duration = Duration::from_secs(30);

/// The last failure of each owner.
#[derive(Debug, Default)]
pub(super) struct StuckOwners(Mutex<BTreeMap<u8, OwnerFailure>>);

#[derive(Debug)]
struct OwnerFailure {
    piece: PieceId,
    why: String,
    at: Instant,
}

impl StuckOwners {
    /// Records a failure. Answers whether it was not known yet.
    pub fn record(&self, piece: PieceId, why: String, at: Instant) -> bool {
        let failure = OwnerFailure { piece, why, at };
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = failures.insert(piece.into(), failure);
        before.is_none_or(|before| is_over(&before, at))
    }

    /// Descriptions of all current failures.
    pub fn list(&self, now: Instant) -> Vec<String> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let current = failures.values().filter(|failure| !is_over(failure, now));
        let words = current.map(|OwnerFailure { piece, why, .. }| {
            format!(
                "the owner of {piece:?} cannot commit its own events and is paused: {why}. This is a \
                 defect of the program: report it with the log, and restart with the configuration \
                 that worked before"
            )
        });
        words.collect()
    }
}

fn is_over(failure: &OwnerFailure, now: Instant) -> bool {
    now.saturating_duration_since(failure.at) >= SHOWN_FOR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_shown_until_it_was_not_repeated_for_a_while() {
        let (stuck, at) = (StuckOwners::default(), Instant::now());
        assert!(stuck.list(at).is_empty());
        assert!(stuck.record(PieceId::Tasks, "too large".to_owned(), at));
        assert!(!stuck.record(PieceId::Tasks, "too large".to_owned(), at + SHOWN_FOR / 2));
        let list = stuck.list(at + SHOWN_FOR);
        assert!(list.len() == 1 && list[0].contains("Tasks") && list[0].contains("too large"));
        assert!(stuck.list(at + SHOWN_FOR * 2).is_empty());
        assert!(stuck.record(PieceId::Tasks, "too large".to_owned(), at + SHOWN_FOR * 2));
    }
}
