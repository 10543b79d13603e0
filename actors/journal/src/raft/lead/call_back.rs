//! A leader that nobody can call hands over. Its own calls arrive, so the others follow it, but no request reaches it.
//!
//! If no node can be called, such as with bad certificates everywhere, another leader would be no better. So it goes on
//! leading until a voter can be called.

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
    /// Hands the lead over whenever a majority of the voters cannot call this node, and can call another one. It never
    /// ends.
    pub(in crate::raft) async fn lead_only_in_reach(&self, raft: &Raft) {
        let (mut leadership, mut failed, mut is_known) = (self.leadership(), 0, false);
        while leadership.wait_for(|now| now.epoch().is_some()).await.is_ok() {
            sleep(self.heartbeat * HEARTBEATS).await;
            if !self.is_out_of_reach(raft).await {
                (failed, is_known) = (0, false);
                continue;
            }
            failed += 1;
            if failed < LOOKS {
                continue;
            }
            let Some(voter) = self.voter_in_reach(raft).await else {
                if !std::mem::replace(&mut is_known, true) {
                    tracing::warn!(
                        "the voters can make new connections neither to this node, which leads, nor to another one: \
                         check the certificates and the limits of open files. This node goes on leading"
                    );
                }
                continue;
            };
            (failed, is_known) = (0, false);
            tracing::warn!("a majority of the voters cannot call this node, which leads");
            match self.hand_over(Some(voter)).await {
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
        let answers = self.voters_that_say(other_voters(&membership, self.id), self.id, false);
        let failed = answers.await;
        !failed.is_empty() && is_majority(&failed, membership.get_joint_config())
    }

    /// The voter that leads next: a majority can call it. None if there is no such voter.
    async fn voter_in_reach(&self, raft: &Raft) -> Option<u64> {
        let membership = raft.metrics().borrow().membership_config.membership().clone();
        for voter in self.successors(raft).into_iter().rev() {
            let mut others = other_voters(&membership, self.id);
            others.retain(|other| other.number != voter.number);
            let mut reached = self.voters_that_say(others, voter.number, true).await;
            reached.insert(voter.number);
            if self.can_call(voter.number).await {
                reached.insert(self.id);
            }
            if is_majority(&reached, membership.get_joint_config()) {
                return Some(voter.number);
            }
        }
        None
    }

    /// Those of the voters that answer this to the question whether they can call `node`.
    async fn voters_that_say(&self, voters: Vec<Member>, node: u64, answer: bool) -> BTreeSet<u64> {
        let asked = voters.into_iter().map(|voter| async move {
            let peer = self.peers.peer(voter.number, &voter.record);
            let asking = timeout(CONNECT_TIME * 2, peer.call(RaftRequest::CanCall { node }));
            let is_wanted = matches!(
                asking.await,
                Ok(Ok(RaftResponse::Followed(answered))) if answered == answer
            );
            is_wanted.then_some(voter.number)
        });
        join_all(asked).await.into_iter().flatten().collect()
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
