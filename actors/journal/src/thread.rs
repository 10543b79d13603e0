//! The thread that the proposer and the raft node share.
//!
//! A commit passes from one task of theirs to the next several times. On a pool each of these
//! steps wakes another thread, which costs more than the step itself. On one thread they only
//! take turns.

use std::io;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A runtime of one thread, which ends when this is dropped, and its tasks with it.
pub(super) struct JournalThread {
    runtime: Handle,
    /// Dropped, it lets the thread end.
    _lives: oneshot::Sender<()>,
}

impl JournalThread {
    /// Starts the thread and its runtime.
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (lives, ended) = oneshot::channel::<()>();
        thread::Builder::new().name("journal".to_owned()).spawn(move || {
            // The sender is only ever dropped.
            let _ = runtime.block_on(ended);
            // A snapshot that is being encoded is not awaited.
            runtime.shutdown_background();
        })?;
        Ok(JournalThread { runtime: handle, _lives: lives })
    }

    /// Runtime of the thread, to spawn tasks on it.
    pub(super) fn runtime(&self) -> &Handle {
        &self.runtime
    }
}
