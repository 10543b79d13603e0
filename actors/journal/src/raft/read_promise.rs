//! Reads with a promise: the leader confirms its rank, and the age of the knowledge of this node.

use std::time::Duration;

use reelyard_replication::Leadership;
use tokio::time::{Instant, sleep, timeout_at};

use super::Raft;
use super::call_messages::{RaftRequest, RaftResponse};
use super::node::RaftNode;

/// Pause before the leader is asked again.
const RETRY: Duration = Duration::from_millis(20);

impl RaftNode {
    /// The last entry that a read must see which begins now: a quorum confirms the leader first.
    ///
    /// # Errors
    /// No leader was confirmed in time.
    pub(crate) async fn read_index(&self, until: Instant) -> Result<u64, Leadership> {
        let mut leadership = self.leadership();
        loop {
            let known = timeout_at(until, leadership.wait_for(|now| *now != Leadership::Nobody));
            let known = match known.await {
                Ok(Ok(known)) => *known,
                Ok(Err(_)) => return Err(Leadership::Stopped),
                Err(_) => return Err(Leadership::Nobody),
            };
            // A leader that does not answer may be replaced meanwhile.
            let attempt = until.min(Instant::now() + self.patience);
            let confirmed = match (known, self.raft.get()) {
                (Leadership::Leading { .. }, Some(raft)) => {
                    timeout_at(attempt, self.confirm_read(raft)).await
                }
                (Leadership::Following { leader }, _) => {
                    timeout_at(attempt, self.ask_for_read(leader)).await
                }
                _ => return Err(known),
            };
            if let Ok(Some(index)) = confirmed {
                return Ok(index);
            }
            if Instant::now() >= until {
                return Err(known);
            }
            sleep(RETRY).await;
        }
    }

    /// Confirms with a quorum that this node leads, and answers the end of the log that was acknowledged before. None
    /// if no quorum confirms it.
    pub(super) async fn confirm_read(&self, raft: &Raft) -> Option<u64> {
        // The log of a leader has everything that was acknowledged.
        let end = raft.metrics().borrow().last_log_index;
        if self.confirm_lead(raft).await { end } else { None }
    }

    async fn ask_for_read(&self, leader: u64) -> Option<u64> {
        let members = self.members();
        let member = members.iter().find(|member| member.number == leader)?;
        let peer = self.peers.peer(leader, &member.record);
        match peer.call(RaftRequest::ConfirmRead).await {
            Ok(RaftResponse::Confirmed(index)) => index,
            Ok(_) => None,
            Err(error) => {
                tracing::debug!(%error, "the leader did not confirm a read");
                None
            }
        }
    }

    /// How old the views of this node can be. Zero on a leader that no other node can have replaced. None if it never
    /// led, and never heard a leader.
    pub(crate) fn staleness(&self) -> Option<Duration> {
        // Read first: a leader with a valid lease knows everything until later.
        let now = self.peers.quorum.now();
        let shown = *self.peers.position.shown().borrow();
        let known = self.contact.known_at(shown).max(self.peers.quorum.known_at());
        Some(now.saturating_sub(known?))
    }

    /// How long ago a quorum certainly followed the leader, as far as this node knows. None before the first contact.
    pub(crate) fn since_quorum(&self) -> Option<Duration> {
        let now = self.peers.quorum.now();
        let led = self.contact.led_at().max(self.peers.quorum.known_at());
        Some(now.saturating_sub(led?))
    }

    /// The time since another node last answered a call of this one.
    pub(crate) fn since_answer(&self, node: u64) -> Option<Duration> {
        self.peers.contacts.since_answer(node)
    }

    /// The time since this node heard a leader.
    pub(crate) fn leader_silence(&self) -> Duration {
        self.contact.leader_silence()
    }

    /// The leader, if this node is sure that it leads, or has just heard it.
    pub(crate) fn present_leader(&self) -> Option<u64> {
        match *self.leadership().borrow() {
            Leadership::Leading { .. } if self.certainly_leads() => Some(self.id),
            Leadership::Following { leader } if self.leader_silence() <= self.patience => {
                Some(leader)
            }
            _ => None,
        }
    }

    /// Whether this node follows a leader whose disk is full.
    pub(crate) fn is_leader_disk_full(&self) -> bool {
        let follows = matches!(*self.leadership().borrow(), Leadership::Following { .. });
        follows && self.contact.is_disk_full()
    }

    /// Whether this node leads, and no other node can lead now.
    pub(crate) fn certainly_leads(&self) -> bool {
        self.peers.quorum.certainly_leads()
    }
}
