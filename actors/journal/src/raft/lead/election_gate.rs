//! When this node stands for election: after it has heard no leader for the lease, and a majority would vote for it.
//!
//! openraft would let a node stand that was cut off. Its higher term would depose the leader once the link is back. So
//! openraft's own timer is off, and this node first asks the others: a pre-vote, which openraft 0.9 does not have.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use openraft::ServerState;
use reelyard_replication::Member;
use tokio::time::{sleep, timeout};

use super::quorum::{is_majority, other_voters};
use crate::raft::call_messages::{RaftRequest, RaftResponse};
use crate::raft::node::RaftNode;
use crate::raft::{LogId, Raft};

impl RaftNode {
    /// Stands for election whenever that is due, until the raft node ends.
    pub(in crate::raft) async fn stand_when_due(&self, raft: &Raft) {
        let mut metrics = raft.metrics();
        // Different nodes wait for different times, so that one of them stands first.
        let mut extra = self.random_wait();
        // A leader stands for no election. One that is alone does not wake here.
        while metrics.wait_for(|now| now.state != ServerState::Leader).await.is_ok() {
            let due = (self.patience + extra).saturating_sub(self.contact.leader_silence());
            if !due.is_zero() {
                sleep(due).await;
                continue;
            }
            if !self.may_stand(raft).await {
                sleep(self.heartbeat).await;
                continue;
            }
            tracing::info!("a majority hears no leader: this node stands for election");
            if raft.trigger().elect().await.is_err() {
                return;
            }
            extra = self.random_wait();
            sleep(self.patience.saturating_sub(self.election_spread) + extra).await;
        }
    }

    /// Whether this node would vote for a node whose log ends with `last`. It does not while it hears a leader or leads
    /// itself, and not if its log has something newer.
    pub(in crate::raft) fn would_vote(&self, raft: &Raft, last: Option<LogId>) -> bool {
        let hears_no_leader = self.contact.leader_silence() > self.patience;
        hears_no_leader && !self.certainly_leads() && end_of_log(raft) <= last
    }

    async fn may_stand(&self, raft: &Raft) -> bool {
        let last = end_of_log(raft);
        let membership = raft.metrics().borrow().membership_config.membership().clone();
        let voters = membership.get_joint_config();
        let has_right_clock = self.peers.quorum.is_within_bound(self.contact.ahead_ms());
        let is_voter = voters.iter().any(|set| set.contains(&self.id));
        let others = other_voters(&membership, self.id);
        let has_room = others.is_empty() || self.has_room_to_lead();
        if !is_voter || !has_right_clock || !has_room || !self.would_vote(raft, last) {
            return false;
        }
        let mut agree = BTreeSet::from([self.id]);
        let mut answers: FuturesUnordered<_> =
            others.into_iter().map(|member| self.ask_for_vote(member, last)).collect();
        while !is_majority(&agree, voters) {
            match answers.next().await {
                Some(agrees) => agree.extend(agrees),
                None => return false,
            }
        }
        // The leader may have called meanwhile.
        self.would_vote(raft, last)
    }

    /// The number of a voter that would vote for this node. None if it would not, or does not answer.
    async fn ask_for_vote(&self, member: Member, last: Option<LogId>) -> Option<u64> {
        let peer = self.peers.peer(member.number, &member.record);
        let request = RaftRequest::WouldVote { last: last.map(Into::into) };
        match timeout(self.patience, peer.call(request)).await {
            Ok(Ok(RaftResponse::Followed(true))) => Some(member.number),
            _ => None,
        }
    }

    fn random_wait(&self) -> Duration {
        self.election_spread.mul_f64(fastrand::f64())
    }
}

/// The last entry of the log of this node.
fn end_of_log(raft: &Raft) -> Option<LogId> {
    raft.data_metrics().borrow().last_log
}
