//! Moves a connection between two runtimes, and adapts it for actix.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::ClientStream;
use super::send_blocked::SendBlocked;
use super::tls_session::TlsSession;

/// A connection that belongs to no runtime.
pub struct DetachedStream {
    stream: std::net::TcpStream,
    session: Option<Box<Mutex<TlsSession>>>,
}

impl ClientStream {
    /// Removes the connection from this runtime.
    ///
    /// # Errors
    ///
    /// The runtime cannot give up the socket.
    pub fn detach(self) -> io::Result<DetachedStream> {
        Ok(DetachedStream { stream: self.stream.into_std()?, session: self.session })
    }

    /// Sends everything that was accepted.
    fn poll_flushed(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.try_flush() {
                Ok(true) => return Poll::Ready(Ok(())),
                Ok(false) => {}
                Err(blocked) => ready!(self.poll_unblocked(&blocked, cx))?,
            }
        }
    }

    /// Waits until the blocked send can continue.
    fn poll_unblocked(&self, blocked: &SendBlocked, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match blocked {
            SendBlocked::Full => self.stream.poll_write_ready(cx),
            _ => Poll::Ready(Err(ErrorKind::BrokenPipe.into())),
        }
    }
}

impl DetachedStream {
    /// Adds the connection to this runtime.
    ///
    /// # Errors
    ///
    /// The runtime cannot register the socket.
    pub fn attach(self) -> io::Result<ClientStream> {
        Ok(ClientStream { stream: TcpStream::from_std(self.stream)?, session: self.session })
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match self.try_read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    ready!(self.stream.poll_read_ready(cx))?;
                }
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            match self.try_send(bytes, false) {
                Ok(0) if !bytes.is_empty() => {}
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(blocked) => ready!(self.poll_unblocked(&blocked, cx))?,
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flushed(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(mut session) = self.session() {
            session.send_close_notify();
        }
        ready!(self.poll_flushed(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
