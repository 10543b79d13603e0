//! The open store: it reads at once, and writes on its own thread.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use reelyard_core::private_dir;
use tokio::sync::{oneshot, watch};

use super::database::head::Purged;
use super::database::rewrite;
use super::database::sled_database::{LOCK_PATIENCE, SLED};
use super::database::snapshot_chunks;
use super::database::trees::Trees;
use super::disk::disk_space::{DiskSpace, DiskSpaceMonitor};
use super::disk::durability_mark::MarkFile;
use super::disk::identity_file::StoreIdentity;
use super::disk::lock::DirectoryLock;
use super::error::{StoreError, is_full};
use super::observer::StoreObserver;
use super::opening::open_whole;
use super::opening_error::OpenError;
use super::snapshot_readers::SnapshotReaders;
use super::writer::{MarkSync, StoreWriter, SyncData, WriteJob, WriterState};

/// Settings for opening a store.
pub(crate) struct StoreSettings {
    pub(crate) dir: PathBuf,
    pub(crate) node: u64,
    /// Bytes of the disk that are kept in reserve.
    pub(crate) reserve: u64,
    pub(crate) observer: Option<Arc<dyn StoreObserver>>,
}

/// The open store. It closes when the last clone is dropped.
pub(crate) struct JournalStore {
    dir: PathBuf,
    identity: StoreIdentity,
    /// None while the database is closed for lack of room.
    trees: watch::Receiver<Option<Arc<Trees>>>,
    room: watch::Receiver<DiskSpace>,
    writer: StoreWriter,
    /// The number of the next snapshot to be written.
    pub(super) next_snapshot: AtomicU64,
    pub(super) readers: SnapshotReaders,
}

impl JournalStore {
    /// Opens or creates a store. Blocks, so call it outside of the runtime. The watch becomes
    /// true when the store is closed and its lock released.
    pub(crate) fn open(
        settings: StoreSettings,
    ) -> Result<(Arc<JournalStore>, watch::Receiver<bool>), OpenError> {
        JournalStore::open_syncing(settings, File::sync_data)
    }

