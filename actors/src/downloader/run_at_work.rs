//! A run while it is made: what its thread does.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use super::copy_at_work::CopyAtWork;
use super::messages::TransfersArrived;
use super::publisher::Outcome;
use crate::downloader::fault::Fault;
use crate::downloader::fetch::{Ahead, Brought};
use crate::wire::worker::{Blame, TaskId};

/// The copies of one run, from its beginning until the end of each is left to be told.
pub(super) struct RunAtWork {
    copies: Vec<CopyAtWork>,
    /// Those that came to their end and are not left to be told yet.
    brought: Mutex<Vec<(CopyAtWork, Outcome)>>,
}

impl RunAtWork {
    pub(super) fn of(copies: Vec<CopyAtWork>) -> Self {
        RunAtWork { copies, brought: Mutex::default() }
    }

    /// Makes one copy after the other.
    pub(super) fn make(mut self) {
        let copies = mem::take(&mut self.copies);
        let ahead = match copies.first() {
            Some(first) if copies.len() > 1 => {
                first.lasting().fetcher.ask_ahead(copies.iter().map(|copy| &copy.order))
            }
            _ => Ahead::default(),
        };
        let mut is_served = true;
        for copy in copies {
            // What is not wanted any more costs no time. Nor does what a source is asked for that has
            // just failed: it is given up, and is begun again as it is ordered still.
            let outcome = if is_served && !copy.cancel.is_cancelled() {
                // Nobody waits for a copy that takes long but itself.
                copy.bring(&ahead, &|_| self.hand_on_apart())
            } else {
                Err(Fault::Cancelled)
            };
            is_served &= !matches!(outcome, Err(Fault::Blamed(Blame::Source, _)));
            self.brought().push((copy, outcome));
        }
        end(mem::take(&mut *self.brought()));
    }

    /// Leaves what was brought so far to be ended, on another thread: whoever ends copies may have to
    /// do so for others for long, and this one is in the middle of a copy.
    fn hand_on_apart(&self) {
        let brought = mem::take(&mut *self.brought());
        let Some((first, _)) = brought.first() else { return };
        let lasting = first.lasting();
        // In a place of its own: a job that cannot be begun is dropped.
        let brought = Arc::new(Mutex::new(brought));
        let of_thread = Arc::clone(&brought);
        let take =
            move || end(mem::take(&mut *of_thread.lock().unwrap_or_else(PoisonError::into_inner)));
        if let Err(error) = lasting.threads.begin(Box::new(take)) {
            tracing::warn!(%error, "no thread can be started that ends copies");
            end(mem::take(&mut *brought.lock().unwrap_or_else(PoisonError::into_inner)));
        }
    }

    fn brought(&self) -> std::sync::MutexGuard<'_, Vec<(CopyAtWork, Outcome)>> {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves copies to be ended.
fn end(brought: Vec<(CopyAtWork, Outcome)>) {
    let Some((first, _)) = brought.first() else { return };
    let copies: Vec<(TaskId, u64)> = brought.iter().filter_map(bytes_here).collect();
    if !copies.is_empty() {
        first.downloader.do_send(TransfersArrived { copies });
    }
    first.lasting().publisher.end(brought);
}

/// The task, and how many bytes are here, where only the disk is waited for.
fn bytes_here((copy, outcome): &(CopyAtWork, Outcome)) -> Option<(TaskId, u64)> {
    match outcome {
        Ok(Brought::Arrived(arrived)) => Some((copy.task(), arrived.size())),
        _ => None,
    }
}
