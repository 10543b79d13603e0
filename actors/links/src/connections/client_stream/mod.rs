//! The byte stream of a client connection, plain or with TLS. It waits only for readiness of the
//! socket.

mod handed_over;
mod session;

pub(crate) use super::client_stream::handed_over::Detached;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::sendfile;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{SendFlags, Shutdown, send, shutdown};
use rustls::ServerConnection;
use tokio::io::Interest;
use tokio::net::TcpStream;

use super::client_stream::session::{HandshakePending, TlsSession};

/// Largest size of one `sendfile` call, in bytes.
pub(crate) const CHUNK: u64 = 1 << 20;

/// A client connection, plain or with TLS.
pub(crate) struct ClientStream {
    stream: TcpStream,
    /// State of TLS; none without TLS. The lock is never contended, because a connection has one
    /// user.
    session: Option<Box<Mutex<TlsSession>>>,
}

/// Why a connection accepts no bytes.
#[derive(Debug)]
pub(crate) enum SendBlocked {
    /// The send buffer is full until the client reads.
    Full,
    /// The client closed the connection.
    Left,
    /// The source of the bytes cannot be read.
    Unreadable(io::Error),
}

impl ClientStream {
    /// A connection without TLS.
    pub(crate) fn plain(stream: TcpStream) -> Self {
        ClientStream { stream, session: None }
    }

    /// A connection with TLS, before its handshake.
    pub(crate) fn under_tls(stream: TcpStream, tls: ServerConnection) -> Self {
        ClientStream { stream, session: Some(Box::new(Mutex::new(TlsSession::new(tls)))) }
    }

    /// The address that the client connected to.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        self.stream
            .local_addr()
            .ok()
            .map(|addr| SocketAddr::new(addr.ip().to_canonical(), addr.port()))
    }

    /// Whether the connection uses TLS.
    pub(crate) fn is_under_tls(&self) -> bool {
        self.session.is_some()
    }

    /// Performs the TLS handshake, if there is one.
    pub(crate) async fn shake_hands(&self) -> io::Result<()> {
        loop {
            match self.try_shake_hands() {
                Ok(()) => return Ok(()),
                Err(HandshakePending::Reading) => self.stream.readable().await?,
                Err(HandshakePending::Writing) => self.stream.writable().await?,
                Err(HandshakePending::Failed(error)) => return Err(error),
            }
        }
    }

    fn try_shake_hands(&self) -> Result<(), HandshakePending> {
        self.session().map_or(Ok(()), |mut session| session.try_shake_hands(&self.stream))
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
        self.stream.try_io(Interest::WRITABLE, trying).or_else(|error| of_the_client(&error))
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
            Ok(0) => Err(SendBlocked::cut_short()),
            Ok(_) => Ok(reached - position),
            Err(error) if is_of_the_client(&error) => Err(SendBlocked::Left),
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => Err(SendBlocked::Full),
                ErrorKind::Interrupted => Ok(0),
                _ => Err(SendBlocked::Unreadable(error)),
            },
        }
    }

    /// Sends accepted bytes. Returns whether all of them were sent.
    pub(crate) fn try_flush(&self) -> Result<bool, SendBlocked> {
        self.session().map_or(Ok(true), |mut session| session.try_flush(&self.stream))
    }

    /// Number of accepted bytes that were not sent yet.
    pub(crate) fn kept_back(&self) -> u64 {
        self.session().map_or(0, |session| session.kept_back())
    }

    /// Waits until the connection accepts bytes.
    pub(crate) async fn writable(&self) -> io::Result<()> {
        self.stream.writable().await
    }

    /// Makes the close reset the connection, so that the kernel discards its unsent bytes.
    /// Otherwise it would send them, up to some megabytes, and then end the connection normally.
    pub(crate) fn discard_unsent(&self) {
        if let Err(error) = self.stream.set_zero_linger() {
            tracing::warn!(%error, "cannot discard unsent bytes of a connection");
        }
    }

    /// Restores the normal close after a complete answer.
    pub(crate) fn keep_unsent(&self) {
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

impl SendBlocked {
    /// The file is shorter than before. The connection closes before the announced length, so the
    /// client notices.
    fn cut_short() -> Self {
        SendBlocked::Unreadable(ErrorKind::UnexpectedEof.into())
    }
}

/// Maps a socket error during a send.
fn of_the_client(error: &io::Error) -> Result<usize, SendBlocked> {
    match error.kind() {
        ErrorKind::WouldBlock => Err(SendBlocked::Full),
        ErrorKind::Interrupted => Ok(0),
        _ => Err(SendBlocked::Left),
    }
}

/// Whether the client caused a failure of sendfile, and not the file.
fn is_of_the_client(error: &io::Error) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, TimedOut};
    matches!(
        error.kind(),
        BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | TimedOut
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_disk_differs_from_a_client_that_left() {
        use rustix::io::Errno;
        for errno in [Errno::PIPE, Errno::CONNRESET, Errno::TIMEDOUT] {
            assert!(is_of_the_client(&errno.into()), "{errno}");
        }
        for errno in [Errno::IO, Errno::STALE] {
            assert!(!is_of_the_client(&errno.into()), "{errno}");
        }
    }
}
