//! The journal's store: sled, used in the one way that is durable.
//!
//! **Invariant:** a write is answered only after `flush` *and* `sync_data` on the log file. On Linux sled's
//! flush alone leaves the data in the page cache.
//!
//! **Invariant:** every write that must be durable runs on the store's own thread, in the order of
//! the calls. Many writes share one flush and its head.
//!
//! **Invariant:** nothing in a store is changed before it is known to be whole.

mod database;
mod disk_space;
mod durability_mark;
mod head;
mod lock;
mod log;
pub(crate) mod maintenance;
mod opening;
mod record;
mod snapshots;
mod trees;
mod writer;

use crate::store::maintenance::rewrite;
use std::fmt::Debug;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use tokio::sync::{oneshot, watch};

pub(crate) use disk_space::DiskSpace;
pub(crate) use log::Purged;
pub(crate) use snapshots::{SnapshotInstalled, SnapshotManifest, SnapshotReader, SnapshotWriter};

pub(crate) use trees::Trees;

use reelyard_core::private_dir;

use crate::settings::OpenError;
use database::{LOCK_PATIENCE, is_full};
use disk_space::DiskSpaceMonitor;
use durability_mark::MarkFile;
use lock::DirectoryLock;
use opening::open_whole;
use writer::{MarkSync, StoreWriter, SyncData, WriteJob, WriterState};

/// The directory of sled, within that of the store.
const SLED: &str = "sled";

/// Why an operation of the store failed.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the store failed: {0}")]
    Io(String),
    #[error("the store has no room: {0}")]
    Full(String),
    /// Written bytes could not be synced. The kernel reports that once and then treats them as
    /// clean, so a later successful sync proves nothing. Only a restart, which reads the disk,
    /// shows what is there.
    #[error(
        "a write to the store could not be synced: {0}. It is not known how much of it reached the disk: \
         check the disk, then start again"
    )]
    Unsynced(String),
    #[error("the store is damaged: {what}: {why}")]
    Damaged { what: String, why: String },
    #[error("the store is in use by another process")]
    InUse,
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    fn damaged(what: &str, why: impl ToString) -> Self {
        StoreError::Damaged { what: what.to_owned(), why: why.to_string() }
    }
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        if is_full(&error) {
            StoreError::Full(error.to_string())
        } else {
            StoreError::Io(error.to_string())
        }
    }
}

impl From<sled::Error> for StoreError {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(error) => error.into(),
            sled::Error::Corruption { .. } | sled::Error::ReportableBug(_) => {
                StoreError::damaged("sled", error)
            }
            error => StoreError::Io(error.to_string()),
        }
    }
}

/// Gets notice of all durable writes, on the store's own thread. For tests that simulate a power failure.
pub trait StoreObserver: Debug + Send + Sync {
    /// Everything written to sled so far is durable. No waiting caller was answered yet.
    fn store_synced(&self);
    /// The mark itself is now durable.
    fn mark_synced(&self);
}

/// Settings for opening a store.
pub(crate) struct StoreSettings {
    pub(crate) dir: PathBuf,
    pub(crate) node: u64,
    /// Bytes of the disk that are kept in reserve.
    pub(crate) reserve: u64,
    pub(crate) observer: Option<Arc<dyn StoreObserver>>,
}

/// The open store. The last one dropped closes it.
pub(crate) struct JournalStore {
    dir: PathBuf,
    /// None while the database is closed for want of room.
    trees: watch::Receiver<Option<Arc<Trees>>>,
    room: watch::Receiver<DiskSpace>,
    writer: StoreWriter,
    /// The number of the next snapshot to be written.
    next_snapshot: AtomicU64,
    readers: snapshots::SnapshotReaders,
}

impl JournalStore {
    /// Opens or creates a store. Blocks: to be called off the runtime. The watch turns true when
    /// the store is closed and its lock released.
    pub(crate) fn open(
        settings: StoreSettings,
    ) -> Result<(Arc<JournalStore>, watch::Receiver<bool>), OpenError> {
        JournalStore::open_syncing(settings, File::sync_data)
    }

    /// The same with another way to sync the log file, for tests in which that fails.
    fn open_syncing(
        settings: StoreSettings,
        sync: SyncData,
    ) -> Result<(Arc<JournalStore>, watch::Receiver<bool>), OpenError> {
        let StoreSettings { dir, node, reserve, observer } = settings;
        let failed = |error: StoreError| OpenError::of_store(&dir, error);
        let io = |error: std::io::Error| failed(error.into());
        private_dir::create(&dir).map_err(io)?;
        let lock = DirectoryLock::take(&dir, LOCK_PATIENCE)?;
        let mut room = DiskSpaceMonitor::keep(&dir, reserve).map_err(io)?;
        let sled = dir.join(SLED);
        rewrite::finish(&dir).map_err(io)?;
        let (trees, log_file) = loop {
            match open_whole(&dir, node) {
                Err(OpenError::Full { .. }) if room.give_up_reserve().map_err(io)? => {}
                opened => break opened?,
            }
        };
        let (trees, log_file) =
            rewrite::if_too_large(&dir, trees, log_file, rewrite::LEAST).map_err(failed)?;
        let head = trees.head();
        let next_snapshot = AtomicU64::new(snapshots::next_number(&trees.db, &head));
        let mark = loop {
            match MarkFile::create(&dir, &head.mark()) {
                Err(error) if is_full(&error) && room.give_up_reserve().map_err(io)? => {}
                created => break created.map_err(io)?,
            }
        };
        private_dir::narrow(&dir, &[""]);
        let (publish, trees) = watch::channel(Some(Arc::new(trees)));
        let seen = room.state();
        let pen = WriterState {
            sled,
            trees: publish,
            log_file: Some(log_file),
            sync,
            mark,
            room,
            durable: head.sequence,
            observer,
            failed: None,
            hurry: Arc::new(AtomicBool::new(false)),
        };
        let (writer, closed) = StoreWriter::spawn(pen, lock).map_err(io)?;
        let readers = snapshots::SnapshotReaders::default();
        let store = JournalStore { dir, trees, room: seen, writer, next_snapshot, readers };
        Ok((Arc::new(store), closed))
    }

