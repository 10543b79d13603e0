//! Content of the database: the log, the snapshots, and the head.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::StoreError;
use crate::store::database::head::{Purged, StoreHead};
use crate::store::database::log::LogTrees;
use crate::store::database::sled_database::{get, guarded, open_log_file, open_sled};
use crate::store::error::unsynced;
use crate::store::record::frame;

/// The key of the committed position, the only small value outside of the head. It is written
/// separately, and nothing waits for it.
const COMMITTED: &str = "committed";

/// The sled database, its open trees, and its head.
pub(crate) struct Trees {
    pub(crate) db: sled::Db,
    pub(crate) log: LogTrees,
    head: Mutex<StoreHead>,
    /// Flushes with `sync_data` since it was opened.
    pub(crate) flushes: AtomicU64,
}

impl Trees {
    /// The current small values, with those of the next flush.
    pub(crate) fn head(&self) -> StoreHead {
        self.lock_head().clone()
    }

    pub(crate) fn change_head(&self, change: impl FnOnce(&mut StoreHead)) {
        change(&mut self.lock_head());
    }

    /// Writes the head into sled without changes.
    pub(crate) fn put_head(&self) -> Result<(), StoreError> {
        self.lock_head().write(&self.db)
    }

    /// Writes the head for the writes since the last flush.
    pub(crate) fn seal(&self) -> Result<(), StoreError> {
        let mut head = self.lock_head();
        head.sequence += 1;
        head.log = Some(self.log.log_end());
        head.write(&self.db)
    }

    pub(crate) fn truncate(&self, index: u64) -> Result<(), StoreError> {
        let end = self.log.end_before(index)?;
        // The head comes first. A crash in between leaves extra rows, but none is missing.
        self.change_head(|head| head.log = Some(end));
        self.put_head()?;
        self.log.truncate(end)
    }

    /// Drops the log up to `purged`, which the snapshot in the head covers.
    pub(crate) fn purge(&self, purged: &Purged) -> Result<(), StoreError> {
        // The head is written first, so that rows before its purged position are not reported as missing.
        self.change_head(|head| head.purged = Some(purged.clone()));
        self.put_head()?;
        self.log.purge(purged.index)
    }

    /// Removes the remains of a crash from the log.
    pub(crate) fn tidy(&self) -> Result<(), StoreError> {
        self.log.tidy(self.head().purged.as_ref())
    }

    /// The known commit position of the log.
    pub(crate) fn committed<T: serde::de::DeserializeOwned>(
        &self,
    ) -> Result<Option<T>, StoreError> {
        get(&self.db, COMMITTED)
    }

    /// Records the commit position of the log. Durable with the next flush.
    pub(crate) fn put_committed<T: serde::Serialize>(&self, value: &T) -> Result<(), StoreError> {
        let body = postcard::to_stdvec(value).map_err(|error| StoreError::Io(error.to_string()))?;
        guarded(|| Ok(self.db.insert(COMMITTED, frame(&body)).map(drop)?))
    }

    /// Bytes of the stored values, without sled's overhead.
    pub(crate) fn live_bytes(&self) -> u64 {
        self.log.bytes() + self.snapshot().map_or(0, |snapshot| snapshot.bytes)
    }

    /// Flushes with `sync_data` since it was opened.
    pub(crate) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Relaxed)
    }

    fn lock_head(&self) -> MutexGuard<'_, StoreHead> {
        // No code under this lock can panic during a change.
        self.head.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Content of a database before anything in it is changed.
pub(crate) struct InspectedDatabase {
    pub(crate) trees: Trees,
    /// The first row of the log.
    pub(crate) first: Option<u64>,
    /// Rows that were written and never acknowledged.
    pub(crate) unfinished: u64,
    /// Fault of the log, which is cut before it.
    pub(crate) fault: Option<StoreError>,
}

/// Opens or creates the database in `sled` and reads it through.
pub(crate) fn inspect(sled: &Path) -> Result<(InspectedDatabase, File), StoreError> {
    let db = open_sled(sled)?;
    let log_file = open_log_file(sled)?;
    // A killed process wrote this data, and the node is about to rely on it.
    log_file.sync_data().map_err(unsynced)?;
    let seen = guarded(|| {
        let head = StoreHead::read(&db)?;
        let read = LogTrees::read_through(&db, &head)?;
        let trees = Trees { db, log: read.log, head: Mutex::new(head), flushes: AtomicU64::new(0) };
        let (first, unfinished, fault) = (read.first, read.unfinished, read.fault);
        Ok(InspectedDatabase { trees, first, unfinished, fault })
    })?;
    Ok((seen, log_file))
}
