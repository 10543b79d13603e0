//! An archive that is checked, and written when its download is counted.

use std::fs::File;
use std::io;

use tokio::sync::{mpsc, oneshot};

use super::precheck::check_archive;
use super::tree::NoArchive;
use super::write::{self, ArchiveChunk};

/// Largest number of chunks that wait for the client.
const AHEAD: usize = 4;

/// An archive whose files are being opened.
pub(crate) struct PendingArchive {
    check: oneshot::Receiver<Result<(), NoArchive>>,
    ready: ReadyArchive,
}

/// An archive that can be written.
pub(crate) struct ReadyArchive {
    may_begin: oneshot::Sender<()>,
    chunks: mpsc::Receiver<ArchiveChunk>,
}

impl PendingArchive {
    /// Starts the thread of the archive of the directory `top`. With `is_checked` it first opens all files. It keeps
    /// `slot` until its end.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn begin(
        top: File,
        name: &str,
        is_checked: bool,
        slot: impl Send + 'static,
    ) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(AHEAD);
        let (checked, check) = oneshot::channel();
        let (may_begin, begins) = oneshot::channel::<()>();
        let name = name.to_owned();
        // Its own thread, because it waits for disks and for the client.
        std::thread::Builder::new().name("share-zip".into()).spawn(move || {
            let _slot = slot;
            let is_awaited = || !checked.is_closed();
            let found = match is_checked {
                true => check_archive(&top, &name, is_awaited),
                false => Ok(()),
            };
            let is_good = found.is_ok();
            if checked.send(found).is_ok() && is_good && begins.blocking_recv().is_ok() {
                write::archive(top, &name, sender);
            }
        })?;
        Ok(PendingArchive { check, ready: ReadyArchive { may_begin, chunks } })
    }

    /// Waits for the check.
    ///
    /// # Errors
    /// A file in it cannot be opened, or its thread has ended.
    pub(crate) async fn checked(self) -> Result<ReadyArchive, NoArchive> {
        self.check.await.unwrap_or_else(|_| Err(stopped()))?;
        Ok(self.ready)
    }
}

impl ReadyArchive {
    /// Lets it be written.
    ///
    /// # Errors
    /// Its thread has ended.
    pub(crate) fn send(self) -> Result<mpsc::Receiver<ArchiveChunk>, NoArchive> {
        self.may_begin.send(()).map_err(|()| stopped())?;
        Ok(self.chunks)
    }
}

fn stopped() -> NoArchive {
    NoArchive::Failed(io::Error::other("the writer of the archive stopped"))
}
