//! The thread that writes: drain, write, flush, sync, answer.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

use tokio::sync::{oneshot, watch};

use super::lock::DirectoryLock;
use super::watermark::{self, Watermark};
use super::{StoreError, Trees, panic_text};

/// How many jobs may share one flush.
const JOBS_PER_FLUSH: usize = 1024;

/// What a job does on the writer's thread.
pub(crate) type Write = Box<dyn FnOnce(&Trees) -> Result<(), StoreError> + Send>;

/// What a write means for the watermark.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    /// Raised when it is time.
    WhenDue,
    /// Raised with this write: a vote is about to be told to others.
    AtOnce,
    /// Lowered before this write: the log is about to end here.
    Lowered(u64),
}

/// One write and who waits for it to be durable.
pub(crate) struct Job {
    pub(crate) write: Write,
    pub(crate) mark: Mark,
    pub(crate) done: oneshot::Sender<Result<(), StoreError>>,
}

/// The way to the writer's thread, which ends and closes the store when this is dropped.
pub(crate) struct Writer {
    jobs: Sender<Job>,
}

impl Writer {
    pub(crate) fn spawn(
        trees: Arc<Trees>,
        log_file: File,
        watermark: Watermark,
        lock: DirectoryLock,
    ) -> io::Result<(Writer, watch::Receiver<bool>)> {
        let (jobs, inbox) = channel();
        let (closed, is_closed) = watch::channel(false);
        thread::Builder::new().name("journal-store".to_owned()).spawn(move || {
            let mut pen = Pen { trees, log_file, watermark, failed: None };
            pen.write_until_closed(&inbox);
            drop(pen);
            drop(lock);
            closed.send_replace(true);
        })?;
        Ok((Writer { jobs }, is_closed))
    }

    pub(crate) fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).map_err(|_| StoreError::Closed)
    }
}

/// What the writer's thread writes with.
struct Pen {
    trees: Arc<Trees>,
    log_file: File,
    watermark: Watermark,
    /// After a failed write or flush nobody knows what is on disk: nothing more is written.
    failed: Option<StoreError>,
}

impl Pen {
    fn write_until_closed(&mut self, inbox: &Receiver<Job>) {
        loop {
            match inbox.recv_timeout(watermark::INTERVAL) {
                Ok(first) => self.write_some(first, inbox),
                // Nothing to do: a good time to bring the watermark up.
                Err(RecvTimeoutError::Timeout) => self.attempt(Pen::mark),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        self.attempt(|pen| pen.flush(Mark::AtOnce));
    }

    fn write_some(&mut self, first: Job, inbox: &Receiver<Job>) {
        let mut waiting = Vec::new();
        let mut mark = Mark::WhenDue;
        for job in std::iter::once(first).chain(inbox.try_iter().take(JOBS_PER_FLUSH)) {
            let Job { write, mark: wanted, done } = job;
            match wanted {
                Mark::WhenDue => {}
                Mark::AtOnce => mark = wanted,
                Mark::Lowered(end) => self.attempt(|pen| Ok(pen.watermark.lower(end)?)),
            }
            self.attempt(|pen| write(&pen.trees));
            waiting.push(done);
        }
        self.attempt(|pen| pen.flush(mark));
        for done in waiting {
            // Whoever stopped waiting learns it from the log after the next start.
            let _ = done.send(self.failed.clone().map_or(Ok(()), Err));
        }
    }

    fn flush(&mut self, mark: Mark) -> Result<(), StoreError> {
        let end = self.trees.log.end();
        self.trees.db.flush()?;
        // Whatever flush says it wrote: a full buffer may have been written, and not synced, before.
        self.log_file.sync_data()?;
        self.trees.flushes.fetch_add(1, Ordering::Relaxed);
        match mark {
            Mark::AtOnce => self.watermark.set(end)?,
            Mark::WhenDue | Mark::Lowered(_) => self.watermark.raise(end)?,
        }
        Ok(())
    }

    /// Brings the watermark up to the log's end: only this thread moves that, and it has flushed
    /// since.
    fn mark(&mut self) -> Result<(), StoreError> {
        Ok(self.watermark.set(self.trees.log.end())?)
    }

    /// Does one thing, unless something failed before.
    fn attempt(&mut self, act: impl FnOnce(&mut Self) -> Result<(), StoreError>) {
        if self.failed.is_none()
            && let Err(error) = guarded(|| act(self))
        {
            tracing::error!(%error, "the journal cannot write");
            self.failed = Some(error);
        }
    }
}

/// sled panics over some failures: they are failures like any other.
fn guarded(run: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|panic| Err(StoreError::Io(panic_text(&*panic))))
}
