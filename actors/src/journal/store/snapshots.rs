//! Snapshots in the store: the stream in checksummed chunks, beside the former one, made current
//! by one small value.

use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::record::{frame, unframe};
use super::{SNAPSHOT, Store, StoreError, Trees};
use crate::journal::stream::{self, Part};

/// Body bytes of one chunk: small enough that no page of chunks outgrows a quarter of a segment.
const CHUNK_BYTES: usize = 16 * 1024;
/// Chunks written between two flushes, so that a large snapshot leaves room for commits.
const CHUNKS_PER_WRITE: usize = 32;
const TREE_PREFIX: &str = "snapshot/";

/// What is known of the current snapshot without reading it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotManifest {
    /// Names its tree.
    pub(crate) number: u64,
    /// Log index of the last entry in it.
    pub(crate) index: u64,
    /// What the raft layer knows of it, as it encodes it.
    pub(crate) meta: Vec<u8>,
    /// Length of the stream.
    pub(crate) bytes: u64,
    /// Where each piece stands in the stream.
    pub(crate) parts: Vec<Part>,
}

impl Trees {
    /// The current snapshot.
    pub(crate) fn snapshot(&self) -> Result<Option<SnapshotManifest>, StoreError> {
        self.get(SNAPSHOT)
    }

    /// The whole stream of a snapshot.
    pub(crate) fn snapshot_stream(
        &self,
        manifest: &SnapshotManifest,
    ) -> Result<Vec<u8>, StoreError> {
        self.snapshot_bytes(manifest, 0, manifest.bytes)
    }

    /// The rows of one piece in a snapshot; none if it was not there.
    pub(crate) fn snapshot_rows(
        &self,
        manifest: &SnapshotManifest,
        piece: u8,
    ) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut rows = Vec::new();
        for part in manifest.parts.iter().filter(|part| part.piece == piece) {
            let bytes = self.snapshot_bytes(manifest, part.start, part.end)?;
            rows.extend(stream::rows(&bytes).map_err(|error| damaged(error.to_string()))?);
        }
        Ok(rows)
    }

    fn snapshot_bytes(
        &self,
        manifest: &SnapshotManifest,
        start: u64,
        end: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let chunk_bytes = CHUNK_BYTES as u64;
        let tree = self.db.open_tree(tree_name(manifest.number))?;
        let mut bytes = Vec::new();
        let first_chunk = start / chunk_bytes;
        for chunk in first_chunk..end.div_ceil(chunk_bytes) {
            let record = tree
                .get(chunk.to_be_bytes())?
                .ok_or_else(|| damaged(format!("chunk {chunk} is missing")))?;
            let body = unframe(&record).map_err(|error| damaged(error.to_string()))?;
            bytes.extend_from_slice(body);
        }
        let skipped = usize::try_from(start - first_chunk * chunk_bytes).unwrap_or(usize::MAX);
        let length = usize::try_from(end - start).unwrap_or(usize::MAX);
        if bytes.len() < skipped.saturating_add(length) {
            return Err(damaged("it is cut short".to_owned()));
        }
        bytes.truncate(skipped + length);
        bytes.drain(..skipped);
        Ok(bytes)
    }
}

/// What became of a snapshot that was written.
pub(crate) struct Kept {
    /// The snapshot that is current now: the one just written, unless a newer one came first.
    pub(crate) current: SnapshotManifest,
    /// One that is current no longer. To be dropped once nobody reads it any more.
    pub(crate) former: Option<SnapshotManifest>,
}

impl Store {
    /// Writes a stream beside the current snapshot and makes it the current one, durably.
    pub(crate) async fn keep_snapshot(
        &self,
        index: u64,
        meta: Vec<u8>,
        stream: &[u8],
        parts: Vec<Part>,
    ) -> Result<Kept, StoreError> {
        let number = self.trees().next_snapshot.fetch_add(1, Ordering::Relaxed);
        for (run, chunks) in stream.chunks(CHUNK_BYTES * CHUNKS_PER_WRITE).enumerate() {
            let records: Vec<Vec<u8>> = chunks.chunks(CHUNK_BYTES).map(frame).collect();
            self.write(move |trees| {
                let tree = trees.db.open_tree(tree_name(number))?;
                for (offset, record) in records.into_iter().enumerate() {
                    let chunk = (run * CHUNKS_PER_WRITE + offset) as u64;
                    tree.insert(chunk.to_be_bytes(), record)?;
                }
                Ok(())
            })
            .await?;
        }
        let written = SnapshotManifest { number, index, meta, bytes: stream.len() as u64, parts };
        let (replaced, kept) = oneshot::channel();
        self.write(move |trees| {
            let before = trees.snapshot()?;
            let kept = match before {
                Some(newer) if newer.index > index => {
                    Kept { current: newer, former: Some(written) }
                }
                former => {
                    trees.put(SNAPSHOT, &written)?;
                    Kept { current: written, former }
                }
            };
            // Nobody waits any more only when the journal is stopping.
            let _ = replaced.send(kept);
            Ok(())
        })
        .await?;
        kept.await.map_err(|_| StoreError::Closed)
    }

    /// Drops a snapshot that is current no longer.
    pub(crate) async fn drop_snapshot(&self, former: SnapshotManifest) -> Result<(), StoreError> {
        let name = tree_name(former.number);
        self.write(move |trees| trees.db.drop_tree(name).map(drop).map_err(Into::into)).await
    }
}

/// Drops snapshots that were being written when the process ended.
pub(super) fn drop_abandoned(trees: &Trees) -> Result<(), StoreError> {
    let current = trees.snapshot()?;
    let next = current.as_ref().map_or(0, |manifest| manifest.number + 1);
    trees.next_snapshot.store(next, Ordering::Relaxed);
    let current = current.map(|manifest| tree_name(manifest.number));
    for name in trees.db.tree_names() {
        let is_snapshot = name.starts_with(TREE_PREFIX.as_bytes());
        if is_snapshot && current.as_ref().is_none_or(|current| name != current.as_bytes()) {
            trees.db.drop_tree(name)?;
        }
    }
    Ok(())
}

fn tree_name(number: u64) -> String {
    format!("{TREE_PREFIX}{number:016x}")
}

fn damaged(why: String) -> StoreError {
    StoreError::Damaged { what: "the snapshot".to_owned(), why }
}
