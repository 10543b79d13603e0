//! The members of the cluster, and their changes: one at a time, on the leader.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use openraft::ChangeMembers;
use openraft::error::{ChangeMembershipError, ClientWriteError, RaftError};
use reelyard_replication::{Member, MemberRecord};

use tokio::sync::watch;
use tokio::time::timeout;

use super::member_node::MemberNode;
use crate::raft::node::RaftNode;

/// Time limit for a change. A quorum confirms it within a few round trips.
const CHANGE_TIME: Duration = Duration::from_secs(10);

/// One step: it changes the voters, the members, or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemberChange {
    /// Gives a learner a vote.
    Promote {
        /// Number of the learner.
        number: u64,
    },
    /// Takes the vote of a node, and ends its membership.
    Remove {
        /// Number of the node.
        number: u64,
    },
    /// Changes where a member is reached.
    SetAddresses {
        /// Number of the member.
        number: u64,
        /// Its record, with the new addresses.
        record: MemberRecord,
    },
}

/// Why the members were not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemberChangeError {
    /// Another node leads, or none.
    #[error("this node does not lead the cluster{}", leader_text(*leader))]
    NotLeader {
        /// The leader, if this node knows it.
        leader: Option<u64>,
    },
    /// Another change is not finished yet.
    #[error("another change of the members is not finished: try again in a few seconds")]
    InProgress,
    /// No quorum has confirmed the change in time. It may still happen.
    #[error(
        "no quorum has confirmed the change within {} s, and it may still happen: look at `reelyard cluster status`",
        CHANGE_TIME.as_secs()
    )]
    Undecided,
    /// There is no such member.
    #[error("node {0} is no member of this cluster. See `reelyard cluster status`")]
    NoMember(u64),
    /// The last voter cannot be removed.
    #[error(
        "node {0} is the only voter: a cluster without a voter cannot decide. Add another node first"
    )]
    LastVoter(u64),
    /// The journal has stopped, or is starting.
    #[error("the journal of this node is not ready: {0}")]
    NotReady(String),
}

fn leader_text(leader: Option<u64>) -> String {
    leader.map(|leader| format!(": node {leader} does")).unwrap_or_default()
}

impl RaftNode {
    /// The members in the applied log, by number. Empty while it is starting. A change that no quorum has is not
    /// in it: another leader may replace it.
    pub(crate) fn members(&self) -> Vec<Member> {
        self.growth.members.borrow().clone()
    }

    /// The same members, as a channel to watch.
    pub(crate) fn member_changes(&self) -> watch::Receiver<Vec<Member>> {
        self.growth.members.subscribe()
    }

    /// Adds a node that follows and does not vote, and answers its number. No other node ever had it. A store that
    /// is a member already keeps its number.
    pub(crate) async fn admit(&self, record: MemberRecord) -> Result<u64, MemberChangeError> {
        let _one_at_a_time = self.changing.try_lock().map_err(|_| MemberChangeError::InProgress)?;
        if self.leadership().borrow().epoch().is_none() {
            let leader = self.raft.get().and_then(|raft| raft.metrics().borrow().current_leader);
            return Err(MemberChangeError::NotLeader { leader });
        }
        loop {
            let members = self.members();
            let has_store =
                |member: &&Member| record.store.is_some() && member.record.store == record.store;
            if let Some(known) = members.iter().find(has_store) {
                return Ok(known.number);
            }
            let number = numbers_given(&members) + 1;
            let record = MemberRecord { numbers_given: number, ..record.clone() };
            // A member of this number stays as it is. Then another leader has given the number.
            let node = BTreeMap::from([(number, MemberNode(record))]);
            self.change(ChangeMembers::AddNodes(node)).await?;
        }
    }

    /// Makes one change, and waits until a quorum has it.
    pub(crate) async fn change_members(
        &self,
        change: MemberChange,
    ) -> Result<(), MemberChangeError> {
        let _one_at_a_time = self.changing.try_lock().map_err(|_| MemberChangeError::InProgress)?;
        let members = self.members();
        let find = |number: u64| {
            let member = members.iter().find(|member| member.number == number);
            member.ok_or(MemberChangeError::NoMember(number))
        };
        match change {
            MemberChange::SetAddresses { number, record } => {
                let numbers_given = find(number)?.record.numbers_given;
                self.set_record(number, MemberRecord { numbers_given, ..record }).await
            }
            MemberChange::Promote { number } => {
                find(number)?;
                self.change(ChangeMembers::AddVoterIds(BTreeSet::from([number]))).await
            }
            MemberChange::Remove { number } => {
                let leaving = find(number)?;
                let mut staying = members.iter().filter(|member| member.number != number);
                let Some(voter) = staying.find(|member| member.is_voter) else {
                    return Err(MemberChangeError::LastVoter(number));
                };
                let given = numbers_given(&members);
                if voter.record.numbers_given < given {
                    let record = MemberRecord { numbers_given: given, ..voter.record.clone() };
                    self.set_record(voter.number, record).await?;
                }
                let leaves = BTreeSet::from([number]);
                let change = if leaving.is_voter {
                    ChangeMembers::RemoveVoters(leaves)
                } else {
                    ChangeMembers::RemoveNodes(leaves)
                };
                self.change(change).await
            }
        }
    }

    /// Makes the voters of a begun change the only ones. Another running change does it by itself.
    pub(crate) async fn finish_change(&self) {
        let Ok(_one_at_a_time) = self.changing.try_lock() else { return };
        match self.change(ChangeMembers::AddVoterIds(BTreeSet::new())).await {
            Ok(()) => {
                tracing::info!("a change of the members that an earlier leader began is finished")
            }
            Err(error) => tracing::debug!(%error, "a change of the members is not finished yet"),
        }
    }

    async fn set_record(&self, number: u64, record: MemberRecord) -> Result<(), MemberChangeError> {
        let node = BTreeMap::from([(number, MemberNode(record))]);
        self.change(ChangeMembers::SetNodes(node)).await
    }

    async fn change(
        &self,
        change: ChangeMembers<u64, MemberNode>,
    ) -> Result<(), MemberChangeError> {
        let Some(raft) = self.raft.get() else {
            return Err(MemberChangeError::NotReady("it is starting".to_owned()));
        };
        // A voter that is removed does not stay as a learner.
        match timeout(CHANGE_TIME, raft.change_membership(change, false)).await {
            Ok(changed) => changed.map(drop).map_err(explain),
            Err(_) => Err(MemberChangeError::Undecided),
        }
    }
}

/// The highest number that was ever given.
fn numbers_given(members: &[Member]) -> u64 {
    let given = members.iter().map(|member| member.number.max(member.record.numbers_given));
    given.max().unwrap_or(0)
}

fn explain(error: RaftError<u64, ClientWriteError<u64, MemberNode>>) -> MemberChangeError {
    let error = match error {
        RaftError::APIError(error) => error,
        RaftError::Fatal(fatal) => return MemberChangeError::NotReady(fatal.to_string()),
    };
    match error {
        ClientWriteError::ForwardToLeader(forward) => {
            MemberChangeError::NotLeader { leader: forward.leader_id }
        }
        ClientWriteError::ChangeMembershipError(ChangeMembershipError::LearnerNotFound(error)) => {
            MemberChangeError::NoMember(error.node_id)
        }
        ClientWriteError::ChangeMembershipError(_) => MemberChangeError::InProgress,
    }
}
