//! A run while it is made: what its thread does.

use std::mem;
use std::sync::{Mutex, PoisonError};

use super::copy_at_work::CopyAtWork;
use super::messages::TransfersArrived;
use super::publisher::Outcome;
use crate::downloader::fetch::{Ahead, Brought};
use crate::wire::worker::TaskId;

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
        for copy in copies {
            // Nobody waits for a copy that takes long but itself.
            let outcome = copy.bring(&ahead, &|_| self.hand_on());
            self.brought().push((copy, outcome));
        }
        self.hand_on();
    }

    /// Leaves what was brought so far to be ended.
    fn hand_on(&self) {
        let brought = mem::take(&mut *self.brought());
        let Some((first, _)) = brought.first() else { return };
        let copies: Vec<(TaskId, u64)> = brought.iter().filter_map(bytes_here).collect();
        if !copies.is_empty() {
            first.downloader.do_send(TransfersArrived { copies });
        }
        first.lasting().publisher.end(brought);
    }

    fn brought(&self) -> std::sync::MutexGuard<'_, Vec<(CopyAtWork, Outcome)>> {
        self.brought.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The task, and how many bytes are here, where only the disk is waited for.
fn bytes_here((copy, outcome): &(CopyAtWork, Outcome)) -> Option<(TaskId, u64)> {
    match outcome {
        Ok(Brought::Arrived(arrived)) => Some((copy.task(), arrived.size())),
        _ => None,
    }
}
