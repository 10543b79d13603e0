//! Reads the data of the raft layer from a store without a raft node: for `reelyard store`.

use openraft::{EntryPayload, SnapshotMeta, Vote};
use reelyard_replication::EPOCH_LEAP;

use super::decode_entry;
use super::members::MemberNode;

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

/// The voting nodes, from a snapshot's description and the entries after it; none if neither names
/// any. Unreadable entries are skipped.
pub(crate) fn voters<'a>(
    meta: Option<&[u8]>,
    entries: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<u64> {
    let mut voters = Vec::new();
    if let Some(meta) =
        meta.and_then(|meta| postcard::from_bytes::<SnapshotMeta<u64, MemberNode>>(meta).ok())
    {
        voters = meta.last_membership.membership().voter_ids().collect();
    }
    for entry in entries.into_iter().filter_map(|entry| decode_entry(entry).ok()) {
        if let EntryPayload::Membership(membership) = entry.payload {
            voters = membership.voter_ids().collect();
        }
    }
    voters
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use openraft::{CommittedLeaderId, LogId, Membership, StoredMembership};
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
        assert_eq!(voters_of(&meta), [1]);
    }

    fn voters_of(meta: &SnapshotMeta<u64, MemberNode>) -> Vec<u64> {
        voters(Some(&postcard::to_stdvec(meta).unwrap()), [])
    }
}
