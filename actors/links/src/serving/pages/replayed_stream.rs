//! A connection that first returns bytes that were read before. It returns only one request: the
//! answer to it announces the close, so a further request must not be answered.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use reelyard_file_server::{ClientStream, ConnectionSlot};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Size of the buffer for ignored input.
const SCRATCH: usize = 4096;

/// The connection. It holds its slot until it is dropped.
pub(super) struct ReplayedStream {
    read: Vec<u8>,
    given: usize,
    /// Number of bytes of the request that were not returned yet; none if the length is unknown.
    left: Option<usize>,
    stream: ClientStream,
    _slot: ConnectionSlot,
}

impl ReplayedStream {
    /// Wraps `stream`. `read` was already read from it. The request has `length` bytes, if that is
    /// known.
    pub(super) fn new(
        (read, length): (Vec<u8>, Option<usize>),
        stream: ClientStream,
        slot: ConnectionSlot,
    ) -> Self {
        ReplayedStream { read, given: 0, left: length, stream, _slot: slot }
    }

    /// The address that the client connected to.
    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        self.stream.local_addr()
    }

    /// Whether the connection uses TLS.
    pub(super) fn uses_tls(&self) -> bool {
        self.stream.uses_tls()
    }
}

impl ReplayedStream {
    /// Reads into a buffer that is limited to the rest of the request.
    fn poll_request(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let rest = &self.read[self.given..];
        if rest.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.given += count;
        Poll::Ready(Ok(()))
    }

    /// Ignores input after the request. Ready at the end of the connection.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut scratch = [0; SCRATCH];
        let mut scratch = ReadBuf::new(&mut scratch);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut scratch))?;
        if scratch.filled().is_empty() {
            return Poll::Ready(Ok(()));
        }
        // Yields, so that a flood of input does not block other connections.
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
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
