//! How current the views of this node are, and reads that wait until they are current enough.

use std::time::Duration;

use reelyard_replication::{CommitError, Leadership};
use tokio::time::{Instant, timeout_at};

use crate::Journal;

/// The views do not show an entry in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node shows the journal up to entry {shown}, and did not reach entry {wanted} within {} ms", within.as_millis())]
pub struct BehindEntry {
    /// Index of the wanted entry.
    pub wanted: u64,
    /// Index of the last entry that all views show.
    pub shown: u64,
    /// The time limit.
    pub within: Duration,
}

impl Journal {
    /// Index of the last entry that is applied here. Each change that this node has acknowledged is at or before it.
    pub fn applied(&self) -> u64 {
        self.0.owners.position().applied().saturating_sub(1)
    }

    /// Index of the last entry that all views of this node show.
    pub fn shown(&self) -> u64 {
        self.0.owners.position().shown().borrow().saturating_sub(1)
    }

    /// Waits until the views show the entry `wanted`. Answers the last entry that they show.
    ///
    /// # Errors
    /// They do not within this time.
    pub async fn until_shown(&self, wanted: u64, within: Duration) -> Result<u64, BehindEntry> {
        let mut shown = self.0.owners.position().shown();
        let reached = shown.wait_for(|end| *end > wanted);
        match timeout_at(Instant::now() + within, reached).await {
            Ok(Ok(end)) => Ok(end.saturating_sub(1)),
            _ => Err(BehindEntry { wanted, shown: self.shown(), within }),
        }
    }

    /// The last entry that a linearizable read must see which begins now: the leader confirms its rank with a quorum.
    ///
    /// # Errors
    /// No leader was confirmed within this time.
    pub async fn read_index(&self, within: Duration) -> Result<u64, CommitError> {
        let read = self.0.node.read_index(Instant::now() + within).await;
        read.map_err(|known| match known {
            // Its rank was not confirmed.
            Leadership::Leading { .. } => CommitError::NotLeader { leader: None },
            known => known.refusal(),
        })
    }

    /// How old the views of this node can be: the time since the leader was last in contact. Zero on a leader that no
    /// other node can have replaced. None if this node has never led, and never heard a leader.
    ///
    /// The time counts while the machine is suspended.
    pub fn staleness(&self) -> Option<Duration> {
        self.0.node.staleness()
    }

    /// How long ago a quorum certainly followed the leader, as far as this node knows: followers learn it with each call
    /// of the leader. None before the first contact. Unlike [`Journal::staleness`] it does not grow with slow views.
    pub fn since_quorum(&self) -> Option<Duration> {
        self.0.node.since_quorum()
    }

    /// The time since another node last answered a call of this one. A call of that node says nothing about the way
    /// there. None before its first answer.
    pub fn since_answer(&self, node: u64) -> Option<Duration> {
        self.0.node.since_answer(node)
    }

    /// The time since a leader called that this node follows, since this node gave its vote, or since its start. It does
    /// not count while the machine is suspended, and says nothing on a leader.
    pub fn leader_silence(&self) -> Duration {
        self.0.node.leader_silence()
    }

    /// The node that leads: this one if it certainly does, or the leader that it follows and has heard within
    /// `journal.election_max`.
    pub fn present_leader(&self) -> Option<u64> {
        self.0.node.present_leader()
    }

    /// Whether this node leads, and no other node can lead now. Unlike [`Journal::leadership`] it is exact also when
    /// the process was paused.
    pub fn certainly_leads(&self) -> bool {
        self.0.node.certainly_leads()
    }
}
