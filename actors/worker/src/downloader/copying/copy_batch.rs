//! A running batch: the work of its thread.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use reelyard_protocol::worker::{Blame, TaskId};

use super::active_copy::{ActiveCopy, FetchResult};
use super::copy_threads::CopyThreads;
use super::publisher::Publisher;
use crate::downloader::fetching::fault::CopyFault;
use crate::downloader::fetching::fetch::{FetchedCopy, RequestPipeline};
use crate::downloader::messages::TransfersArrived;

/// The copies of one batch, from their start until each is passed on for its report.
pub(in crate::downloader) struct CopyBatch {
    /// The copies that are not started yet.
    waiting: Mutex<VecDeque<ActiveCopy>>,
    /// Copies that have ended and are not passed on yet.
    finished: Mutex<Vec<(ActiveCopy, FetchResult)>>,
    publisher: Arc<Publisher>,
}

impl CopyBatch {
    pub(in crate::downloader) fn new(copies: Vec<ActiveCopy>, publisher: Arc<Publisher>) -> Self {
        let waiting = Mutex::new(copies.into());
        CopyBatch { waiting, finished: Mutex::default(), publisher }
    }

    /// Makes one copy after the other.
    pub(in crate::downloader) fn make(self) {
        let ahead = self.ask_ahead();
        let mut is_served = true;
        while let Some(copy) = self.next() {
            // A cancelled copy is skipped. So are further copies from a source that has just failed:
            // they are cancelled, and start again if they are still ordered.
            let outcome = if is_served && !copy.cancel.is_cancelled() {
                // A slow copy delays only its own report.
                copy.fetch(&ahead, &|_| {
                    self.pass_on_finished();
                    if ahead.is_held_up() {
                        self.pass_on_waiting();
                    }
                })
            } else {
                Err(CopyFault::Cancelled)
            };
            is_served &= !matches!(outcome, Err(CopyFault::Blamed(Blame::Source, _)));
            locked(&self.finished).push((copy, outcome));
        }
        end(&self.publisher, mem::take(&mut *locked(&self.finished)));
    }

    fn ask_ahead(&self) -> RequestPipeline {
        let copies = locked(&self.waiting);
        match copies.front() {
            Some(first) if copies.len() > 1 => {
                first.context().fetcher.pipeline_requests(copies.iter().map(|copy| &copy.order))
            }
            _ => RequestPipeline::default(),
        }
    }

    fn next(&self) -> Option<ActiveCopy> {
        locked(&self.waiting).pop_front()
    }

    /// Passes the remaining copies to another thread, because the current copy takes longer than a batch
    /// should.
    fn pass_on_waiting(&self) {
        let waiting = mem::take(&mut *locked(&self.waiting));
        if let Some(context) = waiting.front().map(ActiveCopy::context) {
            let rest = (waiting, Arc::clone(&self.publisher));
            let make = |(rest, publisher): (VecDeque<ActiveCopy>, _)| {
                CopyBatch::new(rest.into(), publisher).make();
            };
            if let Err((waiting, _)) = apart(&context.threads, rest, make) {
                *locked(&self.waiting) = waiting;
            }
        }
    }

    /// Passes the ended copies to another thread for publishing. This thread is copying, and a publisher
    /// may have to work for other threads for a long time.
    fn pass_on_finished(&self) {
        let finished = mem::take(&mut *locked(&self.finished));
        if let Some(context) = finished.first().map(|(copy, _)| copy.context()) {
            let finished = (Arc::clone(&self.publisher), finished);
            let end_all = |(publisher, finished): (Arc<Publisher>, _)| end(&publisher, finished);
            if let Err((publisher, finished)) = apart(&context.threads, finished, end_all) {
                end(&publisher, finished);
            }
        }
    }
}

/// Runs `work` with `what` on another thread. Answers `what` if no thread can be started.
fn apart<T: Send + 'static>(threads: &CopyThreads, what: T, work: fn(T)) -> Result<(), T> {
    // In a separate binding, because a job that cannot be started is dropped.
    let what = Arc::new(Mutex::new(Some(what)));
    let of_thread = Arc::clone(&what);
    let job = move || {
        if let Some(what) = locked(&of_thread).take() {
            work(what);
        }
    };
    match threads.begin(Box::new(job)) {
        Ok(()) => Ok(()),
        Err(error) => {
            tracing::warn!(%error, "no thread can be started for a batch of copies");
            locked(&what).take().map_or(Ok(()), Err)
        }
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Leaves copies to be ended.
fn end(publisher: &Publisher, finished: Vec<(ActiveCopy, FetchResult)>) {
    let Some((first, _)) = finished.first() else { return };
    let copies: Vec<(TaskId, u64)> = finished.iter().filter_map(bytes_here).collect();
    if !copies.is_empty() {
        first.listener.arrived.do_send(TransfersArrived { copies });
    }
    publisher.end(finished);
}

/// The task, and the number of received bytes if only the disk is still missing.
fn bytes_here((copy, outcome): &(ActiveCopy, FetchResult)) -> Option<(TaskId, u64)> {
    match outcome {
        Ok(FetchedCopy::Arrived(arrived)) => Some((copy.task(), arrived.size())),
        _ => None,
    }
}
