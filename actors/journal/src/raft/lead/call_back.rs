//! A leader that nobody can call hands over. Its own calls arrive, so the others follow it, but no request reaches it.

use std::collections::BTreeSet;
use std::future::pending;

use futures::future::join_all;
use reelyard_replication::{CallTarget, Member};
use tokio::time::{sleep, timeout};

use super::quorum::{is_majority, other_voters};
use super::{AFTER_HAND_OVER, CONNECT_TIME};
use crate::raft::Raft;
use crate::raft::call_messages::{RaftRequest, RaftResponse};
use crate::raft::node::RaftNode;

/// The voters are asked once in this number of heartbeats.
const HEARTBEATS: u32 = 20;

/// The lead is handed over after this number of looks in a row that found the leader out of reach.
const LOOKS: u32 = 3;

impl RaftNode {
    /// Hands the lead over whenever a majority of the voters cannot call this node. It never ends.
    pub(in crate::raft) async fn lead_only_in_reach(&self, raft: &Raft) {
        let (mut leadership, mut failed) = (self.leadership(), 0);
        while leadership.wait_for(|now| now.epoch().is_some()).await.is_ok() {
            sleep(self.heartbeat * HEARTBEATS).await;
            failed = if self.is_out_of_reach(raft).await { failed + 1 } else { 0 };
            if failed < LOOKS {
                continue;
            }
            failed = 0;
            tracing::warn!("a majority of the voters cannot call this node, which leads");
            match self.hand_over(None).await {
                Ok(leader) => tracing::info!(leader, "another node leads"),
                Err(error) => tracing::warn!(%error, "the lead was not handed over"),
            }
            sleep(AFTER_HAND_OVER).await;
        }
        pending().await
    }

    /// Whether a majority of the voters says that it cannot call this node. A voter without an answer says nothing.
    async fn is_out_of_reach(&self, raft: &Raft) -> bool {
        let membership = raft.metrics().borrow().membership_config.membership().clone();
        let asked = other_voters(&membership, self.id).into_iter().map(|voter| async move {
            let number = voter.number;
            self.is_called_back(voter).await.is_some_and(|is_called| !is_called).then_some(number)
        });
        let failed: BTreeSet<u64> = join_all(asked).await.into_iter().flatten().collect();
        !failed.is_empty() && is_majority(&failed, membership.get_joint_config())
    }

    /// Whether the voter can call this node. None without an answer.
    async fn is_called_back(&self, voter: Member) -> Option<bool> {
        let peer = self.peers.peer(voter.number, &voter.record);
        match timeout(CONNECT_TIME * 2, peer.call(RaftRequest::CallBack)).await {
            Ok(Ok(RaftResponse::Followed(is_called))) => Some(is_called),
            _ => None,
        }
    }

    /// Whether a new connection to this member can be made. True for an unknown one, which cannot be called yet.
    pub(in crate::raft) async fn can_call(&self, number: u64) -> bool {
        let members = self.members();
        let Some(member) = members.into_iter().find(|member| member.number == number) else {
            return true;
        };
        let target = CallTarget { node: number, record: member.record };
        let connected = timeout(CONNECT_TIME, self.peers.transport.connect(&target)).await;
        matches!(connected, Ok(Ok(())))
    }
}
