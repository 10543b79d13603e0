//! Decides when a learner becomes a voter.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::raft::Metrics;

/// A learner within this many entries of the leader is up to date.
pub(crate) const CLOSE: u64 = 1000;

/// A learner that was up to date for this time gets a vote.
const STABLE_FOR: Duration = Duration::from_secs(10);

/// Since when each learner has been up to date, on the leader.
#[derive(Debug, Default)]
pub(crate) struct LearnerWatch(BTreeMap<u64, Instant>);

impl LearnerWatch {
    /// The learner that becomes a voter now. A node that does not answer gets no vote: the leader would need it
    /// for its next decision. After an answer its time begins again, so that a change that
    /// fails is tried again later.
    pub(crate) fn due(
        &mut self,
        metrics: &Metrics,
        now: Instant,
        is_live: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let membership = metrics.membership_config.membership();
        let Some(replication) = &metrics.replication else {
            self.0.clear();
            return None;
        };
        let end = metrics.last_log_index.unwrap_or(0);
        let is_close = |number: &u64| {
            let matched = replication.get(number).copied().flatten();
            matched.is_some_and(|log_id| log_id.index + CLOSE >= end) && is_live(*number)
        };
        let close: Vec<u64> = membership.learner_ids().filter(is_close).collect();
        self.0.retain(|number, _| close.contains(number));
        let mut due = None;
        for number in close {
            let since = self.0.entry(number).or_insert(now);
            if due.is_none() && now.saturating_duration_since(*since) >= STABLE_FOR {
                *since = now;
                due = Some(number);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use openraft::{CommittedLeaderId, LogId, Membership, StoredMembership};

    use super::*;
    use crate::raft::members::member_node::MemberNode;

    fn metrics(matched: u64) -> Metrics {
        let log_id = |index| LogId::new(CommittedLeaderId::new(1, 1), index);
        let nodes = BTreeMap::from([1, 2].map(|number| (number, MemberNode::default())));
        let membership = Membership::new(vec![[1].into()], nodes);
        let mut metrics = Metrics::new_initial(1);
        metrics.membership_config = Arc::new(StoredMembership::new(None, membership));
        metrics.last_log_index = Some(5000);
        metrics.replication =
            Some(BTreeMap::from([(1, Some(log_id(5000))), (2, Some(log_id(matched)))]));
        metrics
    }

    #[test]
    fn a_learner_votes_after_ten_seconds_within_a_thousand_entries() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut watch = LearnerWatch::default();
        assert_eq!(watch.due(&metrics(3999), start, |_| true), None);
        assert_eq!(watch.due(&metrics(4000), after(1), |_| true), None);
        assert_eq!(watch.due(&metrics(4000), after(10), |_| true), None);
        assert_eq!(watch.due(&metrics(4000), after(11), |_| true), Some(2));
        assert_eq!(watch.due(&metrics(4000), after(12), |_| true), None);
        // It falls behind, and begins again.
        assert_eq!(watch.due(&metrics(3000), after(20), |_| true), None);
        assert_eq!(watch.due(&metrics(5000), after(21), |_| true), None);
        // Another node leads meanwhile.
        let mut follower = metrics(5000);
        follower.replication = None;
        assert_eq!(watch.due(&follower, after(30), |_| true), None);
        assert_eq!(watch.due(&metrics(5000), after(31), |_| true), None);
        assert_eq!(watch.due(&metrics(5000), after(41), |_| true), Some(2));
        // It has everything, and does not answer any more.
        assert_eq!(watch.due(&metrics(5000), after(50), |_| false), None);
        assert_eq!(watch.due(&metrics(5000), after(60), |_| true), None);
    }
}
