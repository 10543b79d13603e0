//! What TLS knows of a connection, driven by the readiness of its socket.
//!
//! Bytes of a file are read in large pieces, encrypted in place of their copies, and leave by
//! `writev`, many records at a time: one system call where others need one for each record.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::unix::fs::FileExt;

use rustls::ServerConnection;
use tokio::net::TcpStream;

use super::{SendBlocked, of_the_client};

/// How much is encrypted at a time, and so how much of it a slow client makes us keep.
const PIECE: usize = 128 << 10;

/// The most that one record holds. With less than that not yet sent, more is taken.
const RECORD: usize = 16 << 10;

thread_local! {
    /// Where pieces of files are read to: one for each thread, as a piece is encrypted as soon as
    /// it is read.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// One connection's TLS.
pub(super) struct TlsSession {
    tls: ServerConnection,
    /// How many of the bytes taken have not left, about: 0 is exact.
    kept_back: usize,
}

/// Why a handshake is not done.
pub(super) enum HandshakePending {
    /// The client has to say something.
    Reading,
    /// The client has to take something.
    Writing,
    /// It never will be.
    Failed(io::Error),
}

/// A socket as rustls wants it.
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
        // It is bounded here, by what has not left.
        tls.set_buffer_limit(None);
        TlsSession { tls, kept_back: 0 }
    }

    /// Goes on with the handshake.
    pub(super) fn try_shake_hands(&mut self, stream: &TcpStream) -> Result<(), HandshakePending> {
        let failed = |error| Err(HandshakePending::Failed(error));
        while self.tls.is_handshaking() || self.tls.wants_write() {
            let trying = if self.tls.wants_write() {
                let writing = self.tls.write_tls(&mut Socket(stream));
                writing.map(drop).map_err(|error| (error, HandshakePending::Writing))
            } else {
                self.take_in(stream).map_err(|error| (error, HandshakePending::Reading))
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

    /// Takes in what came, and understands it. At the end of the connection, an error.
    fn take_in(&mut self, stream: &TcpStream) -> io::Result<()> {
        let count = self.tls.read_tls(&mut Socket(stream))?;
        if let Err(error) = self.tls.process_new_packets() {
            // The client may learn why. If it takes nothing, it does not.
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
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.take_in(stream)?,
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
        if !self.has_room(stream)? {
            return Ok(0);
        }
        let bytes = &bytes[..bytes.len().min(PIECE)];
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
        if !self.has_room(stream)? {
            return Ok(0);
        }
        let most = usize::try_from(count).unwrap_or(PIECE).min(PIECE);
        READ.with_borrow_mut(|piece| {
            piece.resize(PIECE, 0);
            match file.read_at(&mut piece[..most], position) {
                Ok(0) => Err(SendBlocked::cut_short()),
                Ok(count) => {
                    self.encrypt(&piece[..count])?;
                    self.begin_to_send(stream)?;
                    Ok(count as u64)
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
                Err(error) => Err(SendBlocked::Unreadable(error)),
            }
        })
    }

    /// Sends some of what was taken; answers whether all of it has left.
    pub(super) fn try_flush(&mut self, stream: &TcpStream) -> Result<bool, SendBlocked> {
        if self.tls.wants_write() {
            match self.tls.write_tls(&mut Socket(stream)) {
                Ok(count) => self.kept_back = self.kept_back.saturating_sub(count),
                Err(error) => return of_the_client(&error).map(|_| false),
            }
        }
        let is_all = !self.tls.wants_write();
        if is_all {
            self.kept_back = 0;
        }
        Ok(is_all)
    }

    pub(super) fn kept_back(&self) -> u64 {
        self.kept_back as u64
    }

    /// The last that the client is told.
    pub(super) fn send_close_notify(&mut self) {
        self.tls.send_close_notify();
    }

    /// Makes room, if need be and if the client takes something.
    fn has_room(&mut self, stream: &TcpStream) -> Result<bool, SendBlocked> {
        if self.kept_back >= RECORD {
            self.try_flush(stream)?;
        }
        Ok(self.kept_back < RECORD)
    }

    fn encrypt(&mut self, bytes: &[u8]) -> Result<(), SendBlocked> {
        // It is memory that is written to: this fails only when the session is over.
        self.tls.writer().write_all(bytes).map_err(|_| SendBlocked::Left)?;
        self.kept_back += bytes.len();
        Ok(())
    }

    /// Sends some of what was taken, if the client takes it now.
    fn begin_to_send(&mut self, stream: &TcpStream) -> Result<(), SendBlocked> {
        match self.try_flush(stream) {
            Ok(_) | Err(SendBlocked::Full) => Ok(()),
            Err(other) => Err(other),
        }
    }
}
