//! Snapshots in the store: a stream in checksummed chunks, written beside the former one, made
//! current by the head, and read piece by piece.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::database::guarded;
use super::head::StoreHead;
use super::record::{self, RecordLink, frame_linked};
use super::trees::Trees;
use super::{JournalStore, StoreError};
use crate::stream;
use crate::stream::StreamPart;

/// Body bytes of one chunk: small enough that no page of chunks outgrows a quarter of a segment.
pub(super) const CHUNK_BYTES: usize = 16 * 1024;
/// Bytes written between two flushes.
const RUN_BYTES: usize = 32 * CHUNK_BYTES;
/// The longest pause after a run. As a rule it is as long as the run took: the other half of the
/// disk's time is for commits.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// Bytes of rows that are read at once, or one row if it is longer.
const ROWS_BYTES: u64 = 1 << 20;
const TREE_PREFIX: &str = "snapshot/";

/// Description of a snapshot, readable without the snapshot itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SnapshotManifest {
    /// Number of the snapshot, which names its tree.
    pub(crate) number: u64,
    /// Log index of the last entry in it.
    pub(crate) index: u64,
    /// Metadata of the raft layer, in its encoding.
    pub(crate) meta: Vec<u8>,
    /// Length of the stream in bytes.
    pub(crate) bytes: u64,
    /// Position of each piece in the stream.
    pub(crate) parts: Vec<StreamPart>,
}

impl SnapshotManifest {
    /// How many chunks it has.
    pub(super) fn chunks(&self) -> u64 {
        self.bytes.div_ceil(CHUNK_BYTES as u64)
    }
}

impl Trees {
    /// The newest complete snapshot.
    pub(crate) fn snapshot(&self) -> Option<SnapshotManifest> {
        self.head().snapshot
    }

