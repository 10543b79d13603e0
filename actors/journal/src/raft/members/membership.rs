//! The members of the cluster, and their changes: one at a time, on the leader.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use openraft::ChangeMembers;
use openraft::error::{ChangeMembershipError, ClientWriteError, RaftError};
use reelyard_replication::{Member, MemberRecord};

use tokio::sync::watch;
use tokio::time::timeout;

use super::member_node::MemberNode;
use super::promotion::CLOSE;
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
    /// Gives the vote of a member to another one in one step, and ends the membership of the former.
    Replace {
        /// Number of the member that leaves.
        old: u64,
        /// Number of the member that gets its vote.
        new: u64,
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
    /// A member cannot take its own vote.
    #[error("node {0} cannot replace itself: name the node that leaves, and the one that comes")]
    SameMember(u64),
    /// The leaving member has no vote.
    #[error("node {0} has no vote to pass on: remove it with `reelyard cluster remove {0}`")]
    NoVote(u64),
    /// The new member does not have enough of the log yet.
    #[error(
        "node {number} does not have {entries} of the last entries yet: it gets the vote once it lacks at most \
         {CLOSE}"
    )]
    Behind {
        /// Number of the new member.
        number: u64,
        /// Number of entries that it lacks.
        entries: u64,
    },
    /// Too few of the voters after the change answer.
    #[error(
        "of the {voters} nodes that would vote, {silent:?} do not answer, so no quorum would be left. Start them, or \
         remove them first"
    )]
    NoQuorum {
        /// How many nodes would vote.
        voters: usize,
        /// Numbers of those that do not answer.
        silent: Vec<u64>,
    },
    /// The new member does not answer.
    #[error("node {0} does not answer yet: start it")]
    Silent(u64),
    /// The leader, to which the request was passed on, refuses it.
    #[error("node {leader}, which leads, refuses: {why}")]
    OfLeader {
        /// Number of the leader.
        leader: u64,
        /// Its reason.
        why: String,
    },
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
    pub(in crate::raft) async fn admit_as_leader(
        &self,
        record: MemberRecord,
    ) -> Result<u64, MemberChangeError> {
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
                let learner = find(number)?;
                if !learner.is_voter {
                    self.require_close(number)?;
                    self.require_live_quorum(Some(number), None).await?;
                }
                self.change(ChangeMembers::AddVoterIds(BTreeSet::from([number]))).await
            }
            MemberChange::Remove { number } => match find(number) {
                // It was a member: an earlier attempt has removed it.
                Err(_) if (1..=numbers_given(&members)).contains(&number) => Ok(()),
                leaving => self.remove(&members, leaving?).await,
            },
            MemberChange::Replace { old, new } => {
                let coming = find(new)?;
                if old == new {
                    return Err(MemberChangeError::SameMember(old));
                }
                match find(old) {
                    // An earlier attempt has done it.
                    Err(_) if coming.is_voter => Ok(()),
                    Err(unknown) => Err(unknown),
                    // Probably the two numbers were confused.
                    Ok(leaving) if !leaving.is_voter => Err(MemberChangeError::NoVote(old)),
                    Ok(leaving) if coming.is_voter => self.remove(&members, leaving).await,
                    Ok(leaving) => self.pass_vote(&members, leaving, coming).await,
                }
            }
        }
    }

    async fn remove(&self, members: &[Member], leaving: &Member) -> Result<(), MemberChangeError> {
        let number = leaving.number;
        let mut staying = members.iter().filter(|member| member.number != number);
        let Some(voter) = staying.find(|member| member.is_voter) else {
            return Err(MemberChangeError::LastVoter(number));
        };
        self.require_live_quorum(None, Some(number)).await?;
        self.keep_numbers_given(members, voter).await?;
        let leaves = BTreeSet::from([number]);
        let change = if leaving.is_voter {
            ChangeMembers::RemoveVoters(leaves)
        } else {
            ChangeMembers::RemoveNodes(leaves)
        };
        self.change(change).await
    }

    /// Replaces a voter by a learner in one change: if the leader fails meanwhile, the next one finishes it.
    async fn pass_vote(
        &self,
        members: &[Member],
        leaving: &Member,
        coming: &Member,
    ) -> Result<(), MemberChangeError> {
        self.require_close(coming.number)?;
        self.require_live_quorum(Some(coming.number), Some(leaving.number)).await?;
        self.keep_numbers_given(members, coming).await?;
        let voters = members.iter().filter(|member| member.is_voter).map(|member| member.number);
        let mut voters: BTreeSet<u64> = voters.collect();
        voters.remove(&leaving.number);
        voters.insert(coming.number);
        self.change(ChangeMembers::ReplaceAllVoters(voters)).await
    }

    /// Refuses a new voter that lacks much of the log: commits could wait for it.
    fn require_close(&self, number: u64) -> Result<(), MemberChangeError> {
        match self.entries_behind(number) {
            0..=CLOSE => Ok(()),
            entries => Err(MemberChangeError::Behind { number, entries }),
        }
    }

    /// How many entries of the log a member lacks, as far as this leader knows.
    fn entries_behind(&self, number: u64) -> u64 {
        let Some(raft) = self.raft.get() else { return u64::MAX };
        let metrics = raft.metrics().borrow().clone();
        let end = metrics.last_log_index.unwrap_or(0);
        let replication = metrics.replication.unwrap_or_default();
        let matched = replication.get(&number).copied().flatten();
        end.saturating_sub(matched.map_or(0, |log_id| log_id.index))
    }

    /// Lets a member that stays remember the highest number that was given.
    async fn keep_numbers_given(
        &self,
        members: &[Member],
        staying: &Member,
    ) -> Result<(), MemberChangeError> {
        let given = numbers_given(members);
        if staying.record.numbers_given >= given {
            return Ok(());
        }
        let record = MemberRecord { numbers_given: given, ..staying.record.clone() };
        self.set_record(staying.number, record).await
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
