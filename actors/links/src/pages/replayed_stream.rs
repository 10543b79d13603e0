//! A connection of which something was read already: that comes first again. It gives one request:
//! what comes after that would be answered, too, though the one answer was announced as the last.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::client_stream::ClientStream;
use crate::connection_limiter::LinkConnectionSlot;

/// How much of what nobody answers is read at a time.
const SCRATCH: usize = 4096;

/// The connection. It keeps its place until it is dropped.
pub(super) struct ReplayedStream {
    read: Vec<u8>,
    given: usize,
    /// How much of the request was not given yet; none where nobody knows.
    left: Option<usize>,
    line: ClientStream,
    _place: LinkConnectionSlot,
}

impl ReplayedStream {
    /// `line`, of which `read` was read, with a request of `length` bytes, if that is known.
    pub(super) fn new(
        (read, length): (Vec<u8>, Option<usize>),
        line: ClientStream,
        place: LinkConnectionSlot,
    ) -> Self {
        ReplayedStream { read, given: 0, left: length, line, _place: place }
    }

    /// The address that the client reached.
    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        self.line.local_addr()
    }

    /// Whether it is under TLS.
    pub(super) fn is_under_tls(&self) -> bool {
        self.line.is_under_tls()
    }
}

impl ReplayedStream {
    /// Reads into a buffer that has room for no more than is left of the request.
    fn poll_request(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.read[self.given..];
        if rest.is_empty() {
            return Pin::new(&mut self.line).poll_read(cx, buffer);
        }
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.given += count;
        Poll::Ready(Ok(()))
    }

    /// Passes over what comes after the request. Ready at the end of the connection.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut scratch = [0; SCRATCH];
        let mut scratch = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut self.line).poll_read(cx, &mut scratch))?;
        if scratch.filled().is_empty() {
            return Poll::Ready(Ok(()));
        }
        // However much comes, others have their turn in between.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

impl AsyncRead for ReplayedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Some(left) = self.left else { return self.poll_request(cx, buffer) };
        if left == 0 {
            return self.poll_end(cx);
        }
        let room = buffer.remaining().min(left);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
        ready!(self.poll_request(cx, &mut part))?;
        let count = part.filled().len();
        buffer.advance(count);
        self.left = Some(left - count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ReplayedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.line).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_shutdown(cx)
    }
}
