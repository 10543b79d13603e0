//! The leader asks a quorum whether it still leads.
//!
//! openraft asks too, and waits one heartbeat for the answers. That is too short over a long way.

use std::collections::BTreeSet;

use futures::stream::{FuturesUnordered, StreamExt};
use openraft::Vote;
use openraft::raft::AppendEntriesRequest;
use reelyard_replication::Member;

use super::quorum::{is_majority, other_voters};
use crate::raft::call_messages::follows;
use crate::raft::node::RaftNode;
use crate::raft::{Raft, is_led_by};

impl RaftNode {
    /// Whether a quorum follows this node as the leader, by answers to calls that are sent now. It waits as long as the
    /// calls do.
    pub(in crate::raft) async fn confirm_lead(&self, raft: &Raft) -> bool {
        // A leader whose raft node is stuck, such as by its disk, must not keep its followers by calls.
        if raft.with_raft_state(|_| ()).await.is_err() {
            return false;
        }
        let before = raft.metrics().borrow().clone();
        if !is_led_by(&before, self.id) {
            return false;
        }
        let membership = before.membership_config.membership();
        let voters = membership.get_joint_config();
        let mut agree = BTreeSet::from([self.id]);
        let others = other_voters(membership, self.id);
        let mut answers: FuturesUnordered<_> =
            others.into_iter().map(|member| self.ask_to_follow(member, before.vote)).collect();
        while !is_majority(&agree, voters) {
            match answers.next().await {
                Some(follower) => agree.extend(follower),
                None => return false,
            }
        }
        let now = raft.metrics().borrow().clone();
        now.vote == before.vote && is_led_by(&now, self.id)
    }

    /// The number of a voter that follows the vote. None if it does not, or does not answer.
    pub(in crate::raft) async fn ask_to_follow(
        &self,
        member: Member,
        vote: Vote<u64>,
    ) -> Option<u64> {
        let peer = self.peers.peer(member.number, &member.record);
        let heartbeat = AppendEntriesRequest {
            vote,
            prev_log_id: None,
            entries: Vec::new(),
            leader_commit: None,
        };
        let answer = peer.append_answer(&mut peer.start_append(heartbeat)).await;
        answer.is_ok_and(|answer| follows(&answer)).then_some(member.number)
    }
}
