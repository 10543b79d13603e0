//! The thread that writes: drain, write, flush, sync, answer.

use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tokio::sync::{oneshot, watch};

use super::lock::DirectoryLock;
use super::{StoreError, Trees, panic_text};

/// How many jobs may share one flush.
const JOBS_PER_FLUSH: usize = 1024;

/// What a job does on the writer's thread.
pub(crate) type Write = Box<dyn FnOnce(&Trees) -> Result<(), StoreError> + Send>;

/// One write and who waits for it to be durable.
pub(crate) struct Job {
    pub(crate) write: Write,
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
        lock: DirectoryLock,
    ) -> io::Result<(Writer, watch::Receiver<bool>)> {
        let (jobs, inbox) = channel();
        let (closed, is_closed) = watch::channel(false);
        thread::Builder::new().name("journal-store".to_owned()).spawn(move || {
            write_until_closed(&trees, &log_file, &inbox);
            drop(trees);
            drop(lock);
            closed.send_replace(true);
        })?;
        Ok((Writer { jobs }, is_closed))
    }

    pub(crate) fn send(&self, job: Job) -> Result<(), StoreError> {
        self.jobs.send(job).map_err(|_| StoreError::Closed)
    }
}

fn write_until_closed(trees: &Trees, log_file: &File, inbox: &Receiver<Job>) {
    // After a failed write or flush nobody knows what is on disk: nothing more is written.
    let mut failed: Option<StoreError> = None;
    while let Ok(first) = inbox.recv() {
        let mut waiting = Vec::new();
        for job in std::iter::once(first).chain(inbox.try_iter().take(JOBS_PER_FLUSH)) {
            if failed.is_none() {
                failed = guarded(|| (job.write)(trees)).err();
            }
            waiting.push(job.done);
        }
        if failed.is_none() {
            failed = guarded(|| flush(trees, log_file)).err();
        }
        if let Some(error) = &failed {
            tracing::error!(%error, "the journal cannot write");
        }
        for done in waiting {
            // Whoever stopped waiting learns it from the log after the next start.
            let _ = done.send(failed.clone().map_or(Ok(()), Err));
        }
    }
    if failed.is_none()
        && let Err(error) = guarded(|| flush(trees, log_file))
    {
        tracing::error!(%error, "the journal cannot write while closing");
    }
}

fn flush(trees: &Trees, log_file: &File) -> Result<(), StoreError> {
    trees.db.flush()?;
    log_file.sync_data().map_err(|error| StoreError::Io(error.to_string()))?;
    trees.flushes.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// sled panics over some failures: they are failures like any other.
fn guarded(run: impl FnOnce() -> Result<(), StoreError>) -> Result<(), StoreError> {
    catch_unwind(AssertUnwindSafe(run))
        .unwrap_or_else(|panic| Err(StoreError::Io(panic_text(&*panic))))
}
