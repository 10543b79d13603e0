//! Majorities of voters. While the voters change there are two sets, and a majority of each must agree.

use std::collections::BTreeSet;

use openraft::Membership;
use reelyard_replication::Member;

use crate::raft::members::MemberNode;
use crate::raft::members::member_node::members_of;

/// Whether a majority of each set of voters agrees.
pub(super) fn is_majority(agree: &BTreeSet<u64>, voters: &[BTreeSet<u64>]) -> bool {
    voters.iter().all(|set| set.intersection(agree).count() > set.len() / 2)
}

/// The voters except this node.
pub(super) fn other_voters(membership: &Membership<u64, MemberNode>, own: u64) -> Vec<Member> {
    let members = members_of(membership).into_iter();
    members.filter(|member| member.is_voter && member.number != own).collect()
}
