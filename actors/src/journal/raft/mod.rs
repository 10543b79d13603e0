//! openraft, and nothing of it outside this folder.
// openraft's own error types are large, and its traits ask for them by value.
#![allow(clippy::result_large_err)]

mod log_store;
mod machine;
mod network;
mod node;
mod reading;
mod run;
mod snapshot_body;

use std::fmt;
use std::sync::Arc;

use openraft::{EntryPayload, StorageError, StorageIOError};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::event::Epoch;
use crate::journal::batch;
use crate::journal::messages::CommitAnswer;
use crate::journal::owner::{Entry, OwnersError};
use crate::journal::store::StoreError;

pub(crate) use node::Node;
pub use reading::EPOCH_LEAP;
pub(crate) use reading::{raised_vote, read_vote, voters};
use snapshot_body::SnapshotBody;

openraft::declare_raft_types!(
    /// What this cluster replicates: opaque batches of commits.
    pub(crate) Types:
        D = Batch,
        R = Vec<CommitAnswer>,
        NodeId = u64,
        Node = openraft::BasicNode,
        Entry = openraft::Entry<Types>,
        SnapshotData = SnapshotBody,
);

type LogId = openraft::LogId<u64>;
type Failure = StorageError<u64>;

/// The commits of one entry, encoded by [`batch::join`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch(Arc<[u8]>);

impl Serialize for Batch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Batch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Batch;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the bytes of a batch of commits")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Batch, E> {
                Ok(Batch(bytes.into()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

/// Encodes an entry for the store.
fn encode_entry(entry: &openraft::Entry<Types>) -> Result<Vec<u8>, postcard::Error> {
    postcard::to_stdvec(entry)
}

/// Reads an entry back.
fn decode_entry(stored: &[u8]) -> Result<openraft::Entry<Types>, postcard::Error> {
    postcard::from_bytes(stored)
}

/// Reads the commits of a stored entry; none for an entry of openraft's own.
pub(crate) fn read_stored(index: u64, stored: &[u8]) -> Result<Option<Entry>, OwnersError> {
    let entry = decode_entry(stored)
        .map_err(|error| OwnersError::Entry { index, why: error.to_string() })?;
    read_entry(&entry)
}

fn read_entry(entry: &openraft::Entry<Types>) -> Result<Option<Entry>, OwnersError> {
    let EntryPayload::Normal(Batch(bytes)) = &entry.payload else {
        return Ok(None);
    };
    let index = entry.log_id.index;
    let commits =
        batch::read(bytes).map_err(|error| OwnersError::Entry { index, why: error.to_string() })?;
    Ok(Some(Entry {
        index,
        term: Epoch(entry.log_id.leader_id.term),
        commits: commits.into_iter().map(Arc::new).collect(),
    }))
}

fn cannot_read_log(error: impl std::error::Error + 'static) -> Failure {
    StorageIOError::read_logs(openraft::AnyError::new(&error)).into()
}

fn cannot_write_log(error: StoreError) -> Failure {
    StorageIOError::write_logs(openraft::AnyError::new(&error)).into()
}

fn cannot_apply(error: &OwnersError) -> Failure {
    StorageIOError::write_state_machine(openraft::AnyError::new(error)).into()
}

fn cannot_snapshot(error: impl std::error::Error + 'static) -> Failure {
    StorageIOError::write_snapshot(None, openraft::AnyError::new(&error)).into()
}
