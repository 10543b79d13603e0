//! A disk of a journal that stops: writes wait until it runs again.

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fastrand::Rng;
use reelyard_journal::StoreObserver;

use crate::probes::journal_power::Plug;

/// A disk whose writes wait while it is stopped.
#[derive(Debug, Default)]
pub struct StoppableDisk {
    state: Mutex<DiskState>,
    runs: Condvar,
}

#[derive(Debug, Default)]
struct DiskState {
    is_stopped: bool,
    is_waited_for: bool,
    /// The flush at which the disk stops by itself.
    last_flush: Option<LastFlush>,
}

#[derive(Debug)]
struct LastFlush {
    /// Flushes before it.
    before: u64,
    /// The durable content until then.
    plug: Arc<Plug>,
}

impl StoppableDisk {
    /// Stops the disk, or lets it run again.
    pub fn stop(&self, is_stopped: bool) {
        let mut state = self.state();
        state.is_stopped = is_stopped;
        state.last_flush = None;
        drop(state);
        self.runs.notify_all();
    }

    /// Stops the disk of the store in `dir` during a flush, after this number of whole flushes.
    pub fn stop_after_flushes(&self, before: u64, dir: &Path) {
        self.state().last_flush = Some(LastFlush { before, plug: Plug::of(dir) });
    }

    /// Makes `image` a state that the disk may hold if its power fails now, during the flush at which it stopped.
    ///
    /// # Panics
    /// Panics when the disk did not stop at a flush, and when files cannot be copied.
    pub fn lose_power(&self, image: &Path, rng: &mut Rng) {
        let state = self.state();
        let stopped = state.last_flush.as_ref().filter(|_| state.is_waited_for);
        let Some(LastFlush { plug, .. }) = stopped else { panic!("the disk runs") };
        plug.pull(image, rng);
    }

    /// Whether a write waits for the disk.
    pub fn is_waited_for(&self) -> bool {
        self.state().is_waited_for
    }

    /// Counts a flush, then waits until the disk runs.
    fn flush(&self, record: impl Fn(&Plug)) {
        let mut state = self.state();
        if let Some(last) = &mut state.last_flush {
            match last.before.checked_sub(1) {
                Some(before) => {
                    last.before = before;
                    record(&last.plug);
                }
                None => state.is_stopped = true,
            }
        }
        while state.is_stopped {
            state.is_waited_for = true;
            state = self.runs.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_waited_for = false;
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreObserver for StoppableDisk {
    fn store_synced(&self) {
        self.flush(|plug| plug.store_synced());
    }

    fn mark_synced(&self) {
        self.flush(|plug| plug.mark_synced());
    }
}
