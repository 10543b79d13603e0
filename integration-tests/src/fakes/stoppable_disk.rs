//! A disk of a journal that stops: writes wait until it runs again.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

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
    /// Gets notice of each flush as well.
    second: Option<Arc<dyn StoreObserver>>,
}

impl StoppableDisk {
    /// Stops the disk, or lets it run again.
    pub fn stop(&self, is_stopped: bool) {
        self.state().is_stopped = is_stopped;
        self.runs.notify_all();
    }

    /// Lets a second observer get notice of each flush, before its caller.
    pub fn observe(&self, second: Arc<dyn StoreObserver>) {
        self.state().second = Some(second);
    }

    /// Whether a write waits for the disk.
    pub fn is_waited_for(&self) -> bool {
        self.state().is_waited_for
    }

    /// Notifies the second observer, then waits until the disk runs.
    fn flush(&self, notify: impl Fn(&dyn StoreObserver)) {
        let second = self.state().second.clone();
        if let Some(second) = second {
            notify(&*second);
        }
        let mut state = self.state();
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
        self.flush(|second| second.store_synced());
    }

    fn mark_synced(&self) {
        self.flush(|second| second.mark_synced());
    }
}
