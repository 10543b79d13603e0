//! A node whose wall clock is far from the median of the voters does not lead.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::raft::node::RaftNode;

/// Pause before the lead is handed over again after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// The clock of this node, as the watcher sees it.
#[derive(Debug, Default)]
pub(in crate::raft) struct ClockWatch {
    is_wrong: bool,
    handed_over: Option<Instant>,
}

impl ClockWatch {
    /// Hands the lead over with a wrong clock.
    pub(in crate::raft) fn look(&mut self, node: &Arc<RaftNode>, is_leading: bool) {
        let ahead_ms = node.clock_ahead(is_leading);
        let is_wrong = !node.peers.quorum.is_within_bound(ahead_ms);
        if std::mem::replace(&mut self.is_wrong, is_wrong) != is_wrong {
            match is_wrong {
                true => tracing::warn!(
                    ahead_ms,
                    "the wall clock is too far from the median of the voters: this node does not lead"
                ),
                false => tracing::info!(ahead_ms, "the wall clock is near the median again"),
            }
        }
        let is_recent = self.handed_over.is_some_and(|at| at.elapsed() < RETRY);
        if is_wrong && is_leading && !is_recent {
            self.handed_over = Some(Instant::now());
            let node = node.clone();
            tokio::spawn(async move {
                match node.hand_over(None).await {
                    Ok(leader) => tracing::info!(leader, "another node leads, by a better clock"),
                    Err(error) => {
                        tracing::warn!(%error, "this node leads with a wrong wall clock");
                    }
                }
            });
        }
    }
}

impl RaftNode {
    /// How far the wall clock of this node is ahead of the median, in milliseconds.
    fn clock_ahead(&self, is_leading: bool) -> i64 {
        if !is_leading {
            return self.contact.ahead_ms();
        }
        let distances = self.peers.quorum.clock_distances();
        distances.get(&self.id).copied().unwrap_or_default()
    }

    /// The clocks that are too far from the median, by the number of the node, in milliseconds. Only the leader knows
    /// those of others.
    pub(crate) fn wrong_clocks(&self) -> BTreeMap<u64, i64> {
        let is_leading = self.leadership().borrow().epoch().is_some();
        let mut clocks = match is_leading {
            true => self.peers.quorum.clock_distances(),
            false => BTreeMap::from([(self.id, self.contact.ahead_ms())]),
        };
        clocks.retain(|_, ahead_ms| !self.peers.quorum.is_within_bound(*ahead_ms));
        clocks
    }
}