    /// The trees, for reading. Durable writes go through [`JournalStore::write`]. Waits while the
    /// database is closed for lack of room. Release them soon.
    pub(crate) async fn trees(&self) -> Result<Arc<Trees>, StoreError> {
        let mut trees = self.trees.clone();
        let open = trees.wait_for(Option::is_some).await.map_err(|_| StoreError::Closed)?;
        open.clone().ok_or(StoreError::Closed)
    }

    /// The trees, if they are open just now.
    pub(crate) fn open_trees(&self) -> Option<Arc<Trees>> {
        self.trees.borrow().clone()
    }

    /// A file without a name on the store's disk: it disappears when its last handle closes.
    pub(crate) fn scratch_file(&self) -> std::io::Result<File> {
        let path = self.dir.join("incoming");
        let mut options = File::options();
        let file = options.create(true).truncate(true).read(true).write(true).open(&path)?;
        fs::remove_file(path)?;
        Ok(file)
    }

    /// The room on the store's disk.
    pub(crate) fn room(&self) -> watch::Receiver<DiskSpace> {
        self.room.clone()
    }

    /// The store is about to be closed: what waits for room fails.
    pub(crate) fn hurry(&self) {
        self.writer.hurry();
    }

    /// Runs `write` on the writer's thread and answers once it is durable. It may run more than
    /// once, each time on a store without its earlier effects.
    pub(crate) async fn write<W>(&self, write: W) -> Result<(), StoreError>
    where
        W: Fn(&Trees) -> Result<(), StoreError> + Send + 'static,
    {
        self.write_marked(MarkSync::WhenDue, write).await
    }

    /// Saves a vote: other nodes are about to rely on it.
    pub(crate) async fn vote(&self, vote: Vec<u8>) -> Result<(), StoreError> {
        let write = move |trees: &Trees| {
            trees.change_head(|head| head.vote = Some(vote.clone()));
            Ok(())
        };
        self.write_relied_upon(write).await
    }

    /// The same as [`JournalStore::write`], for what others rely on as soon as it is answered.
    async fn write_relied_upon<W>(&self, write: W) -> Result<(), StoreError>
    where
        W: Fn(&Trees) -> Result<(), StoreError> + Send + 'static,
    {
        self.write_marked(MarkSync::AtOnce, write).await
    }

    /// Removes the log's rows from `index` on: another leader's replace them.
    pub(crate) async fn truncate(&self, index: u64) -> Result<(), StoreError> {
        self.write(move |trees| trees.truncate(index)).await
    }

    /// Drops the log up to `purged`, which a snapshot covers.
    pub(crate) async fn purge(&self, purged: Purged) -> Result<(), StoreError> {
        let write = move |trees: &Trees| {
            // The head is written first, so that rows before its purged position are not reported
            // as missing.
            trees.change_head(|head| head.purged = Some(purged.clone()));
            trees.put_head()?;
            trees.log.purge(purged.index)
        };
        self.write(write).await
    }

    async fn write_marked<W>(&self, mark: MarkSync, write: W) -> Result<(), StoreError>
    where
        W: Fn(&Trees) -> Result<(), StoreError> + Send + 'static,
    {
        let (done, answer) = oneshot::channel();
        self.writer.send(WriteJob { write: Box::new(write), mark, done })?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    static FAILS: AtomicBool = AtomicBool::new(false);

    /// Fails as a thin volume or a quota does: the bytes are in the page cache, not on the disk.
    fn sync(file: &File) -> std::io::Result<()> {
        if FAILS.swap(false, Ordering::SeqCst) {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        file.sync_data()
    }

    #[tokio::test]
    async fn a_failed_sync_ends_the_store_for_good() {
        let dir = tempfile::tempdir().unwrap();
        let settings = || StoreSettings {
            dir: dir.path().to_owned(),
            node: 1,
            reserve: 1 << 20,
            observer: None,
        };
        let (store, mut closed) = JournalStore::open_syncing(settings(), sync).unwrap();
        let rows = |range: std::ops::Range<u64>| {
            move |trees: &Trees| {
                let rows: Vec<_> = range.clone().map(|index| (index, vec![7; 40])).collect();
                trees.log.append(&rows)
            }
        };
        store.write(rows(0..10)).await.unwrap();
        FAILS.store(true, Ordering::SeqCst);
        let failed = store.write(rows(10..20)).await;
        assert!(matches!(failed, Err(StoreError::Unsynced(_))), "{failed:?}");
        assert!(!FAILS.load(Ordering::SeqCst));
        // A sync that succeeds later does not make the rows durable that the failed one lost.
        let after = store.write(|_| Ok(())).await;
        assert!(matches!(after, Err(StoreError::Unsynced(_))), "{after:?}");
        drop(store);
        closed.wait_for(|closed| *closed).await.unwrap();
        let (store, _) = JournalStore::open(settings()).unwrap();
        let end = store.trees().await.unwrap().log.end();
        assert!(end == 10 || end == 20, "what is there is whole: {end}");
    }
}
