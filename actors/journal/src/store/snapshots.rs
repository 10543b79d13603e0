//! Snapshots of a running store. Each is written beside the previous one, becomes current by a write
//! of the head, and is kept while it is read.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::store::database::head::Purged;
use crate::store::database::snapshot_chunks::{chunk_link, tree_name};
use crate::store::database::snapshot_manifest::{CHUNK_BYTES, SnapshotManifest};
use crate::store::database::trees::Trees;
use crate::store::error::StoreError;
use crate::store::journal_store::JournalStore;
use crate::store::record::frame_linked;
use crate::store::snapshot_readers::SnapshotReads;
use crate::stream::StreamPart;

/// Bytes written between two flushes.
const BATCH_BYTES: usize = 32 * CHUNK_BYTES;
/// The longest pause after a batch. Usually it is as long as the batch, so that half of the disk's time
/// is for commits.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Result of writing a snapshot.
#[derive(Clone)]
pub(crate) struct SnapshotInstalled {
    /// The current snapshot: the one just written, unless a newer one was finished first.
    pub(crate) current: SnapshotManifest,
    /// A former snapshot. It is dropped when its last reader has finished.
    pub(crate) former: Option<SnapshotManifest>,
}

/// Writes a stream beside the current snapshot, slowly enough to leave room for commits.
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
        while self.waiting.len() >= BATCH_BYTES {
            let rest = self.waiting.split_off(BATCH_BYTES);
            let batch = std::mem::replace(&mut self.waiting, rest);
            let began = Instant::now();
            self.write_batch(batch).await?;
            tokio::time::sleep(began.elapsed().min(LONGEST_PAUSE)).await;
        }
        Ok(())
    }

    async fn write_batch(&mut self, batch: Vec<u8>) -> Result<(), StoreError> {
        let (number, first) = (self.number, self.bytes / CHUNK_BYTES as u64);
        self.bytes += batch.len() as u64;
        let write = move |trees: &Trees| {
            let tree = trees.db.open_tree(tree_name(number))?;
            for (chunk, body) in (first..).zip(batch.chunks(CHUNK_BYTES)) {
                let (record, _) = frame_linked(chunk_link(number, chunk), body);
                tree.insert(chunk.to_be_bytes(), record)?;
            }
            Ok(())
        };
        self.store.write(write).await
    }

    /// Makes the written snapshot the current one, durably, unless a newer one was finished first. The log stays.
    pub(crate) async fn finish(
        self,
        index: u64,
        meta: Vec<u8>,
        parts: Vec<StreamPart>,
    ) -> Result<SnapshotInstalled, StoreError> {
        self.finish_and_purge(index, meta, parts, None).await
    }

    /// The same for a snapshot that another node sent. In the same write it replaces the log up to its last entry,
    /// so that no crash can leave a gap between the two.
    pub(crate) async fn finish_received(
        self,
        last: Purged,
        meta: Vec<u8>,
        parts: Vec<StreamPart>,
    ) -> Result<SnapshotInstalled, StoreError> {
        self.finish_and_purge(last.index, meta, parts, Some(last)).await
    }

    async fn finish_and_purge(
        mut self,
        index: u64,
        meta: Vec<u8>,
        parts: Vec<StreamPart>,
        purged: Option<Purged>,
    ) -> Result<SnapshotInstalled, StoreError> {
        let rest = std::mem::take(&mut self.waiting);
        if !rest.is_empty() {
            self.write_batch(rest).await?;
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
                    if let Some(purged) = &purged {
                        trees.purge(purged)?;
                    }
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
    /// Drops a snapshot that is no longer current, and earlier ones, unless a reader still uses them.
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

/// Reads the current snapshot's stream. The snapshot is kept while this value lives.
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
        // Under the readers' lock, so that the snapshot cannot be dropped before the reader is
        // recorded.
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

    /// Some bytes from `at` on; empty at the end. None while the store is closed for lack of room.
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
                // If this fails, the snapshot is dropped with the next one, or at the next start.
                if reading.readers == 0 && !reading.doomed {
                    readers.remove(&self.manifest.number);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::StoreSettings;

    #[tokio::test]
    async fn an_older_snapshot_that_ends_later_replaces_no_newer_one() {
        let dir = tempfile::tempdir().unwrap();
        let settings =
            StoreSettings { dir: dir.path().to_owned(), node: 1, reserve: 1 << 20, observer: None };
        let (store, _closed) = JournalStore::open(settings).unwrap();
        // One is taken here, and meanwhile the leader sends another one.
        let mut taken = SnapshotWriter::new(store.clone());
        let mut sent = SnapshotWriter::new(store.clone());
        taken.write(b"taken").await.unwrap();
        sent.write(b"sent").await.unwrap();
        let first = sent.finish(20, Vec::new(), Vec::new()).await.unwrap();
        assert_eq!((first.current.index, first.former.is_none()), (20, true));
        let second = taken.finish(10, Vec::new(), Vec::new()).await.unwrap();
        assert_eq!(second.current.index, 20);
        assert_eq!(second.former.map(|former| former.index), Some(10));
        let current = store.trees().await.unwrap().snapshot();
        assert_eq!(current.map(|current| current.index), Some(20));
    }

    fn settings(dir: &std::path::Path) -> StoreSettings {
        StoreSettings { dir: dir.to_owned(), node: 1, reserve: 1 << 20, observer: None }
    }

    async fn append(store: &JournalStore, range: std::ops::Range<u64>) {
        let rows: Vec<_> = range.map(|index| (index, vec![7; 40])).collect();
        store.write(move |trees| trees.log.append(&rows)).await.unwrap();
    }

    fn purged(index: u64) -> Purged {
        Purged { index, log_id: vec![4] }
    }

    /// The process dies at any moment between the purge that openraft asks for and the end of the installation.
    #[tokio::test]
    async fn the_log_stays_until_a_received_snapshot_is_durable() {
        let dir = tempfile::tempdir().unwrap();
        let (store, mut closed) = JournalStore::open(settings(dir.path())).unwrap();
        append(&store, 0..10).await;
        store.purge(purged(30)).await.unwrap();
        assert_eq!(store.trees().await.unwrap().log.read(0..10).unwrap().len(), 10);
        let mut received = SnapshotWriter::new(store.clone());
        received.write(b"rows").await.unwrap();
        drop((received, store));
        closed.wait_for(|closed| *closed).await.unwrap();

        let (store, mut closed) = JournalStore::open(settings(dir.path())).unwrap();
        assert_eq!(store.trees().await.unwrap().log.end(), 10, "the log is still there");
        let mut received = SnapshotWriter::new(store.clone());
        received.write(b"rows").await.unwrap();
        received.finish_received(purged(30), Vec::new(), Vec::new()).await.unwrap();
        append(&store, 31..33).await;
        drop(store);
        closed.wait_for(|closed| *closed).await.unwrap();

        let (store, _closed) = JournalStore::open(settings(dir.path())).unwrap();
        let trees = store.trees().await.unwrap();
        let rows: Vec<u64> = trees.log.read(0..100).unwrap().iter().map(|row| row.0).collect();
        assert_eq!(rows, [31, 32]);
        assert_eq!(trees.snapshot().map(|current| current.index), Some(30));
    }

    #[tokio::test]
    async fn a_purge_stops_at_the_snapshot() {
        let dir = tempfile::tempdir().unwrap();
        let (store, _closed) = JournalStore::open(settings(dir.path())).unwrap();
        append(&store, 0..10).await;
        let mut taken = SnapshotWriter::new(store.clone());
        taken.write(b"rows").await.unwrap();
        taken.finish(6, Vec::new(), Vec::new()).await.unwrap();
        store.purge(purged(7)).await.unwrap();
        assert_eq!(store.trees().await.unwrap().log.read(0..10).unwrap().len(), 10);
        store.purge(purged(6)).await.unwrap();
        assert_eq!(store.trees().await.unwrap().log.read(0..10).unwrap().len(), 3);
    }

    #[tokio::test]
    async fn a_store_with_a_gap_between_snapshot_and_log_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (store, mut closed) = JournalStore::open(settings(dir.path())).unwrap();
        append(&store, 0..10).await;
        store.write(|trees| trees.purge(&purged(5))).await.unwrap();
        drop(store);
        closed.wait_for(|closed| *closed).await.unwrap();
        let refused = JournalStore::open(settings(dir.path())).map(drop).unwrap_err().to_string();
        assert!(refused.contains("begins after entry 5, and there is no snapshot"), "{refused}");
    }
}
