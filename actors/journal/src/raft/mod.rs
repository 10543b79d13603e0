//! openraft. No code outside this folder uses it.
// openraft's own error types are large, and its traits use them by value.
#![allow(clippy::result_large_err)]

mod call_messages;
mod contact;
mod lead;
mod log_pace;
mod log_store;
mod members;
mod network;
mod node;
mod read_promise;
mod reading;
mod runtime;
mod snapshot_body;
mod snapshot_transfer;
mod start;
mod state_machine;
mod watcher;
mod wire;

use std::fmt;
use std::sync::Arc;

use openraft::{EntryPayload, ServerState, StorageError, StorageIOError};
use reelyard_core::event::Epoch;
use reelyard_replication::{CommitAnswer, batch};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::owner::{CommittedEntry, OwnersError};
use crate::store::StoreError;

pub(crate) use call_messages::not_ready;
pub use lead::HandOverError;
use members::MemberNode;
pub use members::{MemberChange, MemberChangeError};
pub(crate) use node::RaftNode;
pub(crate) use reading::{StoredMembers, lone_member_entry, raised_vote, read_vote};
use snapshot_body::SnapshotBody;

openraft::declare_raft_types!(
    /// The replicated data: opaque batches of commits.
    pub(crate) Types:
        D = CommitBatch,
        R = Vec<CommitAnswer>,
        NodeId = u64,
        Node = MemberNode,
        Entry = openraft::Entry<Types>,
        SnapshotData = SnapshotBody,
        AsyncRuntime = runtime::JournalRuntime,
);

type Raft = openraft::Raft<Types>;
type Metrics = openraft::RaftMetrics<u64, MemberNode>;
type LogId = openraft::LogId<u64>;
type RaftStorageError = StorageError<u64>;

/// Whether a node leads, as its raft node says.
fn is_led_by(metrics: &Metrics, node: u64) -> bool {
    metrics.state == ServerState::Leader
        && metrics.vote.is_committed()
        && metrics.current_leader == Some(node)
}

/// The commits of one entry, encoded by [`batch::join`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitBatch(Arc<[u8]>);

impl Serialize for CommitBatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for CommitBatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CommitBatchVisitor;
        impl Visitor<'_> for CommitBatchVisitor {
            type Value = CommitBatch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a batch of commits")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<CommitBatch, E> {
                Ok(CommitBatch(bytes.into()))
            }
        }
        deserializer.deserialize_bytes(CommitBatchVisitor)
    }
}

/// Encodes an entry for the store.
fn encode_entry(entry: &openraft::Entry<Types>) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_stdvec(entry)
}

/// Decodes a stored entry of the log.
fn decode_entry(stored: &[u8]) -> Result<openraft::Entry<Types>, postcard::Error> {
    postcard::from_bytes(stored)
}

/// Reads the commits of a stored entry; none for an entry of openraft's own.
pub(crate) fn read_stored(
    index: u64,
    stored: &[u8],
) -> Result<Option<CommittedEntry>, OwnersError> {
    let entry = decode_entry(stored)
        .map_err(|error| OwnersError::Entry { index, why: error.to_string() })?;
    read_entry(&entry)
}

/// Whether a stored entry has commits for owners.
pub(crate) fn has_commits(stored: &[u8]) -> bool {
    decode_entry(stored).is_ok_and(|entry| matches!(entry.payload, EntryPayload::Normal(_)))
}

fn read_entry(entry: &openraft::Entry<Types>) -> Result<Option<CommittedEntry>, OwnersError> {
    let EntryPayload::Normal(CommitBatch(bytes)) = &entry.payload else {
        return Ok(None);
    };
    let index = entry.log_id.index;
    let commits =
        batch::read(bytes).map_err(|error| OwnersError::Entry { index, why: error.to_string() })?;
    Ok(Some(CommittedEntry {
        index,
        term: Epoch(entry.log_id.leader_id.term),
        commits: commits.into_iter().map(Arc::new).collect(),
    }))
}

fn cannot_read_log(error: impl std::error::Error + 'static) -> RaftStorageError {
    StorageIOError::read_logs(openraft::AnyError::error(&error)).into()
}

fn cannot_write_log(error: StoreError) -> RaftStorageError {
    StorageIOError::write_logs(openraft::AnyError::error(&error)).into()
}

fn cannot_apply(error: &OwnersError) -> RaftStorageError {
    StorageIOError::write_state_machine(openraft::AnyError::error(error)).into()
}

fn cannot_snapshot(error: impl std::error::Error + 'static) -> RaftStorageError {
    StorageIOError::write_snapshot(None, openraft::AnyError::error(&error)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_is_reported_without_names_of_types() {
        let message = cannot_write_log(StoreError::Unsynced("no space".to_owned())).to_string();
        let expected = "a write to the store could not be synced: no space";
        assert!(message.contains(expected) && !message.contains("::"), "{message}");
    }
}
