//! Readers of each snapshot, and the snapshots to drop after their last reader.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Readers of each snapshot, and the snapshots to drop after their last reader.
#[derive(Default)]
pub(super) struct SnapshotReaders(Mutex<BTreeMap<u64, SnapshotReads>>);

#[derive(Default)]
pub(super) struct SnapshotReads {
    pub(super) readers: usize,
    /// It is no longer current.
    pub(super) doomed: bool,
}

impl SnapshotReaders {
    pub(super) fn with<T>(&self, change: impl FnOnce(&mut BTreeMap<u64, SnapshotReads>) -> T) -> T {
        // No code under this lock can panic during a change.
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
