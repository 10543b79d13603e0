//! A connection of which something was read already: that comes first again.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http::share::line::Line;
use crate::http::share::places::Place;

/// The connection. It keeps its place until it is dropped.
pub(super) struct Rewound {
    read: Vec<u8>,
    given: usize,
    line: Line,
    _place: Place,
}

impl Rewound {
    /// `line`, of which `read` was read.
    pub(super) fn new(read: Vec<u8>, line: Line, place: Place) -> Self {
        Rewound { read, given: 0, line, _place: place }
    }

    /// Whether it is under TLS.
    pub(super) fn is_under_tls(&self) -> bool {
        self.line.is_under_tls()
    }
}

impl AsyncRead for Rewound {
    fn poll_read(
        mut self: Pin<&mut Self>,
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
}

impl AsyncWrite for Rewound {
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
