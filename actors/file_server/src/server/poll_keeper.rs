//! Keeps the sockets of shared threads polled while one of the threads waits for a disk.
//!
//! A thread of tokio that wakes for one socket runs its task, and wakes no other thread. If that task waits
//! for a disk, no thread polls sockets until the disk answers. An empty task wakes another thread, which
//! polls after it.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use tokio::runtime::Handle;

/// Longest time without a poll while some threads are free.
const WAKE_EVERY: Duration = Duration::from_millis(50);

/// Wakes the threads of a runtime until it is dropped.
pub(super) struct PollKeeper {
    _ends: mpsc::Sender<()>,
}

impl PollKeeper {
    /// Keeps the sockets of this runtime polled.
    ///
    /// # Errors
    ///
    /// No thread can be started.
    pub(super) fn start(runtime: Handle) -> io::Result<Self> {
        let (ends, ended) = mpsc::channel::<()>();
        std::thread::Builder::new().name("poll-keeper".into()).spawn(move || {
            while ended.recv_timeout(WAKE_EVERY) == Err(RecvTimeoutError::Timeout) {
                runtime.spawn(async {});
            }
        })?;
        Ok(PollKeeper { _ends: ends })
    }
}
