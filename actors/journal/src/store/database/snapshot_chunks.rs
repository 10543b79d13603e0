//! Snapshots in the database: a tree of checksummed chunks for each, read piece by piece.

use crate::store::StoreError;
use crate::store::database::head::StoreHead;
use crate::store::database::sled_database::guarded;
use crate::store::database::snapshot_manifest::{CHUNK_BYTES, SnapshotManifest};
use crate::store::database::trees::Trees;
use crate::store::record::{self, RecordLink};
use crate::stream::{self, StreamPart};

/// Bytes of rows that are read at once, or one row if it is longer.
const ROWS_BYTES: u64 = 1 << 20;
const TREE_PREFIX: &str = "snapshot/";

impl Trees {
    /// The newest complete snapshot.
    pub(crate) fn snapshot(&self) -> Option<SnapshotManifest> {
        self.head().snapshot
    }

    /// One chunk of a snapshot.
    pub(crate) fn chunk(
        &self,
        manifest: &SnapshotManifest,
        chunk: u64,
    ) -> Result<Vec<u8>, StoreError> {
        guarded(|| {
            let tree = self.db.open_tree(tree_name(manifest.number))?;
            let found = tree
                .get(chunk.to_be_bytes())?
                .ok_or_else(|| damaged(format!("chunk {chunk} is missing")))?;
            let read =
                record::read(&found).map_err(|error| damaged(format!("chunk {chunk}: {error}")))?;
            if read.link.is_some_and(|link| link != chunk_link(manifest.number, chunk)) {
                return Err(damaged(format!("chunk {chunk} belongs elsewhere")));
            }
            let whole = chunk + 1 < manifest.chunks();
            let expected = if whole {
                CHUNK_BYTES as u64
            } else {
                manifest.bytes - chunk * CHUNK_BYTES as u64
            };
            if read.body.len() as u64 != expected {
                return Err(damaged(format!("chunk {chunk} is cut short")));
            }
            Ok(read.body.to_vec())
        })
    }

    /// The bytes of a snapshot's stream from `start` to `end`.
    fn snapshot_bytes(
        &self,
        manifest: &SnapshotManifest,
        start: u64,
        end: u64,
    ) -> Result<Vec<u8>, StoreError> {
        let chunk_bytes = CHUNK_BYTES as u64;
        let mut bytes = Vec::new();
        let first_chunk = start / chunk_bytes;
        for chunk in first_chunk..end.div_ceil(chunk_bytes) {
            bytes.extend_from_slice(&self.chunk(manifest, chunk)?);
        }
        let skipped = usize::try_from(start - first_chunk * chunk_bytes).unwrap_or(usize::MAX);
        let length = usize::try_from(end - start).unwrap_or(usize::MAX);
        bytes.truncate(skipped + length);
        bytes.drain(..skipped);
        Ok(bytes)
    }

    /// Some rows of one part, from `at` on, and the position of the next ones.
    pub(crate) fn snapshot_rows(
        &self,
        manifest: &SnapshotManifest,
        part: &StreamPart,
        at: u64,
    ) -> Result<(Vec<Vec<u8>>, u64), StoreError> {
        let mut wanted = ROWS_BYTES;
        loop {
            let end = part.end.min(at.saturating_add(wanted));
            let bytes = self.snapshot_bytes(manifest, at, end)?;
            let (rows, read) = stream::rows(&bytes);
            if read > 0 {
                return Ok((rows, at + read as u64));
            }
            if end == part.end {
                return Err(damaged("its last row is cut short".to_owned()));
            }
            wanted *= 2;
        }
    }
}

/// The number of the next snapshot. No tree has this number, not even one that will be dropped.
pub(crate) fn next_number(db: &sled::Db, head: &StoreHead) -> u64 {
    let numbers = db.tree_names().into_iter().filter_map(|name| {
        let number = std::str::from_utf8(&name).ok()?.strip_prefix(TREE_PREFIX)?;
        u64::from_str_radix(number, 16).ok()
    });
    let current = head.snapshot.as_ref().map(|manifest| manifest.number);
    numbers.chain(current).max().map_or(0, |last| last + 1)
}

/// Drops snapshots that were being written when the process ended, and former ones.
pub(crate) fn drop_abandoned(trees: &Trees) -> Result<(), StoreError> {
    let current = trees.snapshot().map(|manifest| tree_name(manifest.number));
    for name in trees.db.tree_names() {
        let is_snapshot = name.starts_with(TREE_PREFIX.as_bytes());
        if is_snapshot && current.as_ref().is_none_or(|current| name != current.as_bytes()) {
            trees.db.drop_tree(name)?;
        }
    }
    Ok(())
}

pub(crate) fn tree_name(number: u64) -> String {
    format!("{TREE_PREFIX}{number:016x}")
}

/// Link of a chunk, from its snapshot and its number.
pub(crate) fn chunk_link(number: u64, chunk: u64) -> RecordLink {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), &chunk.to_le_bytes())
}

fn damaged(why: String) -> StoreError {
    StoreError::damaged("the snapshot", why)
}
