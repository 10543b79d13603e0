//! A connection as those see it who read requests from it and send answers on it: plain, or under
//! TLS. Nothing here waits but for readiness.

mod handed_over;
mod session;

pub(super) use handed_over::Detached;

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

use session::{HandshakePending, TlsSession};

/// The most that one `sendfile` is asked for.
pub(super) const CHUNK: u64 = 1 << 20;

/// A connection.
pub(super) struct ClientStream {
    stream: TcpStream,
    /// Under TLS, what that knows. Never waited for: whoever has the line has it alone.
    session: Option<Box<Mutex<TlsSession>>>,
}

/// Why a line takes nothing.
#[derive(Debug)]
pub(super) enum SendBlocked {
    /// The client has to take something first.
    Full,
    /// The client left.
    Left,
    /// What was to be sent cannot be read.
    Unreadable(io::Error),
}

impl ClientStream {
    /// A line in the clear.
    pub(super) fn plain(stream: TcpStream) -> Self {
        ClientStream { stream, session: None }
    }

    /// A line under TLS, of which nothing was said yet.
    pub(super) fn under_tls(stream: TcpStream, tls: ServerConnection) -> Self {
        ClientStream { stream, session: Some(Box::new(Mutex::new(TlsSession::new(tls)))) }
    }

    /// The address that the client reached.
    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        self.stream
            .local_addr()
            .ok()
            .map(|addr| SocketAddr::new(addr.ip().to_canonical(), addr.port()))
    }

    /// Whether it is under TLS.
    pub(super) fn is_under_tls(&self) -> bool {
        self.session.is_some()
    }

    /// Comes to terms with the client about keys, under TLS.
    pub(super) async fn shake_hands(&self) -> io::Result<()> {
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

    /// Reads what there is, as soon as there is something; none at the end.
    pub(super) async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
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

    /// Takes some of `bytes`, possibly none; with `more`, they leave with what follows. Under TLS
    /// some may not have left: see [`ClientStream::try_flush`].
    pub(super) fn try_send(&self, bytes: &[u8], more: bool) -> Result<usize, SendBlocked> {
        if let Some(mut session) = self.session() {
            return session.try_send(&self.stream, bytes, more);
        }
        let flags = SendFlags::NOSIGNAL | if more { SendFlags::MORE } else { SendFlags::empty() };
        let trying = || send(&self.stream, bytes, flags).map_err(io::Error::from);
        self.stream.try_io(Interest::WRITABLE, trying).or_else(|error| of_the_client(&error))
    }

    /// Takes some of the `count` bytes of `file` at `position`, possibly none. In the clear they go
    /// from the page cache to the socket and do not pass through here.
    pub(super) fn try_send_file(
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

    /// Sends some of what was taken; answers whether all of it has left.
    pub(super) fn try_flush(&self) -> Result<bool, SendBlocked> {
        self.session().map_or(Ok(true), |mut session| session.try_flush(&self.stream))
    }

    /// How much of what was taken has not left.
    pub(super) fn kept_back(&self) -> u64 {
        self.session().map_or(0, |session| session.kept_back())
    }

    /// Returns when the client can be sent something.
    pub(super) async fn writable(&self) -> io::Result<()> {
        self.stream.writable().await
    }

    /// Resets the connection as soon as it is closed, so that what the kernel has not sent yet is
    /// never sent. Otherwise it would go on with that, some megabytes, and end it as if it were all.
    pub(super) fn discard_unsent(&self) {
        if let Err(error) = self.stream.set_zero_linger() {
            tracing::warn!(%error, "cannot discard unsent bytes of a connection");
        }
    }

    /// Ends the connection as usual after all: what was sent is whole.
    pub(super) fn keep_unsent(&self) {
        if let Err(error) = set_socket_linger(&self.stream, None) {
            tracing::warn!(%error, "cannot reset the linger option, unsent bytes may be lost");
        }
    }

    /// Says that nothing more comes, once everything has left.
    pub(super) async fn finish_sending(&self) -> io::Result<()> {
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

    /// Reads until the client has closed, whatever else it sends.
    pub(super) async fn drain(&self) {
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
    /// A file that is shorter than it was: the connection is closed before the promised length,
    /// which the client notices.
    fn cut_short() -> Self {
        SendBlocked::Unreadable(ErrorKind::UnexpectedEof.into())
    }
}

/// What an error of a socket that was to take bytes comes to.
fn of_the_client(error: &io::Error) -> Result<usize, SendBlocked> {
    match error.kind() {
        ErrorKind::WouldBlock => Err(SendBlocked::Full),
        ErrorKind::Interrupted => Ok(0),
        _ => Err(SendBlocked::Left),
    }
}

/// Whether sending a file broke off because of the client, and not for want of the file.
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
    fn a_failing_disk_is_told_apart_from_a_client_that_left() {
        use rustix::io::Errno;
        for errno in [Errno::PIPE, Errno::CONNRESET, Errno::TIMEDOUT] {
            assert!(is_of_the_client(&errno.into()), "{errno}");
        }
        for errno in [Errno::IO, Errno::STALE] {
            assert!(!is_of_the_client(&errno.into()), "{errno}");
        }
    }
}
