//! Reads the data of the raft layer from a store without a raft node: for `reelyard store`.

use std::collections::BTreeMap;

use openraft::{CommittedLeaderId, Entry, EntryPayload, LogId, Membership, SnapshotMeta, Vote};
use reelyard_replication::{EPOCH_LEAP, MemberRecord};

use super::members::MemberNode;
use super::{decode_entry, encode_entry};

/// The term and the node that a stored vote is for.
pub(crate) fn read_vote(vote: &[u8]) -> Option<(u64, Option<u64>)> {
    let vote: Vote<u64> = postcard::from_bytes(vote).ok()?;
    Some((vote.leader_id.term, vote.leader_id.voted_for()))
}

/// A vote of `node` for itself in a term above each of `known`.
pub(crate) fn raised_vote<'a>(
    node: u64,
    known: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<u8>, postcard::Error> {
    let terms = known.into_iter().filter_map(read_vote).map(|(term, _)| term);
    postcard::to_stdvec(&Vote::<u64>::new(terms.max().unwrap_or(0) + EPOCH_LEAP, node))
}

/// The members that a store names.
#[derive(Debug, Default)]
pub(crate) struct StoredMembers {
    /// The voting nodes; none if the store names none.
    pub(crate) voters: Vec<u64>,
    /// The highest number that a node ever got.
    pub(crate) numbers_given: u64,
}

impl StoredMembers {
    /// Follows the description of a snapshot.
    pub(crate) fn follow_snapshot(&mut self, meta: &[u8]) {
        if let Ok(meta) = postcard::from_bytes::<SnapshotMeta<u64, MemberNode>>(meta) {
            self.follow(meta.last_membership.membership());
        }
    }

    /// Follows entries of the log. Unreadable ones are skipped.
    pub(crate) fn follow_entries<'a>(&mut self, entries: impl IntoIterator<Item = &'a [u8]>) {
        for entry in entries.into_iter().filter_map(|entry| decode_entry(entry).ok()) {
            if let EntryPayload::Membership(membership) = entry.payload {
                self.follow(&membership);
            }
        }
    }

    fn follow(&mut self, membership: &Membership<u64, MemberNode>) {
        self.voters = membership.voter_ids().collect();
        let numbers = membership.nodes().map(|(number, node)| node.0.numbers_given.max(*number));
        self.numbers_given = numbers.max().max(Some(self.numbers_given)).unwrap_or_default();
    }
}

/// An entry at `index`, after which `node` is the only member. Its term is that of a vote.
pub(crate) fn lone_member_entry(
    index: u64,
    node: u64,
    numbers_given: u64,
    vote: &[u8],
) -> Result<Vec<u8>, postcard::Error> {
    let vote: Vote<u64> = postcard::from_bytes(vote)?;
    let leader = CommittedLeaderId::new(vote.leader_id.term, node);
    let record = MemberRecord { numbers_given, ..MemberRecord::default() };
    let members = BTreeMap::from([(node, MemberNode(record))]);
    encode_entry(&Entry {
        log_id: LogId::new(leader, index),
        payload: EntryPayload::Membership(Membership::new(vec![[node].into()], members)),
    })
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use openraft::StoredMembership;
    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;

    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, kept: &str) {
        let written = postcard::to_stdvec(value).unwrap();
        let hex: String = written.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, kept, "give the record that holds it another version");
        assert_eq!(&postcard::from_bytes::<T>(&written).unwrap(), value);
    }

    /// The head of the store holds these, in openraft's own types.
    #[test]
    fn stored_bytes_of_votes_positions_and_descriptions_stay() {
        let log_id = LogId::new(CommittedLeaderId::new(300, 1), 70_000);
        check(&Vote::<u64>::new(300, 1), "ac020100");
        check(&Vote::<u64>::new_committed(300, 1), "ac020101");
        check(&log_id, "ac0201f0a204");
        check(&Some(log_id), "01ac0201f0a204");
        let voters = BTreeMap::from([(1, MemberNode::default())]);
        let members = Membership::new(vec![[1].into()], voters);
        let meta = SnapshotMeta::<u64, MemberNode> {
            last_log_id: Some(log_id),
            last_membership: StoredMembership::new(Some(log_id), members),
            snapshot_id: "300-70000".to_owned(),
        };
        check(
            &meta,
            concat!(
                "01ac0201f0a204",
                "01ac0201f0a204",
                "010101",
                "0101467b2276657273696f6e223a2231222c2273746f7265223a6e756c6c2c22",
                "636c7573746572223a22222c22617069223a22222c226c6576656c223a302c22676976656e223a307d",
                "093330302d3730303030",
            ),
        );
        let mut members = StoredMembers::default();
        members.follow_snapshot(&postcard::to_stdvec(&meta).unwrap());
        assert_eq!((members.voters, members.numbers_given), (vec![1], 1));
    }

    #[test]
    fn a_lone_member_forgets_no_number() {
        let vote = postcard::to_stdvec(&Vote::<u64>::new(9, 2)).unwrap();
        let entry = lone_member_entry(7, 2, 5, &vote).unwrap();
        let log_id = decode_entry(&entry).unwrap().log_id;
        assert_eq!(log_id, LogId::new(CommittedLeaderId::new(9, 2), 7));
        let mut members = StoredMembers::default();
        members.follow_entries([entry.as_slice()]);
        assert_eq!((members.voters, members.numbers_given), (vec![2], 5));
    }
}
