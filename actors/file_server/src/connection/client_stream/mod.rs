//! The byte stream of a client connection, plain or with TLS. It waits only for readiness of the
//! socket.

mod detached;
mod send_blocked;
mod tls_session;

pub use detached::DetachedStream;
pub(crate) use send_blocked::SendBlocked;

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::sendfile;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use rustls::ServerConnection;
use tokio::io::Interest;
use tokio::net::TcpStream;

use self::tls_session::{HandshakePending, TlsSession};

/// Largest size of one `sendfile` call, in bytes.
pub(crate) const CHUNK: u64 = 1 << 20;

/// A client connection, plain or with TLS.
pub struct ClientStream {
    stream: TcpStream,
    /// State of TLS; none without TLS. The lock is never contended, because a connection has one
    /// user.
    session: Option<Box<Mutex<TlsSession>>>,
}

impl ClientStream {
    /// A connection without TLS.
    pub(crate) fn plain(stream: TcpStream) -> Self {
        ClientStream { stream, session: None }
    }

    /// A connection with TLS, before its handshake.
    pub(crate) fn with_tls(stream: TcpStream, tls: ServerConnection) -> Self {
        ClientStream { stream, session: Some(Box::new(Mutex::new(TlsSession::new(tls)))) }
    }

    /// The address that the client connected to.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.stream
            .local_addr()
            .ok()
            .map(|addr| SocketAddr::new(addr.ip().to_canonical(), addr.port()))
    }

    /// Whether the connection uses TLS.
    pub fn uses_tls(&self) -> bool {
        self.session.is_some()
    }

    /// Completes the TLS handshake, if the connection uses TLS.
    pub(crate) async fn complete_handshake(&self) -> io::Result<()> {
        loop {
            match self.try_handshake() {
                Ok(()) => return Ok(()),
                Err(HandshakePending::Reading) => self.stream.readable().await?,
                Err(HandshakePending::Writing) => self.stream.writable().await?,
                Err(HandshakePending::Failed(error)) => return Err(error),
            }
        }
    }

    fn try_handshake(&self) -> Result<(), HandshakePending> {
        self.session().map_or(Ok(()), |mut session| session.try_handshake(&self.stream))
    }

    /// Reads the available bytes, and waits for the first. Zero bytes mean the end.
    pub(crate) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.try_read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.stream.readable().await?;
                }
                other => return other,
            }
        }
    }

    fn try_read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.session() {
            Some(mut session) => session.try_read(&self.stream, buffer),
            None => self.stream.try_read(buffer),
        }
    }

    /// Accepts some of `bytes`, possibly none. With `more`, they may wait for the bytes that
    /// follow. With TLS, some accepted bytes may not be sent yet: see [`ClientStream::try_flush`].
    pub(crate) fn try_send(&self, bytes: &[u8], more: bool) -> Result<usize, SendBlocked> {
        if let Some(mut session) = self.session() {
            return session.try_send(&self.stream, bytes, more);
        }
        let flags = SendFlags::NOSIGNAL | if more { SendFlags::MORE } else { SendFlags::empty() };
        let trying = || send(&self.stream, bytes, flags).map_err(io::Error::from);
        match self.stream.try_io(Interest::WRITABLE, trying) {
            Ok(count) => Ok(count),
            Err(error) => SendBlocked::of_socket(&error).map_or(Ok(0), Err),
        }
    }

    /// Accepts some of `head` and of the `body` behind it, possibly none. Without TLS one system call sends
    /// both.
    pub(crate) fn try_send_both(&self, head: &[u8], body: &[u8]) -> Result<usize, SendBlocked> {
        if self.session.is_some() {
            return self.try_send(head, true);
        }
        match self.stream.try_write_vectored(&[IoSlice::new(head), IoSlice::new(body)]) {
            Ok(count) => Ok(count),
            Err(error) => SendBlocked::of_socket(&error).map_or(Ok(0), Err),
        }
    }

    /// Accepts some of the `count` bytes of `file` at `position`, possibly none. Without TLS they
    /// go from the page cache to the socket and are not copied here.
    pub(crate) fn try_send_file(
        &self,
        file: &File,
        position: u64,
        count: u64,
    ) -> Result<u64, SendBlocked> {
        if let Some(mut session) = self.session() {
            return session.try_send_file(&self.stream, file, position, count);
        }
        let mut reached = position;
        let count = usize::try_from(count.min(CHUNK)).unwrap_or(usize::MAX);
        let trying =
            || sendfile(&self.stream, file, Some(&mut reached), count).map_err(io::Error::from);
        match self.stream.try_io(Interest::WRITABLE, trying) {
            Ok(0) => Err(SendBlocked::truncated()),
            Ok(_) => Ok(reached - position),
            Err(error) => SendBlocked::of_sendfile(error).map_or(Ok(0), Err),
        }
    }

    /// Sends accepted bytes. Returns whether all of them were sent.
    pub(crate) fn try_flush(&self) -> Result<bool, SendBlocked> {
        self.session().map_or(Ok(true), |mut session| session.try_flush(&self.stream))
    }

    /// Approximate number of accepted bytes that the socket has not taken yet.
    pub(crate) fn unsent(&self) -> u64 {
        self.session().map_or(0, |session| session.unsent())
    }

    /// Waits until the connection accepts bytes.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.stream.writable().await
    }

    /// Whether the client reset the connection, or it failed.
    pub(crate) fn has_failed(&self) -> bool {
        !matches!(self.stream.take_error(), Ok(None))
    }

    /// Makes the close reset the connection, so that the kernel discards its unsent bytes. After a
    /// normal close it would still send them, up to some megabytes.
    pub(crate) fn reset_at_close(&self) {
        if let Err(error) = self.stream.set_zero_linger() {
            tracing::warn!(%error, "cannot set the linger option, unsent bytes may still be sent");
        }
    }

    /// Makes the close normal again: the kernel sends all bytes first.
    pub(crate) fn close_normally(&self) {
        if let Err(error) = set_socket_linger(&self.stream, None) {
            tracing::warn!(%error, "cannot reset the linger option, unsent bytes may be lost");
        }
    }

    /// Sends the end of the stream after all accepted bytes.
    pub(crate) async fn finish_sending(&self) -> io::Result<()> {
        if let Some(mut session) = self.session() {
            session.send_close_notify();
        }
        loop {
            match self.try_flush() {
                Ok(true) => return Ok(shutdown(self.stream.as_fd(), Shutdown::Write)?),
                Ok(false) => {}
                Err(SendBlocked::Full) => self.writable().await?,
                Err(_) => return Err(ErrorKind::BrokenPipe.into()),
            }
        }
    }

    /// Reads and ignores input until the client closes.
    pub(crate) async fn drain(&self) {
        let mut scratch = [0; 4096];
        while self.stream.readable().await.is_ok() {
            match self.stream.try_read(&mut scratch) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    }

    fn session(&self) -> Option<MutexGuard<'_, TlsSession>> {
        let session = self.session.as_ref()?;
        Some(session.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
