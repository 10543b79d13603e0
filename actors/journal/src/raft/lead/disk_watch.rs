//! A leader whose disk is full hands over. Otherwise the cluster would refuse changes until somebody makes room.

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::sleep;

use super::AFTER_HAND_OVER;
use super::quorum::{is_majority, other_voters};
use crate::raft::Raft;
use crate::raft::call_messages::RaftRequest;
use crate::raft::node::RaftNode;

/// How long the disk is full before the lead is handed over.
const FULL_FOR: Duration = Duration::from_secs(1);

/// After this time without a leader a node with a full disk stands for election, too: all disks may be full.
const NOBODY_LEADS: Duration = Duration::from_secs(5);

impl RaftNode {
    /// Hands the lead over whenever the disk is full and the others have room. It never ends.
    pub(in crate::raft) async fn lead_only_with_room(&self, raft: &Raft) {
        let mut room = self.peers.room.clone();
        while room.wait_for(|room| room.full.is_some()).await.is_ok() {
            sleep(FULL_FOR).await;
            if !self.has_full_disk() || self.led_epoch().is_none() {
                continue;
            }
            let Some(voter) = self.voter_with_room(raft).await else { continue };
            match self.hand_over(Some(voter)).await {
                Ok(leader) => tracing::info!(leader, "another node leads, with room on its disk"),
                Err(error) => tracing::warn!(%error, "this node leads with a full disk"),
            }
            sleep(AFTER_HAND_OVER).await;
        }
        // The store is closed.
        pending().await
    }

    /// Whether the journal refuses commits here for lack of room.
    pub(in crate::raft) fn has_full_disk(&self) -> bool {
        self.peers.room.borrow().full.is_some()
    }

    /// Whether this node may stand for election with the room on its disk.
    pub(super) fn has_room_to_lead(&self) -> bool {
        !self.has_full_disk() || self.contact.leader_silence() > NOBODY_LEADS
    }

    /// The voter that leads next. None if the voters with room are no majority: then commits would still need a full
    /// disk.
    async fn voter_with_room(&self, raft: &Raft) -> Option<u64> {
        let membership = raft.metrics().borrow().membership_config.membership().clone();
        let asked = other_voters(&membership, self.id).into_iter().map(|voter| async move {
            let number = voter.number;
            self.ask(voter, RaftRequest::HasRoom).await.is_ok().then_some(number)
        });
        let with_room: BTreeSet<u64> = join_all(asked).await.into_iter().flatten().collect();
        if !is_majority(&with_room, membership.get_joint_config()) {
            return None;
        }
        let successors = self.successors(raft).into_iter().map(|voter| voter.number);
        successors.rev().find(|number| with_room.contains(number))
    }
}
