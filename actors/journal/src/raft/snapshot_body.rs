//! The bytes of a snapshot as openraft moves them. The sending node reads them out of its store, and the
//! receiving node writes them to a file. Neither node holds all of them in memory.

use std::fs::File;
use std::io::{self, SeekFrom};
use std::os::unix::fs::FileExt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use crate::store::SnapshotReader;

/// How often a store that is closed for lack of room is tried again.
const RETRY: Duration = Duration::from_millis(100);

/// A snapshot's bytes with a position in them.
///
/// To read a chunk from the store or to write a piece into the page cache takes microseconds, so the
/// caller's thread does it.
pub(crate) struct SnapshotBody {
    bytes: SnapshotBytes,
    at: u64,
    /// Runs while the store has no room.
    waiting: Option<Pin<Box<Sleep>>>,
}

enum SnapshotBytes {
    Stored(SnapshotReader),
    /// A file without a name: it disappears when the last handle closes.
    Received(File),
}

impl SnapshotBody {
    /// The bytes of a snapshot in the store.
    pub(super) fn stored(reader: SnapshotReader) -> Self {
        SnapshotBody { bytes: SnapshotBytes::Stored(reader), at: 0, waiting: None }
    }

    /// The bytes of a snapshot that will be received into `file`.
    pub(super) fn to_receive(file: File) -> Self {
        SnapshotBody { bytes: SnapshotBytes::Received(file), at: 0, waiting: None }
    }

    fn length(&self) -> io::Result<u64> {
        match &self.bytes {
            SnapshotBytes::Stored(reader) => Ok(reader.manifest().bytes),
            SnapshotBytes::Received(file) => Ok(file.metadata()?.len()),
        }
    }

    /// Reads at the position. None while the store is closed for lack of room.
    fn read(&mut self, buffer: &mut ReadBuf<'_>) -> io::Result<Option<()>> {
        let read = match &mut self.bytes {
            SnapshotBytes::Stored(reader) => {
                let Some(bytes) = reader.read_at(self.at).map_err(io::Error::other)? else {
                    return Ok(None);
                };
                let read = bytes.len().min(buffer.remaining());
                buffer.put_slice(&bytes[..read]);
                read
            }
            SnapshotBytes::Received(file) => {
                let read = file.read_at(buffer.initialize_unfilled(), self.at)?;
                buffer.advance(read);
                read
            }
        };
        self.at += read as u64;
        Ok(Some(()))
    }
}

impl AsyncRead for SnapshotBody {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(context));
                self.waiting = None;
            }
            match self.read(buffer) {
                Ok(Some(())) => return Poll::Ready(Ok(())),
                Ok(None) => self.waiting = Some(Box::pin(tokio::time::sleep(RETRY))),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for SnapshotBody {
    fn poll_write(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = match &self.bytes {
            SnapshotBytes::Stored(_) => Err(io::Error::from(io::ErrorKind::PermissionDenied)),
            SnapshotBytes::Received(file) => file.write_at(bytes, self.at),
        };
        if let Ok(written) = &written {
            self.at += *written as u64;
        }
        Poll::Ready(written)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncSeek for SnapshotBody {
    fn start_seek(mut self: Pin<&mut Self>, to: SeekFrom) -> io::Result<()> {
        let sought = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length()?.checked_add_signed(by),
        };
        self.at = sought.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.at))
    }
}
