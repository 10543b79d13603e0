//! The thread that writes: drain, write, flush, sync, mark, answer.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use crate::store::database::sled_database::guarded;
use crate::store::database::trees::{Trees, inspect};
use crate::store::disk::disk_space::DiskSpaceMonitor;
use crate::store::disk::durability_mark::MarkFile;
use crate::store::disk::lock::DirectoryLock;
use crate::store::error::{StoreError, unsynced};
use crate::store::observer::StoreObserver;

/// How many jobs may share one flush.
const JOBS_PER_FLUSH: usize = 1024;
/// How long the writer has no work before it syncs the mark.
const QUIET: Duration = Duration::from_millis(100);
/// How often the disk is checked while there is no other work.
const IDLE: Duration = Duration::from_secs(1);
/// How often a store that has no room is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// How long a reader may still use a database that must be closed.
const LETTING_GO: Duration = Duration::from_secs(30);

/// A job on the writer's thread. It runs again after a lack of room, on a store without its earlier
/// effects.
pub(super) type StoreWrite = Box<dyn Fn(&Trees) -> Result<(), StoreError> + Send>;

/// When the mark is synced after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkSync {
    /// When the interval between two syncs has passed.
    WhenDue,
    /// With this write, because others are about to rely on it.
    AtOnce,
}

/// One write, and the caller that waits until it is durable.
pub(super) struct WriteJob {
    pub(super) write: StoreWrite,
    pub(super) mark: MarkSync,
    pub(super) done: oneshot::Sender<Result<(), StoreError>>,
}

/// The channel to the writer's thread. When this is dropped, the thread ends and closes the store.
pub(super) struct StoreWriter {
    jobs: Sender<WriteJob>,
    /// True at shutdown: writes without room fail instead of waiting.
    hurry: Arc<AtomicBool>,
}

/// Syncs the data of a file.
pub(super) type SyncData = fn(&File) -> std::io::Result<()>;

/// State of the writer's thread.
pub(super) struct WriterState {
    /// The directory of sled.
    pub(super) sled: PathBuf,
    pub(super) trees: watch::Sender<Option<Arc<Trees>>>,
    /// None while the database is closed.
    pub(super) log_file: Option<File>,
    /// Function that syncs the file; tests replace it.
    pub(super) sync: SyncData,
    pub(super) mark: MarkFile,
    pub(super) room: DiskSpaceMonitor,
    /// The last flush that is durable.
    pub(super) durable: u64,
    pub(super) observer: Option<Arc<dyn StoreObserver>>,
    /// After a failed write or flush the content of the disk is unknown. So nothing more is written.
    pub(super) failed: Option<StoreError>,
    pub(super) hurry: Arc<AtomicBool>,
}

impl StoreWriter {
    pub(super) fn spawn(
        mut writer_state: WriterState,
        lock: DirectoryLock,
    ) -> std::io::Result<(StoreWriter, watch::Receiver<bool>)> {
        let (jobs, inbox) = channel();
        let (closed, is_closed) = watch::channel(false);
        let hurry = writer_state.hurry.clone();
        thread::Builder::new().name("journal-store".to_owned()).spawn(move || {
            writer_state.write_until_closed(&inbox);
            writer_state.close();
            drop(lock);
            closed.send_replace(true);
        })?;
        Ok((StoreWriter { jobs, hurry }, is_closed))
    }

    pub(super) fn send(&self, job: WriteJob) -> Result<(), StoreError> {
        self.jobs.send(job).map_err(|_| StoreError::Closed)
    }

    /// From now on, writes without room fail instead of waiting.
    pub(super) fn hurry(&self) {
        self.hurry.store(true, Ordering::Relaxed);
    }
}

