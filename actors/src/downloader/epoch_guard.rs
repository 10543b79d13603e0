//! The highest epoch a worker has seen: what an older leader says is refused from then on, also
//! after a restart.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::downloader::state_store::{StateStore, StateStoreError};
use crate::event::Epoch;

/// Guards one worker against deposed leaders. Clones guard the same one.
#[derive(Clone)]
pub struct EpochGuard {
    store: Arc<StateStore>,
    /// Held while a leader's word is taken and acted on. Only its holder raises `highest`.
    hearing: Arc<Mutex<()>>,
    /// Readable at any time: the holder of `hearing` may be waiting for the disk.
    highest: Arc<AtomicU64>,
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

impl Deposed {
    /// Whether what a leader of epoch `given` says is taken by a worker that has seen `highest`:
    /// whether its epoch is higher than any before, and must be durable before anything else.
    ///
    /// # Errors
    /// A later leader was heard.
    pub fn unless_heard(given: Epoch, highest: Epoch) -> Result<bool, Deposed> {
        if given < highest { Err(Deposed { given, highest }) } else { Ok(given > highest) }
    }
}

impl EpochGuard {
    /// A guard that begins with what `store` remembers.
    pub fn open(store: Arc<StateStore>) -> Result<Self, StateStoreError> {
        let highest = Arc::new(AtomicU64::new(store.epoch()?.0));
        Ok(EpochGuard { store, hearing: Arc::default(), highest })
    }

    /// The highest epoch seen. Never waits.
    pub fn highest(&self) -> Epoch {
        Epoch(self.highest.load(Ordering::Acquire))
    }

    /// A leader of `epoch` has spoken. A higher one than ever before is durable when this returns;
    /// blocks on the disk then.
    pub fn hear(&self, epoch: Epoch) -> Result<Result<(), Deposed>, StateStoreError> {
        self.obey(epoch, || ())
    }

    /// Does what a leader of `epoch` decided, unless a later one was heard. None is heard until it
    /// is done: whoever leads next finds it done or refused, never still to come.
    pub fn obey<T>(
        &self,
        epoch: Epoch,
        act: impl FnOnce() -> T,
    ) -> Result<Result<T, Deposed>, StateStoreError> {
        let _hearing = self.hearing.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = match Deposed::unless_heard(epoch, self.highest()) {
            Ok(is_new) => is_new,
            Err(deposed) => return Ok(Err(deposed)),
        };
        if is_new {
            // Durable first: a restart must not forget whom this worker has obeyed.
            self.store.raise_epoch(epoch)?;
            self.highest.store(epoch.0, Ordering::Release);
        }
        Ok(Ok(act()))
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

    #[test]
    fn a_later_leader_is_heard_only_after_what_an_earlier_one_decided_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let guard = EpochGuard::open(Arc::new(StateStore::open(dir.path()).unwrap())).unwrap();
        let done = Arc::new(AtomicU64::new(0));
        let (later, seen) = (guard.clone(), Arc::clone(&done));
        let (about_to_speak, speaks) = std::sync::mpsc::channel();
        let hearing = guard.obey(Epoch(3), || {
            let hearing = std::thread::spawn(move || {
                about_to_speak.send(()).unwrap();
                assert_eq!(later.hear(Epoch(4)).unwrap(), Ok(()));
                seen.load(Ordering::SeqCst)
            });
            speaks.recv().unwrap();
            assert_eq!(guard.highest(), Epoch(3), "the highest is read without waiting");
            done.store(1, Ordering::SeqCst);
            hearing
        });
        assert_eq!(hearing.unwrap().unwrap().join().unwrap(), 1);
        let deposed = Deposed { given: Epoch(3), highest: Epoch(4) };
        assert_eq!(guard.obey(Epoch(3), || ()).unwrap(), Err(deposed));
    }
}
