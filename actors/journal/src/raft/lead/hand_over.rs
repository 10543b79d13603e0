//! Hands the lead over to another voter, without the wait of an election.
//!
//! openraft 0.9 has no such step. So the leader takes no more commits, waits until the other voter has everything, and
//! makes all voters give way to it. Then that voter stands for election, and nobody refuses it because of the lease
//! of the former leader. A voter still grants its vote only to a log that is as long as its own.

use std::time::Duration;

use futures::future::join_all;
use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse};
use openraft::{CommittedLeaderId, ServerState, Vote};
use reelyard_core::event::Epoch;
use reelyard_replication::{Leadership, Member};
use tokio::time::timeout;

use crate::raft::call_messages::{RaftRequest, RaftResponse};
use crate::raft::node::RaftNode;
use crate::raft::{LogId, Metrics, Raft};

/// Time limit for one call. A voter that does not answer grants its vote later, or not at all.
const CALL_TIME: Duration = Duration::from_millis(200);

/// An index that no entry ever has.
const ABSENT_INDEX: u64 = u64::MAX - 1;

/// Why the lead was not handed over. This node still leads, unless the text says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandOverError {
    /// Another node leads, or none.
    #[error("this node does not lead the cluster")]
    NotLeader {
        /// The leader, if this node knows it.
        leader: Option<u64>,
    },
    /// A change of the members, or another hand-over, is not finished yet.
    #[error(
        "a change of the members, or another transfer, is not finished: try again in a few seconds"
    )]
    InProgress,
    /// There is no such voter.
    #[error("node {0} is no voter of this cluster. See `reelyard cluster status`")]
    NoVoter(u64),
    /// The voter does not answer.
    #[error(
        "node {0} does not answer this node, so this node goes on leading. See `reelyard cluster status`"
    )]
    Silent(u64),
    /// No other voter answers.
    #[error("no other voter answers this node. See `reelyard cluster status`")]
    NobodyElse,
    /// The voter did not get all entries in time.
    #[error("node {node} did not get everything within {} ms, so this node goes on leading", within.as_millis())]
    Behind {
        /// Number of the voter.
        node: u64,
        /// The time limit.
        within: Duration,
    },
    /// The voter did not stand for election. An election follows soon.
    #[error("node {node} did not take the lead: {why}. The voters elect a leader now")]
    NotElected {
        /// Number of the voter.
        node: u64,
        /// The reason.
        why: String,
    },
}

/// Takes commits again when it is dropped.
struct CommitHold<'a>(&'a RaftNode);

impl Drop for CommitHold<'_> {
    fn drop(&mut self) {
        self.0.hold_commits(false);
    }
}

impl RaftNode {
    /// Makes another voter the leader: `wanted`, or the one that has most of the log. Answers its number once
    /// this node follows it.
    pub(crate) async fn hand_over(&self, wanted: Option<u64>) -> Result<u64, HandOverError> {
        let no_change = timeout(self.patience, self.changing.lock()).await;
        let _no_change = no_change.map_err(|_| HandOverError::InProgress)?;
        let (Some(raft), Some(epoch)) = (self.raft.get(), self.led_epoch()) else {
            let leader = match *self.leadership().borrow() {
                Leadership::Following { leader } => Some(leader),
                _ => None,
            };
            return Err(HandOverError::NotLeader { leader });
        };
        let voter = self.successor(raft, wanted)?;
        self.hold_commits(true);
        let _hold = CommitHold(self);
        self.wait_for_all_entries(raft, voter.number).await?;
        let own = Vote::new_committed(epoch.0, self.id);
        let candidate = Vote::new(epoch.0 + 1, voter.number);
        let others = self.members().into_iter().filter(|member| {
            member.is_voter && member.number != self.id && member.number != voter.number
        });
        let give_way = || RaftRequest::GiveWay { own: own.into(), candidate: candidate.into() };
        let asked = others.map(|member| self.ask(member, give_way()));
        for failed in join_all(asked).await.into_iter().filter_map(Result::err) {
            tracing::debug!(%failed, "a voter does not give way to the next leader");
        }
        self.give_way(raft, candidate).await;
        let node = voter.number;
        let stood = self.ask(voter, RaftRequest::Stand { own: own.into() }).await;
        // Until then the end of the hold would show this node as the leader once more.
        let mut session = self.session();
        let leads = session.wait_for(|now| now.leadership.epoch() != Some(epoch));
        let _ = timeout(self.patience, leads).await;
        stood.map_err(|why| HandOverError::NotElected { node, why })?;
        let mut metrics = raft.metrics();
        let is_led = |now: &Metrics| now.current_leader == Some(node);
        match timeout(self.patience, metrics.wait_for(is_led)).await {
            Ok(Ok(_)) => Ok(node),
            _ => {
                let why = format!("it does not lead after {} ms", self.patience.as_millis());
                Err(HandOverError::NotElected { node, why })
            }
        }
    }

