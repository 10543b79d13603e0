//! The TLS state of a connection, driven by the readiness of its socket.
//!
//! Files are read in large chunks and encrypted into records. `writev` sends many records with one
//! system call, instead of one call per record.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::unix::fs::FileExt;

use rustls::ServerConnection;
use tokio::net::TcpStream;

use super::send_blocked::SendBlocked;

/// Number of bytes that are encrypted at a time. It bounds the memory for a slow client.
const CHUNK: usize = 128 << 10;

/// Largest payload of a TLS record. With fewer unsent bytes, more are accepted.
const RECORD: usize = 16 << 10;

thread_local! {
    /// Read buffer for chunks of files. One per thread is enough, because a chunk is encrypted
    /// right after it was read.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The TLS state of one connection.
pub(super) struct TlsSession {
    tls: ServerConnection,
    /// Approximate number of accepted bytes that the socket has not taken; 0 is exact.
    unsent: usize,
}

/// Why a handshake is not complete.
pub(super) enum HandshakePending {
    /// It needs bytes from the client.
    Reading,
    /// The client must read first.
    Writing,
    /// It failed with this error.
    Failed(io::Error),
}

/// A socket as rustls needs it.
struct Socket<'s>(&'s TcpStream);

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TlsSession {
    pub(super) fn new(mut tls: ServerConnection) -> Self {
        // `unsent` bounds the buffer instead.
        tls.set_buffer_limit(None);
        TlsSession { tls, unsent: 0 }
    }

    /// Continues the handshake.
    pub(super) fn try_handshake(&mut self, stream: &TcpStream) -> Result<(), HandshakePending> {
        let failed = |error| Err(HandshakePending::Failed(error));
        while self.tls.is_handshaking() || self.tls.wants_write() {
            let trying = if self.tls.wants_write() {
                let writing = self.tls.write_tls(&mut Socket(stream));
                writing.map(drop).map_err(|error| (error, HandshakePending::Writing))
            } else {
                self.read_records(stream).map_err(|error| (error, HandshakePending::Reading))
            };
            match trying {
                Ok(()) => {}
                Err((error, pending)) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(pending);
                }
                Err((error, _)) => return failed(error),
            }
        }
        Ok(())
    }

    /// Reads and processes TLS records. The end of the connection is an error.
    fn read_records(&mut self, stream: &TcpStream) -> io::Result<()> {
        let count = self.tls.read_tls(&mut Socket(stream))?;
        if let Err(error) = self.tls.process_new_packets() {
            // Try to send the alert with the cause; its failure does not matter.
            let _ = self.tls.write_tls(&mut Socket(stream));
            return Err(io::Error::new(ErrorKind::InvalidData, error));
        }
        if count == 0 && self.tls.is_handshaking() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    pub(super) fn try_read(&mut self, stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.tls.reader().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.read_records(stream)?,
                other => return other,
            }
        }
    }

    pub(super) fn try_send(
        &mut self,
        stream: &TcpStream,
        bytes: &[u8],
        more: bool,
    ) -> Result<usize, SendBlocked> {
        if !self.has_space(stream)? {
            return Ok(0);
        }
        let bytes = &bytes[..bytes.len().min(CHUNK)];
        self.encrypt(bytes)?;
        if !more {
            self.begin_to_send(stream)?;
        }
        Ok(bytes.len())
    }

    pub(super) fn try_send_file(
        &mut self,
        stream: &TcpStream,
        file: &File,
        position: u64,
        count: u64,
    ) -> Result<u64, SendBlocked> {
        if !self.has_space(stream)? {
            return Ok(0);
        }
        let most = usize::try_from(count).unwrap_or(CHUNK).min(CHUNK);
        READ.with_borrow_mut(|chunk| {
            chunk.resize(CHUNK, 0);
            match file.read_at(&mut chunk[..most], position) {
                Ok(0) => Err(SendBlocked::truncated()),
                Ok(count) => {
                    self.encrypt(&chunk[..count])?;
                    self.begin_to_send(stream)?;
                    Ok(count as u64)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
                Err(error) => Err(SendBlocked::Unreadable(error)),
            }
        })
    }

    /// Sends accepted bytes. Returns whether all of them were sent.
    pub(super) fn try_flush(&mut self, stream: &TcpStream) -> Result<bool, SendBlocked> {
        if self.tls.wants_write() {
            match self.tls.write_tls(&mut Socket(stream)) {
                Ok(count) => self.unsent = self.unsent.saturating_sub(count),
                Err(error) => return SendBlocked::of_socket(&error).map_or(Ok(false), Err),
            }
        }
        let is_all = !self.tls.wants_write();
        if is_all {
            self.unsent = 0;
        }
        Ok(is_all)
    }

    pub(super) fn unsent(&self) -> u64 {
        self.unsent as u64
    }

    /// Queues the TLS close_notify alert.
    pub(super) fn send_close_notify(&mut self) {
        self.tls.send_close_notify();
    }

    /// Sends accepted bytes if the buffer is full. Returns whether there is space for more.
    fn has_space(&mut self, stream: &TcpStream) -> Result<bool, SendBlocked> {
        if self.unsent >= RECORD {
            self.try_flush(stream)?;
        }
        Ok(self.unsent < RECORD)
    }

    fn encrypt(&mut self, bytes: &[u8]) -> Result<(), SendBlocked> {
        // This writes to memory. It fails only if the session has ended.
        self.tls.writer().write_all(bytes).map_err(|_| SendBlocked::Left)?;
        self.unsent += bytes.len();
        Ok(())
    }

    /// Sends accepted bytes without waiting.
    fn begin_to_send(&mut self, stream: &TcpStream) -> Result<(), SendBlocked> {
        match self.try_flush(stream) {
            Ok(_) | Err(SendBlocked::Full) => Ok(()),
            Err(other) => Err(other),
        }
    }
}
