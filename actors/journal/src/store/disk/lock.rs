//! One process per store.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::store::OpenError;

/// The lock on a store's directory. It is held while this value lives; the kernel releases it at
/// any end of the process.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock. Waits up to `patience` for a holder that is just closing.
    pub(crate) fn acquire(dir: &Path, patience: Duration) -> Result<Self, OpenError> {
        let io = |why: String| OpenError::Io { dir: dir.to_owned(), why };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(dir.join("lock"))
            .map_err(|error| io(error.to_string()))?;
        let started = Instant::now();
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(DirectoryLock { _file: file }),
                Err(Errno::WOULDBLOCK) if started.elapsed() < patience => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(Errno::WOULDBLOCK) => return Err(OpenError::InUse { dir: dir.to_owned() }),
                Err(error) => return Err(io(error.to_string())),
            }
        }
    }
}
