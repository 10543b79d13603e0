//! The journal's store: sled, used in the one way that is durable.
//!
//! **Invariant:** a write is answered only after `flush` *and* `sync_data` on the log file: sled's
//! flush alone leaves the data in the page cache on Linux.
//!
//! **Invariant:** whatever must be durable is written on the store's own thread, in the order in
//! which it was asked for; many writes share one flush.

mod lock;
mod log;
mod record;
mod snapshots;
mod watermark;
mod writer;

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

pub(crate) use log::{LogTrees, Purged};
pub(crate) use snapshots::{Kept, SnapshotManifest};

use crate::journal::settings::OpenError;
use lock::DirectoryLock;
use record::{frame, unframe};
use watermark::Watermark;
use writer::{Job, Mark, Writer};

/// Pages of up to a quarter of a segment stay in the log file; larger ones would become files
/// that are never synced.
const SEGMENT_BYTES: usize = 4 << 20;
const CACHE_BYTES: u64 = 64 << 20;
/// A store that was just closed keeps its lock for a moment.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);

/// Keys of the small values that are not log or snapshot rows.
pub(crate) const VOTE: &str = "vote";
pub(crate) const COMMITTED: &str = "committed";
pub(crate) const PURGED: &str = "purged";
const SNAPSHOT: &str = "snapshot";
const NODE: &str = "node";

/// Why the store could not do what was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("the store failed: {0}")]
    Io(String),
    #[error("the store is damaged: {what}: {why}")]
    Damaged { what: String, why: String },
    #[error("the store is closed")]
    Closed,
}

impl From<std::io::Error> for StoreError {
    fn from(error: std::io::Error) -> Self {
        StoreError::Io(error.to_string())
    }
}

impl From<sled::Error> for StoreError {
    fn from(error: sled::Error) -> Self {
        StoreError::Io(error.to_string())
    }
}

/// The sled database and its open trees.
pub(crate) struct Trees {
    db: sled::Db,
    pub(crate) log: LogTrees,
    /// Flushes with `sync_data` since the store was opened.
    flushes: AtomicU64,
    /// The number of the next snapshot to be written.
    next_snapshot: AtomicU64,
}

/// The open store. The last one dropped closes it.
pub(crate) struct Store {
    // Dropped before the writer's end of the channel, so that the writer's thread holds the last
    // reference to sled and closes it.
    trees: Arc<Trees>,
    writer: Writer,
}

impl Store {
    /// Opens or creates the store of `node`. Blocks: to be called off the runtime. The watch turns
    /// true when the store is closed and its lock released.
    pub(crate) fn open(
        dir: &Path,
        node: u64,
        accept_loss: bool,
    ) -> Result<(Arc<Store>, watch::Receiver<bool>), OpenError> {
        let io =
            |error: std::io::Error| OpenError::Io { dir: dir.to_owned(), why: error.to_string() };
        fs::create_dir_all(dir).map_err(io)?;
        let lock = DirectoryLock::take(dir, LOCK_PATIENCE)?;
        let mut watermark = Watermark::open(dir).map_err(io)?;
        let db = open_sled(&dir.join("sled"))?;
        // sled never syncs its log file itself: this handle does.
        let log_file = File::open(dir.join("sled").join("db")).map_err(io)?;
        for created in [dir.join("sled").as_path(), dir] {
            File::open(created).and_then(|handle| handle.sync_all()).map_err(io)?;
        }
        let damaged =
            |error: StoreError| OpenError::Damaged { dir: dir.to_owned(), why: error.to_string() };
        let trees = catch_unwind(AssertUnwindSafe(|| Trees::open(db)))
            .unwrap_or_else(|panic| {
                Err(StoreError::Damaged { what: "a page".to_owned(), why: panic_text(&*panic) })
            })
            .map_err(damaged)?;
        check_end(dir, trees.log.end(), &mut watermark, accept_loss)?;
        let trees = Arc::new(trees);
        let (writer, closed) =
            Writer::spawn(trees.clone(), log_file, watermark, lock).map_err(io)?;
        let store = Arc::new(Store { trees, writer });
        store.belong_to(dir, node)?;
        Ok((store, closed))
    }

    fn belong_to(&self, dir: &Path, node: u64) -> Result<(), OpenError> {
        let damaged =
            |error: StoreError| OpenError::Damaged { dir: dir.to_owned(), why: error.to_string() };
        match self.trees.get::<u64>(NODE).map_err(damaged)? {
            Some(found) if found == node => Ok(()),
            Some(found) => Err(OpenError::AnotherNode { dir: dir.to_owned(), found, asked: node }),
            None => self.trees.put(NODE, &node).map_err(damaged),
        }
    }

