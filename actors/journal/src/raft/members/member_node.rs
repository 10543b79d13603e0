//! The record of a member in openraft's membership: stored and sent as one text.

use std::collections::BTreeSet;

use openraft::Membership;
use reelyard_replication::{Member, MemberRecord};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// openraft's node. Its bytes are those of the address that earlier versions stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemberNode(pub(crate) MemberRecord);

impl Serialize for MemberNode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.stored_text().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for MemberNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        MemberRecord::read(&text).map(MemberNode).map_err(D::Error::custom)
    }
}

/// The members of a membership that is applied, by number.
pub(crate) fn members_of(membership: &Membership<u64, MemberNode>) -> Vec<Member> {
    let voters: BTreeSet<u64> = membership.voter_ids().collect();
    let member = |(&number, MemberNode(record)): (&u64, &MemberNode)| Member {
        number,
        is_voter: voters.contains(&number),
        record: record.clone(),
    };
    membership.nodes().map(member).collect()
}
