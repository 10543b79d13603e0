//! The forms in which entries, votes and positions go between nodes. They do not change with openraft.
//!
//! Postcard writes fields in their order and enums by the number of the variant, without names.

use std::collections::{BTreeMap, BTreeSet};

use openraft::raft::{AppendEntriesRequest, AppendEntriesResponse, VoteRequest, VoteResponse};
use openraft::{
    CommittedLeaderId, Entry, EntryPayload, LeaderId, Membership, SnapshotMeta, StoredMembership,
    Vote,
};
use serde::{Deserialize, Serialize};

use super::members::MemberNode;
use super::{CommitBatch, LogId, Types};

/// A vote: the term and the node that stands or leads in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireVote {
    term: u64,
    node: u64,
    /// Whether a quorum elected it.
    is_elected: bool,
}

/// A position in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireLogId {
    term: u64,
    /// The leader that wrote the entry.
    node: u64,
    index: u64,
}

/// An entry of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireEntry {
    at: WireLogId,
    content: WireContent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum WireContent {
    /// The first entry of a leader.
    Nothing,
    Commits(CommitBatch),
    Members(WireMembers),
}

/// The members of the cluster: one set of voters, or two while they change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireMembers {
    voters: Vec<BTreeSet<u64>>,
    records: BTreeMap<u64, MemberNode>,
}

/// Entries for the log of a follower. Without entries it is a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireAppend {
    vote: WireVote,
    /// The position before the first entry.
    before: Option<WireLogId>,
    entries: Vec<WireEntry>,
    /// The last entry that a quorum has.
    committed: Option<WireLogId>,
}

/// The answer to entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum WireAppended {
    All,
    /// Up to this position.
    Part(Option<WireLogId>),
    /// The log has another entry at the position before the first one.
    Conflict,
    /// It follows this vote.
    Outvoted(WireVote),
}

/// A candidate and the end of its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireCandidate {
    vote: WireVote,
    last: Option<WireLogId>,
}

/// The answer to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireVoted {
    vote: WireVote,
    is_granted: bool,
    last: Option<WireLogId>,
}

/// The position of a snapshot, and the members there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WireSnapshotMeta {
    last: Option<WireLogId>,
    /// The entry that has the members.
    members_at: Option<WireLogId>,
    members: WireMembers,
    id: String,
}

impl WireVote {
    /// The node that stands or leads.
    pub(super) fn node(self) -> u64 {
        self.node
    }
}

impl WireCandidate {
    /// The vote that it asks for.
    pub(super) fn vote(&self) -> WireVote {
        self.vote
    }
}

impl WireAppend {
    /// The vote of the leader.
    pub(super) fn vote(&self) -> WireVote {
        self.vote
    }

    /// Whether it only says that the leader is there.
    pub(super) fn is_heartbeat(&self) -> bool {
        self.entries.is_empty()
    }
}

impl WireSnapshotMeta {
    /// The last entry that the snapshot has.
    pub(super) fn last(&self) -> Option<LogId> {
        self.last.map(Into::into)
    }
}

impl From<Vote<u64>> for WireVote {
    fn from(vote: Vote<u64>) -> Self {
        let LeaderId { term, node_id } = vote.leader_id;
        WireVote { term, node: node_id, is_elected: vote.committed }
    }
}

impl From<WireVote> for Vote<u64> {
    fn from(vote: WireVote) -> Self {
        Vote { leader_id: LeaderId::new(vote.term, vote.node), committed: vote.is_elected }
    }
}

impl From<LogId> for WireLogId {
    fn from(at: LogId) -> Self {
        let CommittedLeaderId { term, node_id } = at.leader_id;
        WireLogId { term, node: node_id, index: at.index }
    }
}

impl From<WireLogId> for LogId {
    fn from(at: WireLogId) -> Self {
        LogId::new(CommittedLeaderId::new(at.term, at.node), at.index)
    }
}

impl From<Entry<Types>> for WireEntry {
    fn from(entry: Entry<Types>) -> Self {
        let content = match entry.payload {
            EntryPayload::Blank => WireContent::Nothing,
            EntryPayload::Normal(commits) => WireContent::Commits(commits),
            EntryPayload::Membership(members) => WireContent::Members((&members).into()),
        };
        WireEntry { at: entry.log_id.into(), content }
    }
}