    /// The trees themselves, to read. What must be durable is written by [`Store::write`].
    pub(crate) fn trees(&self) -> &Arc<Trees> {
        &self.trees
    }

    /// Runs `write` on the writer's thread and answers once it is durable.
    pub(crate) async fn write<W>(&self, write: W) -> Result<(), StoreError>
    where
        W: FnOnce(&Trees) -> Result<(), StoreError> + Send + 'static,
    {
        self.write_marked(Mark::WhenDue, write).await
    }

    /// Sets a value that other nodes are about to rely on.
    pub(crate) async fn promise<T: serde::Serialize + Send + 'static>(
        &self,
        key: &'static str,
        value: T,
    ) -> Result<(), StoreError> {
        self.write_marked(Mark::AtOnce, move |trees| trees.put(key, &value)).await
    }

    /// Removes the log's rows from `index` on: another leader's replace them.
    pub(crate) async fn truncate(&self, index: u64) -> Result<(), StoreError> {
        self.write_marked(Mark::Lowered(index), move |trees| trees.log.truncate(index)).await
    }

    async fn write_marked<W>(&self, mark: Mark, write: W) -> Result<(), StoreError>
    where
        W: FnOnce(&Trees) -> Result<(), StoreError> + Send + 'static,
    {
        let (done, answer) = oneshot::channel();
        self.writer.send(Job { write: Box::new(write), mark, done })?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Flushes with `sync_data` since the store was opened.
    pub(crate) fn flushes(&self) -> u64 {
        self.trees.flushes.load(Ordering::Relaxed)
    }
}

impl Trees {
    fn open(db: sled::Db) -> Result<Trees, StoreError> {
        let log = LogTrees::open(&db)?;
        let trees = Trees { db, log, flushes: AtomicU64::new(0), next_snapshot: AtomicU64::new(0) };
        snapshots::drop_abandoned(&trees)?;
        Ok(trees)
    }

    /// A small value.
    pub(crate) fn get<T: serde::de::DeserializeOwned>(
        &self,
        key: &str,
    ) -> Result<Option<T>, StoreError> {
        get(&self.db, key)
    }

    /// Sets a small value. Durable with the next flush.
    pub(crate) fn put<T: serde::Serialize>(&self, key: &str, value: &T) -> Result<(), StoreError> {
        let body = postcard::to_stdvec(value).map_err(|error| StoreError::Io(error.to_string()))?;
        self.db.insert(key, frame(&body))?;
        Ok(())
    }
}

/// Refuses a store that ends before what was known to be durable.
fn check_end(
    dir: &Path,
    end: u64,
    watermark: &mut Watermark,
    accept_loss: bool,
) -> Result<(), OpenError> {
    let marked = watermark.marked();
    if end >= marked {
        return Ok(());
    }
    if !accept_loss {
        return Err(OpenError::Lost { dir: dir.to_owned(), missing: marked - end });
    }
    tracing::warn!(missing = marked - end, "entries of the journal are lost, and that is accepted");
    watermark
        .set(end)
        .map_err(|error| OpenError::Io { dir: dir.to_owned(), why: error.to_string() })
}

fn get<T: serde::de::DeserializeOwned>(db: &sled::Db, key: &str) -> Result<Option<T>, StoreError> {
    let damaged = |why: String| StoreError::Damaged { what: format!("the value {key}"), why };
    let Some(record) = db.get(key)? else {
        return Ok(None);
    };
    let body = unframe(&record).map_err(|error| damaged(error.to_string()))?;
    postcard::from_bytes(body).map(Some).map_err(|error| damaged(error.to_string()))
}

fn open_sled(path: &Path) -> Result<sled::Db, OpenError> {
    let config = sled::Config::new()
        .path(path)
        .segment_size(SEGMENT_BYTES)
        .cache_capacity(CACHE_BYTES)
        .flush_every_ms(None);
    let started = Instant::now();
    loop {
        // sled panics over some damage that it could have reported.
        let opened = catch_unwind(AssertUnwindSafe(|| config.open()));
        let dir = path.to_owned();
        match opened {
            Ok(Ok(db)) => return Ok(db),
            Ok(Err(sled::Error::Io(error))) if is_locked(&error) => {
                if started.elapsed() >= LOCK_PATIENCE {
                    return Err(OpenError::InUse { dir });
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(Err(sled::Error::Io(error))) => {
                return Err(OpenError::Io { dir, why: error.to_string() });
            }
            Ok(Err(error)) => return Err(OpenError::Damaged { dir, why: error.to_string() }),
            Err(panic) => return Err(OpenError::Damaged { dir, why: panic_text(&*panic) }),
        }
    }
}

fn is_locked(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::WouldBlock
        || error.to_string().contains("could not acquire lock")
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "sled panicked".to_owned())
}
