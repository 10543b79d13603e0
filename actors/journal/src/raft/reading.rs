//! Reads the data of the raft layer from a store without a raft node: for `reelyard store`.

use openraft::{BasicNode, EntryPayload, SnapshotMeta, Vote};
use reelyard_replication::EPOCH_LEAP;

use super::decode_entry;

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
        meta.and_then(|meta| postcard::from_bytes::<SnapshotMeta<u64, BasicNode>>(meta).ok())
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
