//! The leader that takes a request: whether this node still follows and hears it.

use std::time::Duration;

use reelyard_journal::Journal;
use reelyard_replication::Leadership;
use tokio::time::{Instant, sleep};

/// A leader is lost after this silence. A long answer alone says nothing, because a request may wait for a box. And a
/// paused leader still has open connections.
const SILENT: Duration = Duration::from_millis(2300);

/// A leader that was silent for some heartbeats may be paused or cut off.
const RECENT: Duration = Duration::from_millis(500);

/// A silent leader is looked at once more: this node may have been paused itself, and calls of the leader wait for it.
const SECOND_LOOK: Duration = Duration::from_millis(200);

/// How long a former leader may take for the answer to a request that it took.
const FORMER_LEADER_TIME: Duration = Duration::from_millis(500);

/// The leader `node`, as the journal of this node follows it.
#[derive(Clone)]
pub struct FollowedLeader {
    /// Number of the leader.
    pub node: u64,
    /// The journal of this node.
    pub journal: Journal,
    /// When the request arrived. A silence counts from then on.
    pub since: Instant,
}

/// Why no answer of the leader is expected any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaderLost {
    /// Another node leads, or none.
    #[error("it leads no longer, and has not answered")]
    Deposed,
    /// It does not call this node.
    #[error("it has been silent for {} ms", SILENT.as_millis())]
    Silent,
}

impl FollowedLeader {
    /// Waits until this node no longer follows it.
    pub async fn deposed(&self) {
        let (mut leadership, leader) = (self.journal.leadership(), self.node);
        // The journal of this node has stopped: nobody is followed.
        let _ = leadership.wait_for(|now| *now != Leadership::Following { leader }).await;
    }

    /// Waits until another node leads, or none, or the leader is silent.
    pub async fn lost(&self) -> LeaderLost {
        tokio::select! {
            () = self.deposed() => LeaderLost::Deposed,
            () = self.silent() => LeaderLost::Silent,
        }
    }

    /// The same. A former leader first gets time for an answer that it has already.
    pub async fn lost_with_answer(&self) -> LeaderLost {
        tokio::select! {
            () = async { self.deposed().await; sleep(FORMER_LEADER_TIME).await } => LeaderLost::Deposed,
            () = self.silent() => LeaderLost::Silent,
        }
    }

    /// Waits until it is lost, and then as long as a leader may be silent.
    pub async fn given_up(&self) -> LeaderLost {
        let lost = self.lost().await;
        sleep(SILENT).await;
        lost
    }

    /// How long the leader may still be silent. The next leader counts too.
    pub fn silence_left(&self) -> Duration {
        SILENT.saturating_sub(self.journal.leader_silence().min(self.since.elapsed()))
    }

    /// Whether the leader called this node just now. A request over an open stream to a silent one has no known outcome.
    pub fn is_in_contact(&self) -> bool {
        self.journal.leader_silence() < RECENT
    }

    async fn silent(&self) {
        loop {
            sleep(self.silence_left()).await;
            sleep(SECOND_LOOK).await;
            if self.silence_left().is_zero() {
                return;
            }
        }
    }
}
