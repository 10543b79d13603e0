//! Shares with missing files, and since when they are missing. Pure.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use crate::share_expiry::ShareId;

/// How many shares are remembered. The next pass finds the others.
const MOST: usize = 100_000;

/// Shares that must be checked once more.
#[derive(Debug, Default)]
pub(super) struct MissingShares {
    known: HashSet<ShareId>,
    /// In the order in which they were found.
    since: VecDeque<(Instant, ShareId)>,
}

impl MissingShares {
    /// Records that a file was missing.
    pub(super) fn add(&mut self, id: ShareId, now: Instant) {
        if self.known.len() < MOST && self.known.insert(id) {
            self.since.push_back((now, id));
        }
    }

    /// Takes shares that were found long enough ago, at most `most`.
    pub(super) fn due(&mut self, now: Instant, after: Duration, most: usize) -> Vec<ShareId> {
        let is_due = |(since, _): &&(Instant, ShareId)| now.duration_since(*since) >= after;
        let count = self.since.iter().take(most).take_while(is_due).count();
        let due: Vec<ShareId> = self.since.drain(..count).map(|(_, id)| id).collect();
        for id in &due {
            self.known.remove(id);
        }
        due
    }

    /// When the next share must be checked.
    pub(super) fn next(&self, after: Duration) -> Option<Instant> {
        self.since.front().map(|(since, _)| *since + after)
    }

    /// How many shares are remembered.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Another node looks from now on.
    pub(super) fn clear(&mut self) {
        *self = MissingShares::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_share_is_checked_again_after_its_delay() {
        let (mut missing, began) = (MissingShares::default(), Instant::now());
        let at = |ms| began + Duration::from_millis(ms);
        let after = Duration::from_millis(100);
        missing.add(ShareId(1), at(0));
        missing.add(ShareId(2), at(50));
        missing.add(ShareId(1), at(60));
        assert_eq!((missing.len(), missing.next(after)), (2, Some(at(100))));
        assert!(missing.due(at(99), after, 9).is_empty());
        assert_eq!(missing.due(at(100), after, 9), [ShareId(1)]);
        missing.add(ShareId(1), at(120));
        assert_eq!(missing.due(at(500), after, 1), [ShareId(2)]);
        assert_eq!(missing.due(at(500), after, 1), [ShareId(1)]);
        assert_eq!((missing.len(), missing.next(after)), (0, None));
    }
}
