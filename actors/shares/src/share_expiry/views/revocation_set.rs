//! Shares that were revoked hard a moment ago. Every running download of such a share finds it here at its
//! next check, even if the share is forgotten.

use std::collections::HashSet;
use std::time::Duration;

use tokio::time::Instant;

use crate::share_expiry::state::values::id::ShareId;

/// The least time that a share stays in this set. Every download of it has checked the set by then.
const CUT_WITHIN: Duration = Duration::from_secs(15);

/// The shares whose downloads are cut.
#[derive(Debug, Default)]
pub(in crate::share_expiry) struct RevocationSet {
    newer: HashSet<ShareId>,
    older: HashSet<ShareId>,
    /// The time at which the newer set was begun.
    since: Option<Instant>,
}

impl RevocationSet {
    /// Whether running downloads of a share are cut.
    pub(in crate::share_expiry) fn has(&self, id: ShareId) -> bool {
        self.newer.contains(&id) || self.older.contains(&id)
    }

    /// Downloads of these shares are cut from now on.
    pub(in crate::share_expiry) fn add(&mut self, ids: &[ShareId], now: Instant) {
        self.prune(now);
        self.since.get_or_insert(now);
        self.newer.extend(ids);
    }

    /// Removes old entries.
    pub(in crate::share_expiry) fn prune(&mut self, now: Instant) {
        if self.since.is_some_and(|since| now.saturating_duration_since(since) >= CUT_WITHIN) {
            self.older = std::mem::take(&mut self.newer);
            self.since = (!self.older.is_empty()).then_some(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_for_its_time_and_no_longer_than_twice_that() {
        let (mut revocations, began) = (RevocationSet::default(), Instant::now());
        let (one, other) = (ShareId(1), ShareId(2));
        let look = |revocations: &mut RevocationSet, after: Duration| {
            revocations.prune(began + after);
            (revocations.has(one), revocations.has(other))
        };
        revocations.add(&[one], began);
        let just_before = CUT_WITHIN - Duration::from_millis(1);
        assert_eq!(look(&mut revocations, just_before), (true, false));
        revocations.add(&[other], began + just_before);
        assert_eq!(look(&mut revocations, CUT_WITHIN), (true, true));
        assert_eq!(look(&mut revocations, just_before + CUT_WITHIN), (true, true));
        assert_eq!(look(&mut revocations, CUT_WITHIN * 2), (false, false));
        assert_eq!(
            (revocations.newer.len(), revocations.older.len(), revocations.since),
            (0, 0, None)
        );
    }
}
