//! The stream of an HTTP connection. It ends when another connection gets its slot, or when a limit
//! is exceeded.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::connection_limiter::HttpConnectionSlot;

/// A stream that fails when its connection must end.
pub struct GuardedStream {
    stream: TcpStream,
    slot: HttpConnectionSlot,
}

impl GuardedStream {
    pub(super) fn new(stream: TcpStream, slot: HttpConnectionSlot) -> Self {
        GuardedStream { stream, slot }
    }

    pub(super) fn slot(&self) -> &HttpConnectionSlot {
        &self.slot
    }

    /// The first byte of the client, which stays unread; none if the client closed the connection.
    ///
    /// # Errors
    ///
    /// The connection failed, or must end.
    pub(super) async fn peek(&mut self) -> io::Result<Option<u8>> {
        std::future::poll_fn(|cx| {
            self.check(cx)?;
            let mut first = [0];
            let peeked = ready!(self.stream.poll_peek(cx, &mut ReadBuf::new(&mut first)))?;
            Poll::Ready(Ok((peeked > 0).then_some(first[0])))
        })
        .await
    }

    /// Fails if the connection must end; otherwise registers to be woken then.
    fn check(&self, cx: &Context<'_>) -> io::Result<()> {
        let connection = self.slot.connection();
        connection.wakes(cx.waker());
        if connection.is_over() { Err(ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
    }
}

impl AsyncRead for GuardedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for GuardedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        let connection = self.slot.connection();
        match &written {
            Poll::Ready(Ok(count)) => {
                connection.took(*count, *count == bytes.len(), Instant::now())
            }
            Poll::Ready(Err(_)) => {}
            Poll::Pending => connection.is_stuck(Instant::now()),
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