impl From<WireEntry> for Entry<Types> {
    fn from(entry: WireEntry) -> Self {
        let payload = match entry.content {
            WireContent::Nothing => EntryPayload::Blank,
            WireContent::Commits(commits) => EntryPayload::Normal(commits),
            WireContent::Members(members) => EntryPayload::Membership(members.into()),
        };
        Entry { log_id: entry.at.into(), payload }
    }
}

impl From<&Membership<u64, MemberNode>> for WireMembers {
    fn from(members: &Membership<u64, MemberNode>) -> Self {
        let records = members.nodes().map(|(number, node)| (*number, node.clone()));
        WireMembers { voters: members.get_joint_config().clone(), records: records.collect() }
    }
}

impl From<WireMembers> for Membership<u64, MemberNode> {
    fn from(members: WireMembers) -> Self {
        Membership::new(members.voters, members.records)
    }
}

impl From<AppendEntriesRequest<Types>> for WireAppend {
    fn from(request: AppendEntriesRequest<Types>) -> Self {
        WireAppend {
            vote: request.vote.into(),
            before: request.prev_log_id.map(Into::into),
            entries: request.entries.into_iter().map(Into::into).collect(),
            committed: request.leader_commit.map(Into::into),
        }
    }
}

impl From<WireAppend> for AppendEntriesRequest<Types> {
    fn from(append: WireAppend) -> Self {
        AppendEntriesRequest {
            vote: append.vote.into(),
            prev_log_id: append.before.map(Into::into),
            entries: append.entries.into_iter().map(Into::into).collect(),
            leader_commit: append.committed.map(Into::into),
        }
    }
}

impl From<AppendEntriesResponse<u64>> for WireAppended {
    fn from(answer: AppendEntriesResponse<u64>) -> Self {
        match answer {
            AppendEntriesResponse::Success => WireAppended::All,
            AppendEntriesResponse::PartialSuccess(last) => WireAppended::Part(last.map(Into::into)),
            AppendEntriesResponse::Conflict => WireAppended::Conflict,
            AppendEntriesResponse::HigherVote(vote) => WireAppended::Outvoted(vote.into()),
        }
    }
}

impl From<WireAppended> for AppendEntriesResponse<u64> {
    fn from(answer: WireAppended) -> Self {
        match answer {
            WireAppended::All => AppendEntriesResponse::Success,
            WireAppended::Part(last) => AppendEntriesResponse::PartialSuccess(last.map(Into::into)),
            WireAppended::Conflict => AppendEntriesResponse::Conflict,
            WireAppended::Outvoted(vote) => AppendEntriesResponse::HigherVote(vote.into()),
        }
    }
}

impl From<VoteRequest<u64>> for WireCandidate {
    fn from(request: VoteRequest<u64>) -> Self {
        WireCandidate { vote: request.vote.into(), last: request.last_log_id.map(Into::into) }
    }
}

impl From<WireCandidate> for VoteRequest<u64> {
    fn from(candidate: WireCandidate) -> Self {
        VoteRequest::new(candidate.vote.into(), candidate.last.map(Into::into))
    }
}

impl From<VoteResponse<u64>> for WireVoted {
    fn from(answer: VoteResponse<u64>) -> Self {
        WireVoted {
            vote: answer.vote.into(),
            is_granted: answer.vote_granted,
            last: answer.last_log_id.map(Into::into),
        }
    }
}

impl From<WireVoted> for VoteResponse<u64> {
    fn from(voted: WireVoted) -> Self {
        VoteResponse {
            vote: voted.vote.into(),
            vote_granted: voted.is_granted,
            last_log_id: voted.last.map(Into::into),
        }
    }
}

impl From<SnapshotMeta<u64, MemberNode>> for WireSnapshotMeta {
    fn from(meta: SnapshotMeta<u64, MemberNode>) -> Self {
        WireSnapshotMeta {
            last: meta.last_log_id.map(Into::into),
            members_at: meta.last_membership.log_id().map(Into::into),
            members: meta.last_membership.membership().into(),
            id: meta.snapshot_id,
        }
    }
}

impl From<WireSnapshotMeta> for SnapshotMeta<u64, MemberNode> {
    fn from(meta: WireSnapshotMeta) -> Self {
        let at = meta.members_at.map(Into::into);
        SnapshotMeta {
            last_log_id: meta.last.map(Into::into),
            last_membership: StoredMembership::new(at, meta.members.into()),
            snapshot_id: meta.id,
        }
    }
}
