//! The bytes of a snapshot as openraft passes them on: those of the store, to be sent, or those of another node, to be
//! installed. Neither node holds all of them in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use crate::store::{SnapshotReader, StoreError};
use crate::stream::StreamPart;

/// How often a store that is closed for lack of room is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// The bytes of a snapshot cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SnapshotBodyError {
    #[error("the snapshot cannot be read: {0}")]
    Store(#[from] StoreError),
    #[error("the received snapshot cannot be read: {0}")]
    File(#[from] io::Error),
    #[error("the snapshot of another node is installed, not sent on")]
    NotStored,
    #[error("the snapshot of this node is sent, not installed")]
    NotReceived,
}

/// A snapshot's bytes.
pub(crate) struct SnapshotBody(SnapshotBytes);

enum SnapshotBytes {
    Stored(Mutex<SnapshotReader>),
    /// A checked file without a name: it disappears when the last handle closes.
    Received {
        file: Arc<File>,
        parts: Vec<StreamPart>,
    },
}

impl SnapshotBody {
    /// The bytes of a snapshot in the store.
    pub(super) fn stored(reader: SnapshotReader) -> Self {
        SnapshotBody(SnapshotBytes::Stored(Mutex::new(reader)))
    }

    /// The bytes that another node sent. They are checked, and contain these parts.
    pub(super) fn received(file: Arc<File>, parts: Vec<StreamPart>) -> Self {
        SnapshotBody(SnapshotBytes::Received { file, parts })
    }

    /// Number and size of a snapshot in the store.
    ///
    /// # Errors
    /// It was received.
    pub(super) fn number_and_bytes(&self) -> Result<(u64, u64), SnapshotBodyError> {
        match &self.0 {
            SnapshotBytes::Received { .. } => Err(SnapshotBodyError::NotStored),
            SnapshotBytes::Stored(reader) => {
                let reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                Ok((reader.manifest().number, reader.manifest().bytes))
            }
        }
    }

    /// The parts of a received snapshot.
    ///
    /// # Errors
    /// It is in the store.
    pub(super) fn received_parts(&self) -> Result<Vec<StreamPart>, SnapshotBodyError> {
        match &self.0 {
            SnapshotBytes::Stored(_) => Err(SnapshotBodyError::NotReceived),
            SnapshotBytes::Received { parts, .. } => Ok(parts.clone()),
        }
    }

    /// Up to `most` bytes from `at` on, read on a thread of its own; empty at the end. Waits while the store is closed
    /// for lack of room.
    pub(super) async fn read(
        self: Arc<Self>,
        at: u64,
        most: usize,
    ) -> Result<Vec<u8>, SnapshotBodyError> {
        loop {
            let body = self.clone();
            let read = tokio::task::spawn_blocking(move || body.read_now(at, most)).await;
            match read.map_err(io::Error::from)?? {
                Some(bytes) => return Ok(bytes),
                None => sleep(RETRY).await,
            }
        }
    }

    /// None while the store is closed for lack of room.
    fn read_now(&self, at: u64, most: usize) -> Result<Option<Vec<u8>>, SnapshotBodyError> {
        match &self.0 {
            SnapshotBytes::Received { file, .. } => {
                let mut bytes = vec![0; most];
                let read = file.read_at(&mut bytes, at)?;
                bytes.truncate(read);
                Ok(Some(bytes))
            }
            SnapshotBytes::Stored(reader) => {
                let mut reader = reader.lock().unwrap_or_else(PoisonError::into_inner);
                let mut bytes = Vec::with_capacity(most);
                while bytes.len() < most {
                    let Some(some) = reader.read_at(at + bytes.len() as u64)? else {
                        return Ok(None);
                    };
                    if some.is_empty() {
                        break;
                    }
                    let left = most - bytes.len();
                    bytes.extend_from_slice(&some[..some.len().min(left)]);
                }
                Ok(Some(bytes))
            }
        }
    }
}
