//! Moves a connection between two runtimes, and adapts it for actix.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::session::TlsSession;
use super::{ClientStream, SendBlocked};

/// A connection that belongs to no runtime.
pub(crate) struct Detached {
    stream: std::net::TcpStream,
    session: Option<Box<Mutex<TlsSession>>>,
}

impl ClientStream {
    /// Removes the connection from this runtime.
    pub(crate) fn detach(self) -> io::Result<Detached> {
        Ok(Detached { stream: self.stream.into_std()?, session: self.session })
    }

    /// Sends everything that was accepted.
    fn poll_sent(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.try_flush() {
                Ok(true) => return Poll::Ready(Ok(())),
                Ok(false) => {}
                Err(hitch) => ready!(self.poll_over(&hitch, cx))?,
            }
        }
    }

    /// Waits until the blocked send can continue.
    fn poll_over(&self, hitch: &SendBlocked, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match hitch {
            SendBlocked::Full => self.stream.poll_write_ready(cx),
            _ => Poll::Ready(Err(ErrorKind::BrokenPipe.into())),
        }
    }
}

impl Detached {
    /// Adds the connection to this runtime.
    pub(crate) fn attach(self) -> io::Result<ClientStream> {
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
                Err(hitch) => ready!(self.poll_over(&hitch, cx))?,
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_sent(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Some(mut session) = self.session() {
            session.send_close_notify();
        }
        ready!(self.poll_sent(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
