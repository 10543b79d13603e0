//! A disk of a journal that stops: writes wait until it runs again.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use reelyard_journal::StoreObserver;

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
}

impl StoppableDisk {
    /// Stops the disk, or lets it run again.
    pub fn stop(&self, is_stopped: bool) {
        self.state().is_stopped = is_stopped;
        self.runs.notify_all();
    }

    /// Whether a write waits for the disk.
    pub fn is_waited_for(&self) -> bool {
        self.state().is_waited_for
    }

    fn state(&self) -> MutexGuard<'_, DiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreObserver for StoppableDisk {
    fn store_synced(&self) {
        let mut state = self.state();
        while state.is_stopped {
            state.is_waited_for = true;
            state = self.runs.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_waited_for = false;
    }

    fn mark_synced(&self) {}
}
