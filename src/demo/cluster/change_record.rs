//! The acknowledged changes of the demo's client: their number, the longest gap, and whether any is lost. Pure.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use reelyard_shares::share_expiry::ShareId;

/// The outcomes of all changes.
#[derive(Debug, Default)]
pub struct ChangeRecord {
    /// Shares whose creation was acknowledged, and whose revocation was not sent.
    live: BTreeSet<ShareId>,
    /// Shares whose revocation was acknowledged.
    revoked: BTreeSet<ShareId>,
    acknowledged: u64,
    failed: u64,
    last_failure: Option<String>,
    /// When the last change was acknowledged. None while no client makes changes.
    last: Option<Instant>,
    longest_gap: Duration,
}

/// A summary of the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeFigures {
    /// Number of acknowledged changes.
    pub acknowledged: u64,
    /// Number of changes that were refused, or that no node acknowledged in time.
    pub failed: u64,
    /// Reason of the last of them.
    pub last_failure: Option<String>,
    /// Longest time between two acknowledged changes. The time since the last one counts too.
    pub longest_gap: Duration,
}

impl ChangeRecord {
    /// A client begins.
    pub fn begin(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// The client ends. Later time is part of no gap.
    pub fn end(&mut self, now: Instant) {
        self.longest_gap = self.gap(now);
        self.last = None;
    }

    /// A new share was acknowledged.
    pub fn created(&mut self, share: ShareId, now: Instant) {
        self.live.insert(share);
        self.acknowledge(now);
    }

    /// A revocation is sent. Until its answer the share may be there or not.
    pub fn revoking(&mut self, share: ShareId) {
        self.live.remove(&share);
    }

    /// A revocation was acknowledged.
    pub fn revoked(&mut self, share: ShareId, now: Instant) {
        self.revoked.insert(share);
        self.acknowledge(now);
    }

    /// A change was refused, or no node acknowledged it in time.
    pub fn fail(&mut self, why: String) {
        self.failed += 1;
        self.last_failure = Some(why);
    }

    /// The summary at `now`.
    pub fn figures(&self, now: Instant) -> ChangeFigures {
        ChangeFigures {
            acknowledged: self.acknowledged,
            failed: self.failed,
            last_failure: self.last_failure.clone(),
            longest_gap: self.gap(now),
        }
    }

    /// The first acknowledged change that is missing in the live shares of the leader.
    pub fn first_loss(&self, listed: &BTreeSet<ShareId>) -> Option<String> {
        let missing = self.live.difference(listed).next();
        let back = self.revoked.intersection(listed).next();
        match (missing, back) {
            (Some(share), _) => {
                Some(format!("share {} was created, and it is not there", share.hint()))
            }
            (None, Some(share)) => {
                Some(format!("share {} was revoked, and it is there", share.hint()))
            }
            (None, None) => None,
        }
    }

    fn acknowledge(&mut self, now: Instant) {
        self.acknowledged += 1;
        self.longest_gap = self.gap(now);
        self.last = Some(now);
    }

    fn gap(&self, now: Instant) -> Duration {
        let open = self.last.map(|last| now.saturating_duration_since(last));
        self.longest_gap.max(open.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_gap_lies_between_two_changes_or_is_still_open() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let mut record = ChangeRecord::default();
        record.begin(begin);
        record.created(ShareId(1), at(100));
        record.created(ShareId(2), at(900));
        let gap = |record: &ChangeRecord, ms| record.figures(at(ms)).longest_gap.as_millis();
        assert_eq!((gap(&record, 1000), gap(&record, 1800)), (800, 900));
        record.end(at(1000));
        record.begin(at(9000));
        record.revoked(ShareId(1), at(9100));
        assert_eq!(gap(&record, 9100), 800, "the time without a client counts");
        assert_eq!(record.figures(at(9100)).acknowledged, 3);
    }

    #[test]
    fn a_lost_and_a_returned_share_are_found() {
        let now = Instant::now();
        let mut record = ChangeRecord::default();
        record.created(ShareId(1), now);
        let both = BTreeSet::from([ShareId(1), ShareId(2)]);
        assert_eq!(record.first_loss(&both), None, "another client may create shares");
        let lost = record.first_loss(&BTreeSet::new());
        assert!(lost.is_some_and(|text| text.contains("not there")));
        record.revoking(ShareId(1));
        assert_eq!(record.first_loss(&BTreeSet::new()), None, "its revocation is under way");
        record.revoked(ShareId(1), now);
        let back = record.first_loss(&both);
        assert!(back.is_some_and(|text| text.contains("was revoked")));
    }
}
