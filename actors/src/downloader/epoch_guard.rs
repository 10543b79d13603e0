//! The highest epoch a worker has seen: what an older leader says is refused from then on, also
//! after a restart.

use std::sync::{Arc, Mutex, PoisonError};

use crate::downloader::state_store::{StateStore, StateStoreError};
use crate::event::Epoch;

/// Guards one worker against deposed leaders. Clones guard the same one.
#[derive(Clone)]
pub struct EpochGuard {
    store: Arc<StateStore>,
    highest: Arc<Mutex<Epoch>>,
}

/// A leader of an older epoch than this worker has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("epoch {given} is over: this worker has heard a leader of epoch {highest}")]
pub struct Deposed {
    /// The epoch it leads in.
    pub given: Epoch,
    /// The highest seen.
    pub highest: Epoch,
}

impl EpochGuard {
    /// A guard that begins with what `store` remembers.
    pub fn open(store: Arc<StateStore>) -> Result<Self, StateStoreError> {
        let highest = Arc::new(Mutex::new(store.epoch()?));
        Ok(EpochGuard { store, highest })
    }

    /// The highest epoch seen.
    pub fn highest(&self) -> Epoch {
        *self.highest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A leader of `epoch` has spoken. A higher one than ever before is durable when this returns;
    /// blocks on the disk then.
    pub fn hear(&self, epoch: Epoch) -> Result<Result<(), Deposed>, StateStoreError> {
        // Held over the write: nobody may act on an epoch that is not durable yet.
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        if epoch < *highest {
            return Ok(Err(Deposed { given: epoch, highest: *highest }));
        }
        if epoch > *highest {
            self.store.raise_epoch(epoch)?;
            *highest = epoch;
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_leader_is_refused_also_after_a_restart() {
        let dir = tempfile::tempdir().unwrap();
        {
            let store = Arc::new(StateStore::open(dir.path()).unwrap());
            let guard = EpochGuard::open(store).unwrap();
            assert_eq!(guard.hear(Epoch(3)).unwrap(), Ok(()));
            assert_eq!(guard.hear(Epoch(3)).unwrap(), Ok(()));
        }
        let guard = EpochGuard::open(Arc::new(StateStore::open(dir.path()).unwrap())).unwrap();
        let deposed = Deposed { given: Epoch(2), highest: Epoch(3) };
        assert_eq!(guard.hear(Epoch(2)).unwrap(), Err(deposed));
        assert_eq!(guard.highest(), Epoch(3));
    }
}