    /// The same with another way to sync the log file, for tests in which this fails.
    fn open_syncing(
        settings: StoreSettings,
        sync: SyncData,
    ) -> Result<(Arc<JournalStore>, watch::Receiver<bool>), OpenError> {
        let StoreSettings { dir, node, reserve, observer } = settings;
        let failed = |error: StoreError| OpenError::of_store(&dir, error);
        let io = |error: std::io::Error| failed(error.into());
        private_dir::create(&dir).map_err(io)?;
        let lock = DirectoryLock::acquire(&dir, LOCK_PATIENCE)?;
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
        let next_snapshot = AtomicU64::new(snapshot_chunks::next_number(&trees.db, &head));
        let mark = loop {
            match MarkFile::create(&dir, &head.mark()) {
                Err(error) if is_full(&error) && room.give_up_reserve().map_err(io)? => {}
                created => break created.map_err(io)?,
            }
        };
        let identity = loop {
            match use_identity(&dir, node) {
                Err(StoreError::Full(_)) if room.give_up_reserve().map_err(io)? => {}
                used => break used.map_err(failed)?,
            }
        };
        private_dir::narrow(&dir, &[""]);
        let (publish, trees) = watch::channel(Some(Arc::new(trees)));
        let seen = room.state();
        let writer_state = WriterState {
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
        let (writer, closed) = StoreWriter::spawn(writer_state, lock).map_err(io)?;
        let readers = SnapshotReaders::default();
        let store =
            JournalStore { dir, identity, trees, room: seen, writer, next_snapshot, readers };
        Ok((Arc::new(store), closed))
    }

    /// The identity of the store. It has a number.
    pub(crate) fn identity(&self) -> StoreIdentity {
        self.identity
    }

    /// The trees, for reading. Durable writes go through [`JournalStore::write`]. Waits while the
    /// database is closed for lack of room. Release them soon.
    pub(crate) async fn trees(&self) -> Result<Arc<Trees>, StoreError> {
        let mut trees = self.trees.clone();
        let open = trees.wait_for(Option::is_some).await.map_err(|_| StoreError::Closed)?;
        open.clone().ok_or(StoreError::Closed)
    }

    /// The trees, if they are open at this moment.
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

    /// The store is about to be closed: writes that wait for room fail.
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

    /// The same as [`JournalStore::write`], for data on which others rely as soon as it is
    /// answered.
    pub(super) async fn write_relied_upon<W>(&self, write: W) -> Result<(), StoreError>
    where
        W: Fn(&Trees) -> Result<(), StoreError> + Send + 'static,
    {
        self.write_marked(MarkSync::AtOnce, write).await
    }

    /// Removes the log's rows from `index` on, because rows of another leader replace them.
    pub(crate) async fn truncate(&self, index: u64) -> Result<(), StoreError> {
        self.write(move |trees| trees.truncate(index)).await
    }

    /// Drops the log up to `purged`, unless the snapshot of this store does not cover it yet. openraft asks for the
    /// purge before a received snapshot is durable here; the log is then dropped together with its installation.
    pub(crate) async fn purge(&self, purged: Purged) -> Result<(), StoreError> {
        let write = move |trees: &Trees| match trees.snapshot() {
            Some(snapshot) if snapshot.index >= purged.index => trees.purge(&purged),
            _ => Ok(()),
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

/// The identity of a store that is in use from now on. A store of an earlier version becomes a founder: such
/// a store was always alone.
fn use_identity(dir: &Path, node: u64) -> Result<StoreIdentity, StoreError> {
    let found = StoreIdentity::read(dir)?;
    let identity = match found {
        Some(identity) => identity,
        None => StoreIdentity::founder(node).map_err(std::io::Error::other)?,
    };
    let used = StoreIdentity { was_used: true, ..identity };
    if found != Some(used) {
        used.write(dir)?;
    }
    Ok(used)
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

    /// Counts the syncs of the mark.
    #[derive(Debug, Default)]
    struct MarkSyncs(AtomicU64);

    impl StoreObserver for MarkSyncs {
        fn store_synced(&self) {}

        fn mark_synced(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[tokio::test]
    async fn a_vote_is_answered_once_the_mark_with_it_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        let syncs = Arc::new(MarkSyncs::default());
        let observer: Option<Arc<dyn StoreObserver>> = Some(syncs.clone());
        let settings =
            StoreSettings { dir: dir.path().to_owned(), node: 1, reserve: 1 << 20, observer };
        let (store, _closed) = JournalStore::open(settings).unwrap();
        // Several, because the mark is also synced once a second and when nothing is written.
        for vote in 1..=8 {
            let before = syncs.0.load(Ordering::SeqCst);
            store.vote(vec![vote]).await.unwrap();
            let after = syncs.0.load(Ordering::SeqCst);
            assert!(after > before, "vote {vote} was answered, and its mark is not synced");
        }
    }

    static SYNCS: AtomicU64 = AtomicU64::new(0);

    fn counted_sync(file: &File) -> std::io::Result<()> {
        SYNCS.fetch_add(1, Ordering::SeqCst);
        file.sync_data()
    }

    #[tokio::test]
    async fn a_write_is_answered_once_its_bytes_are_synced() {
        let dir = tempfile::tempdir().unwrap();
        let settings =
            StoreSettings { dir: dir.path().to_owned(), node: 1, reserve: 1 << 20, observer: None };
        let (store, _closed) = JournalStore::open_syncing(settings, counted_sync).unwrap();
        for index in 0..8 {
            let before = SYNCS.load(Ordering::SeqCst);
            store.write(move |trees| trees.log.append(&[(index, vec![7; 40])])).await.unwrap();
            let after = SYNCS.load(Ordering::SeqCst);
            assert!(after > before, "write {index} was answered without a sync");
        }
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