    /// One chunk of a snapshot.
    pub(super) fn chunk(
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

    /// Some rows of one part, from `at` on, and where the next ones begin.
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

/// Result of writing a snapshot.
#[derive(Clone)]
pub(crate) struct SnapshotInstalled {
    /// The snapshot that is current now: the one just written, unless a newer one came first.
    pub(crate) current: SnapshotManifest,
    /// A former snapshot. It is dropped when its last reader has finished.
    pub(crate) former: Option<SnapshotManifest>,
}

/// Readers of each snapshot, and the snapshots to drop after their last reader.
#[derive(Default)]
pub(super) struct SnapshotReaders(Mutex<BTreeMap<u64, SnapshotReads>>);

#[derive(Default)]
struct SnapshotReads {
    readers: usize,
    /// It is current no longer.
    doomed: bool,
}

impl SnapshotReaders {
    fn with<T>(&self, change: impl FnOnce(&mut BTreeMap<u64, SnapshotReads>) -> T) -> T {
        // Nothing in here can panic half-way through a change.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes a stream beside the current snapshot, at a pace that leaves room for commits.
pub(crate) struct SnapshotWriter {
    store: Arc<JournalStore>,
    number: u64,
    bytes: u64,
    waiting: Vec<u8>,
}

impl SnapshotWriter {
    pub(crate) fn new(store: Arc<JournalStore>) -> Self {
        let number = store.next_snapshot.fetch_add(1, Ordering::Relaxed);
        SnapshotWriter { store, number, bytes: 0, waiting: Vec::new() }
    }

    /// Takes the next bytes of the stream.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.waiting.extend_from_slice(bytes);
        while self.waiting.len() >= RUN_BYTES {
            let rest = self.waiting.split_off(RUN_BYTES);
            let run = std::mem::replace(&mut self.waiting, rest);
            let began = Instant::now();
            self.write_run(run).await?;
            tokio::time::sleep(began.elapsed().min(LONGEST_PAUSE)).await;
        }
        Ok(())
    }

    async fn write_run(&mut self, run: Vec<u8>) -> Result<(), StoreError> {
        let (number, first) = (self.number, self.bytes / CHUNK_BYTES as u64);
        self.bytes += run.len() as u64;
        let write = move |trees: &Trees| {
            let tree = trees.db.open_tree(tree_name(number))?;
            for (chunk, body) in (first..).zip(run.chunks(CHUNK_BYTES)) {
                let (record, _) = frame_linked(chunk_link(number, chunk), body);
                tree.insert(chunk.to_be_bytes(), record)?;
            }
            Ok(())
        };
        self.store.write(write).await
    }

    /// Makes the written snapshot the current one, durably, unless a newer one came first.
    pub(crate) async fn finish(
        mut self,
        index: u64,
        meta: Vec<u8>,
        parts: Vec<StreamPart>,
    ) -> Result<SnapshotInstalled, StoreError> {
        let rest = std::mem::take(&mut self.waiting);
        if !rest.is_empty() {
            self.write_run(rest).await?;
        }
        let written =
            SnapshotManifest { number: self.number, index, meta, bytes: self.bytes, parts };
        let kept = Arc::new(Mutex::new(None));
        let answer = kept.clone();
        let make_current = move |trees: &Trees| {
            let written = written.clone();
            let kept = match trees.snapshot() {
                Some(newer) if newer.index > index => {
                    SnapshotInstalled { current: newer, former: Some(written) }
                }
                former => {
                    trees.change_head(|head| head.snapshot = Some(written.clone()));
                    SnapshotInstalled { current: written, former }
                }
            };
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
            Ok(())
        };
        self.store.write_relied_upon(make_current).await?;
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.ok_or(StoreError::Closed)
    }
}

impl JournalStore {
    /// Drops a snapshot that is current no longer, and others before it, unless somebody reads
    /// them still.
    pub(crate) async fn drop_snapshot(&self, former: SnapshotManifest) -> Result<(), StoreError> {
        let unread = self.readers.with(|readers| {
            readers.entry(former.number).or_default().doomed = true;
            let is_unread = |reading: &SnapshotReads| reading.doomed && reading.readers == 0;
            let unread: Vec<u64> = readers
                .iter()
                .filter(|(_, reading)| is_unread(reading))
                .map(|(number, _)| *number)
                .collect();
            readers.retain(|_, reading| !is_unread(reading));
            unread
        });
        if unread.is_empty() {
            return Ok(());
        }
        let drop_all = move |trees: &Trees| {
            unread
                .iter()
                .try_for_each(|&number| Ok(trees.db.drop_tree(tree_name(number)).map(drop)?))
        };
        self.write(drop_all).await
    }
}

/// Reads the current snapshot's stream. It is kept as long as this lives.
pub(crate) struct SnapshotReader {
    store: Arc<JournalStore>,
    manifest: SnapshotManifest,
    /// The chunk that was read last.
    chunk: Option<(u64, Vec<u8>)>,
}

impl SnapshotReader {
    /// A reader of the snapshot that is current now.
    pub(crate) async fn current(store: &Arc<JournalStore>) -> Result<Option<Self>, StoreError> {
        let trees = store.trees().await?;
        // Under the readers' lock: it cannot be dropped between looking and noting.
        let manifest = store.readers.with(|readers| {
            let manifest = trees.snapshot()?;
            readers.entry(manifest.number).or_default().readers += 1;
            Some(manifest)
        });
        Ok(manifest.map(|manifest| SnapshotReader { store: store.clone(), manifest, chunk: None }))
    }

    pub(crate) fn manifest(&self) -> &SnapshotManifest {
        &self.manifest
    }

    /// Some bytes from `at` on; none at the end. None at all while the store is closed for want of
    /// room.
    pub(crate) fn read_at(&mut self, at: u64) -> Result<Option<&[u8]>, StoreError> {
        if at >= self.manifest.bytes {
            return Ok(Some(&[]));
        }
        let wanted = at / CHUNK_BYTES as u64;
        if self.chunk.as_ref().is_none_or(|(chunk, _)| *chunk != wanted) {
            let Some(trees) = self.store.open_trees() else {
                return Ok(None);
            };
            self.chunk = Some((wanted, trees.chunk(&self.manifest, wanted)?));
        }
        let skipped = usize::try_from(at % CHUNK_BYTES as u64).unwrap_or(CHUNK_BYTES);
        let bytes = self.chunk.as_ref().and_then(|(_, bytes)| bytes.get(skipped..));
        Ok(Some(bytes.unwrap_or_default()))
    }
}

impl Drop for SnapshotReader {
    fn drop(&mut self) {
        self.store.readers.with(|readers| {
            if let Some(reading) = readers.get_mut(&self.manifest.number) {
                reading.readers -= 1;
                // A doomed one goes with the next that is dropped, or with the next start.
                if reading.readers == 0 && !reading.doomed {
                    readers.remove(&self.manifest.number);
                }
            }
        });
    }
}

/// The number of the next snapshot: one that no tree has, not even one that is to be dropped.
pub(super) fn next_number(db: &sled::Db, head: &StoreHead) -> u64 {
    let numbers = db.tree_names().into_iter().filter_map(|name| {
        let number = std::str::from_utf8(&name).ok()?.strip_prefix(TREE_PREFIX)?;
        u64::from_str_radix(number, 16).ok()
    });
    let current = head.snapshot.as_ref().map(|manifest| manifest.number);
    numbers.chain(current).max().map_or(0, |last| last + 1)
}

/// Drops snapshots that were being written when the process ended, and former ones.
pub(super) fn drop_abandoned(trees: &Trees) -> Result<(), StoreError> {
    let current = trees.snapshot().map(|manifest| tree_name(manifest.number));
    for name in trees.db.tree_names() {
        let is_snapshot = name.starts_with(TREE_PREFIX.as_bytes());
        if is_snapshot && current.as_ref().is_none_or(|current| name != current.as_bytes()) {
            trees.db.drop_tree(name)?;
        }
    }
    Ok(())
}

pub(super) fn tree_name(number: u64) -> String {
    format!("{TREE_PREFIX}{number:016x}")
}

/// Link of a chunk, from its snapshot and its number.
pub(super) fn chunk_link(number: u64, chunk: u64) -> RecordLink {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), &chunk.to_le_bytes())
}

fn damaged(why: String) -> StoreError {
    StoreError::damaged("the snapshot", why)
}