impl WriterState {
    fn write_until_closed(&mut self, inbox: &Receiver<WriteJob>) {
        let mut patience = QUIET;
        loop {
            match inbox.recv_timeout(patience) {
                Ok(first) => {
                    self.write_some(first, inbox);
                    patience = QUIET;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.tidy_up();
                    let is_tidy = !self.mark.is_ahead() && !self.room.is_full();
                    patience = if is_tidy { IDLE } else { QUIET };
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.tidy_up();
    }

    /// There is no work: updates the mark and checks the disk.
    fn tidy_up(&mut self) {
        if self.failed.is_some() {
            return;
        }
        let looked = self.room.look_if_due();
        let synced = match self.mark.is_ahead().then(|| self.sync_mark()) {
            // The mark becomes older, and stays true.
            None | Some(Err(StoreError::Full(_))) => Ok(()),
            Some(synced) => synced,
        };
        if let Err(error) = synced.and(looked.map_err(StoreError::from)) {
            self.fail(error);
        }
    }

    fn write_some(&mut self, first: WriteJob, inbox: &Receiver<WriteJob>) {
        let jobs: Vec<WriteJob> =
            std::iter::once(first).chain(inbox.try_iter().take(JOBS_PER_FLUSH)).collect();
        let written = self.write_durably(&jobs);
        for job in jobs {
            // A caller that has stopped waiting finds the outcome in the log after the next start.
            let _ = job.done.send(written.clone());
        }
    }

    /// Writes all jobs and makes them durable. Waits if there is no room.
    fn write_durably(&mut self, jobs: &[WriteJob]) -> Result<(), StoreError> {
        loop {
            if let Some(failed) = &self.failed {
                return Err(failed.clone());
            }
            let failed = match self.write_once(jobs) {
                Ok(()) => {
                    let at_once = jobs.iter().any(|job| job.mark == MarkSync::AtOnce);
                    return self.mark(at_once).inspect_err(|error| self.fail(error.clone()));
                }
                Err(StoreError::Full(why)) => match self.make_room() {
                    Ok(()) => continue,
                    Err(StoreError::Full(_)) => StoreError::Full(why),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            self.fail(failed);
        }
    }

    fn write_once(&mut self, jobs: &[WriteJob]) -> Result<(), StoreError> {
        let trees = self.trees.borrow().clone().ok_or(StoreError::Closed)?;
        let log_file = self.log_file.as_ref().ok_or(StoreError::Closed)?;
        guarded(|| {
            jobs.iter().try_for_each(|job| (job.write)(&trees))?;
            trees.seal()?;
            trees.db.flush()?;
            // Syncs after every flush, whatever count it returns. A full buffer may have been
            // written before, but not synced.
            (self.sync)(log_file).map_err(unsynced)?;
            trees.flushes.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })?;
        let head = trees.head();
        self.durable = head.sequence;
        if let Some(observer) = &self.observer {
            observer.store_synced();
        }
        Ok(())
    }

    /// Marks the durable state. Without room the old mark stays: it claims less than is durable, and
    /// is still true.
    fn mark(&mut self, at_once: bool) -> Result<(), StoreError> {
        let Some(head) = self.trees.borrow().as_ref().map(|trees| trees.head()) else {
            return Ok(());
        };
        let written = self.mark.write(&head.mark()).map_err(StoreError::from);
        let marked = written.and_then(|()| {
            if at_once {
                return self.sync_mark();
            }
            if self.mark.is_due() { self.sync_mark() } else { Ok(()) }
        });
        match marked {
            Err(StoreError::Full(why)) => {
                tracing::warn!(why, "no disk space for the mark of the journal's store");
                self.room.give_up_reserve().map(drop)?;
            }
            marked => marked?,
        }
        Ok(self.room.look_if_due()?)
    }

    fn sync_mark(&mut self) -> Result<(), StoreError> {
        self.mark.sync().map_err(unsynced)?;
        self.observe_mark();
        Ok(())
    }

    fn observe_mark(&self) {
        if let Some(observer) = &self.observer {
            observer.mark_synced();
        }
    }

    /// There was no room for a write. sled must be closed, and opened again once there is room. With
    /// a large enough reserve this happens at once.
    fn make_room(&mut self) -> Result<(), StoreError> {
        // Writeback may have failed for lack of room as well, which sled reports the same way. This
        // handle was open before, so its sync reports that.
        if let Some(log_file) = &self.log_file {
            (self.sync)(log_file).map_err(unsynced)?;
        }
        self.close();
        loop {
            if !self.room.give_up_reserve()? {
                if self.hurry.load(Ordering::Relaxed) {
                    return Err(StoreError::Full("there is no room".to_owned()));
                }
                thread::sleep(RETRY);
            }
            match self.open() {
                Ok(()) => return Ok(()),
                Err(StoreError::Full(_)) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the database in its state after the last durable flush.
    fn open(&mut self) -> Result<(), StoreError> {
        let (seen, log_file) = inspect(&self.sled)?;
        if let Some(fault) = seen.fault {
            return Err(fault);
        }
        if seen.trees.head().sequence < self.durable {
            let why = "sled forgot what was durable when it had no room";
            return Err(StoreError::damaged("the store", why));
        }
        guarded(|| seen.trees.tidy())?;
        self.log_file = Some(log_file);
        self.trees.send_replace(Some(Arc::new(seen.trees)));
        Ok(())
    }

    /// Closes the database when its last reader has finished.
    fn close(&mut self) {
        self.log_file = None;
        let Some(mut trees) = self.trees.send_replace(None) else {
            return;
        };
        let asked = std::time::Instant::now();
        let trees = loop {
            match Arc::try_unwrap(trees) {
                Ok(trees) => break trees,
                Err(shared) if asked.elapsed() < LETTING_GO => {
                    trees = shared;
                    thread::sleep(Duration::from_millis(1));
                }
                // The last reader closes it.
                Err(_) => return,
            }
        };
        // Data that sled cannot write on closing was never acknowledged.
        let _ = guarded(|| {
            drop(trees);
            Ok(())
        });
    }

    fn fail(&mut self, error: StoreError) {
        tracing::error!(%error, "the journal cannot write");
        self.failed = Some(error);
    }
}