    /// The voter that leads next.
    fn successor(&self, raft: &Raft, wanted: Option<u64>) -> Result<Member, HandOverError> {
        let Some(wanted) = wanted else {
            return self.successors(raft).pop().ok_or(HandOverError::NobodyElse);
        };
        let mut voters = self.other_voters();
        let voter = voters.find(|member| member.number == wanted);
        let voter = voter.ok_or(HandOverError::NoVoter(wanted))?;
        // openraft still knows the last entry that a dead node had.
        if self.is_live(&voter) { Ok(voter) } else { Err(HandOverError::Silent(wanted)) }
    }

    fn other_voters(&self) -> impl Iterator<Item = Member> {
        let members = self.members().into_iter();
        members.filter(|member| member.is_voter && member.number != self.id)
    }

    fn is_live(&self, member: &Member) -> bool {
        self.peers.contacts.is_live(member.number, self.patience)
    }

    /// The voters that can lead. The last one has most of the log.
    pub(super) fn successors(&self, raft: &Raft) -> Vec<Member> {
        let metrics = raft.metrics().borrow().clone();
        let clocks = self.peers.quorum.clock_distances();
        // One with a wrong clock would hand over again.
        let has_right_clock = |member: &Member| {
            let ahead_ms = clocks.get(&member.number).copied().unwrap_or_default();
            self.peers.quorum.is_within_bound(ahead_ms)
        };
        let live = self.other_voters().filter(|member| self.is_live(member));
        let mut live: Vec<Member> = live.filter(has_right_clock).collect();
        live.sort_by_key(|member| matched(&metrics, member.number));
        live
    }

    /// Waits until all accepted commits are answered, and the voter has them.
    async fn wait_for_all_entries(&self, raft: &Raft, node: u64) -> Result<(), HandOverError> {
        let all = async {
            self.open_commits.all_answered().await;
            let has_all = |now: &Metrics| {
                let last = now.last_log_index;
                now.state != ServerState::Leader
                    || matched(now, node).map(|log_id| log_id.index) >= last
            };
            raft.metrics().wait_for(has_all).await.is_ok_and(|now| now.state == ServerState::Leader)
        };
        match timeout(self.patience, all).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(HandOverError::NotLeader { leader: None }),
            Err(_) => Err(HandOverError::Behind { node, within: self.patience }),
        }
    }

    /// Answers a call of the leader to give way, or to stand for election. True if this node does.
    pub(in crate::raft) async fn follow_hand_over(
        &self,
        raft: &Raft,
        own: Vote<u64>,
        candidate: Option<Vote<u64>>,
    ) -> bool {
        // A call that was late, or of another leader, has no effect.
        if raft.metrics().borrow().vote != own {
            return false;
        }
        match candidate {
            Some(candidate) => self.give_way(raft, candidate).await,
            None => raft.trigger().elect().await.is_ok(),
        }
    }

    /// Follows the vote of the next leader. Without that, the lease of the present leader would refuse it. Its log
    /// is still compared when it asks for the vote.
    async fn give_way(&self, raft: &Raft, candidate: Vote<u64>) -> bool {
        // A candidate appends nothing. No log has this entry, so openraft takes the vote and refuses the rest.
        let leader = CommittedLeaderId::new(candidate.leader_id.term, candidate.leader_id.node_id);
        let absent = AppendEntriesRequest {
            vote: candidate,
            prev_log_id: Some(LogId::new(leader, ABSENT_INDEX)),
            entries: Vec::new(),
            leader_commit: None,
        };
        matches!(raft.append_entries(absent).await, Ok(AppendEntriesResponse::Conflict))
    }

    pub(super) async fn ask(&self, member: Member, request: RaftRequest) -> Result<(), String> {
        let peer = self.peers.peer(member.number, &member.record);
        match timeout(CALL_TIME, peer.call(request)).await {
            Ok(Ok(RaftResponse::Followed(true))) => Ok(()),
            Ok(Ok(_)) => Err(format!("node {} follows another leader", member.number)),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("it gave no answer within {} ms", CALL_TIME.as_millis())),
        }
    }

    /// The epoch in which this node leads.
    pub(in crate::raft) fn led_epoch(&self) -> Option<Epoch> {
        self.leadership().borrow().epoch()
    }
}

/// The last entry that a member has, as the leader knows it.
fn matched(metrics: &Metrics, node: u64) -> Option<LogId> {
    metrics.replication.as_ref()?.get(&node).copied().flatten()
}
