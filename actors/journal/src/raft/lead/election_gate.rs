//! Elections only while a majority hears no leader.
//!
//! A node that was cut off would stand for election again and again. Once its link is back, its higher term would
//! depose the leader. So it first asks the others, which has the effect of a pre-vote. openraft 0.9 has none.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use openraft::ServerState;
use reelyard_replication::Member;
use tokio::time::{sleep, timeout};

use crate::raft::Raft;
use crate::raft::call_messages::{RaftRequest, RaftResponse};
use crate::raft::node::RaftNode;

/// A leader that was not heard for this number of heartbeats counts as silent.
const SILENT_HEARTBEATS: u32 = 2;

impl RaftNode {
    /// Lets openraft begin elections only while this node may lead, until the raft node ends.
    pub(in crate::raft) async fn guard_elections(&self, raft: &Raft) {
        let mut metrics = raft.metrics();
        let mut may_stand = false;
        loop {
            if metrics.borrow().state == ServerState::Leader {
                may_stand = false;
                raft.runtime_config().elect(false);
            }
            // A leader stands for no election, and one that is alone does not wake.
            if metrics.wait_for(|now| now.state != ServerState::Leader).await.is_err() {
                return;
            }
            let voters = metrics.borrow().membership_config.membership().get_joint_config().clone();
            let has_right_clock = self.peers.quorum.is_within_bound(self.contact.ahead_ms());
            let before = may_stand;
            may_stand = has_right_clock && self.most_hear_no_leader(&voters).await;
            raft.runtime_config().elect(may_stand);
            if may_stand && !before {
                tracing::info!("a majority hears no leader: this node may stand for election");
            }
            sleep(self.heartbeat).await;
        }
    }

    /// Whether this node has heard no leader lately, and does not lead itself.
    pub(in crate::raft) fn hears_no_leader(&self) -> bool {
        let silence = self.contact.leader_silence();
        let is_silent = silence.is_none_or(|silence| silence > self.silent_after());
        is_silent && !self.certainly_leads()
    }

    /// Whether a majority of each set of voters, this node included, hears no leader.
    async fn most_hear_no_leader(&self, voters: &[BTreeSet<u64>]) -> bool {
        let is_voter = voters.iter().any(|set| set.contains(&self.id));
        if !is_voter || !self.hears_no_leader() {
            return false;
        }
        let mut silent = BTreeSet::from([self.id]);
        let is_majority = |silent: &BTreeSet<u64>| {
            voters.iter().all(|set| set.intersection(silent).count() > set.len() / 2)
        };
        let others = self.members().into_iter().filter(|member| {
            member.number != self.id && voters.iter().any(|set| set.contains(&member.number))
        });
        let mut answers: FuturesUnordered<_> = others.map(|member| self.asks(member)).collect();
        while !is_majority(&silent) {
            match answers.next().await {
                Some(answer) => silent.extend(answer),
                None => return false,
            }
        }
        true
    }

    /// The number of a voter that hears no leader. None if it hears one, or does not answer.
    async fn asks(&self, member: Member) -> Option<u64> {
        let peer = self.peers.peer(member.number, &member.record);
        match timeout(self.patience, peer.call(RaftRequest::HearsNoLeader)).await {
            Ok(Ok(RaftResponse::Followed(true))) => Some(member.number),
            _ => None,
        }
    }

    fn silent_after(&self) -> Duration {
        self.heartbeat * SILENT_HEARTBEATS
    }
}
