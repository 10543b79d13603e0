//! Refuses a change of the voters after which no quorum would answer.

use std::collections::BTreeSet;

use futures::stream::{FuturesUnordered, StreamExt};

use super::member_node::members_of;
use super::membership::MemberChangeError;
use crate::raft::is_led_by;
use crate::raft::node::RaftNode;

impl RaftNode {
    /// Requires that most of the voters after a change follow this leader, and the coming one too, by answers to calls
    /// that are sent now. A call of a voter says nothing about the way there, and an earlier answer nothing about now.
    pub(in crate::raft) async fn require_live_quorum(
        &self,
        coming: Option<u64>,
        leaving: Option<u64>,
    ) -> Result<(), MemberChangeError> {
        let Some(raft) = self.raft.get() else {
            return Err(MemberChangeError::NotReady("it is starting".to_owned()));
        };
        let metrics = raft.metrics().borrow().clone();
        if !is_led_by(&metrics, self.id) {
            return Err(MemberChangeError::NotLeader { leader: metrics.current_leader });
        }
        // That of the last entry, whether it is applied or not: openraft changes this one.
        let membership = metrics.membership_config.membership();
        let mut needed: BTreeSet<u64> = membership.voter_ids().chain(coming).collect();
        needed.retain(|number| Some(*number) != leaving);
        let asked = members_of(membership)
            .into_iter()
            .filter(|member| needed.contains(&member.number) && member.number != self.id);
        let mut answers: FuturesUnordered<_> =
            asked.map(|member| self.ask_to_follow(member, metrics.vote)).collect();
        let mut silent = needed.clone();
        silent.remove(&self.id);
        let is_quorum = |silent: &BTreeSet<u64>| silent.len() < needed.len().div_ceil(2);
        let is_silent = |silent: &BTreeSet<u64>| coming.filter(|node| silent.contains(node));
        while !is_quorum(&silent) || is_silent(&silent).is_some() {
            match answers.next().await {
                Some(Some(follower)) => silent.remove(&follower),
                Some(None) => continue,
                None if is_quorum(&silent) => break,
                None => {
                    let silent = silent.into_iter().collect();
                    return Err(MemberChangeError::NoQuorum { voters: needed.len(), silent });
                }
            };
        }
        match is_silent(&silent) {
            Some(coming) => Err(MemberChangeError::Silent(coming)),
            None => Ok(()),
        }
    }
}
