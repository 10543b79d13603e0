//! The stream of an HTTP connection, encrypted or not. The limits apply below the encryption, also to its handshake.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use reelyard_cluster::NodeStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::server::TlsStream;

use super::connection_limiter::HttpConnectionSlot;
use super::guarded_stream::GuardedStream;

/// The bytes of a connection, encrypted or not.
pub enum HttpClientStream {
    /// Without TLS.
    Plain(GuardedStream),
    /// With TLS, after the handshake.
    Tls(Box<TlsStream<GuardedStream>>),
    /// Forwarded by another node, which has its own limits.
    Forwarded {
        /// The stream to the node.
        stream: NodeStream,
        /// Number of the node.
        from: u64,
    },
}

impl HttpClientStream {
    /// The slot of a connection to this node.
    pub(super) fn slot(&self) -> Option<&HttpConnectionSlot> {
        match self {
            HttpClientStream::Plain(stream) => Some(stream.slot()),
            HttpClientStream::Tls(stream) => Some(stream.get_ref().0.slot()),
            HttpClientStream::Forwarded { .. } => None,
        }
    }
}

impl AsyncRead for HttpClientStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            HttpClientStream::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            HttpClientStream::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
            HttpClientStream::Forwarded { stream, .. } => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for HttpClientStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            HttpClientStream::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            HttpClientStream::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
            HttpClientStream::Forwarded { stream, .. } => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            HttpClientStream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            HttpClientStream::Tls(stream) => Pin::new(stream).poll_flush(cx),
            HttpClientStream::Forwarded { stream, .. } => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            HttpClientStream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            HttpClientStream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            HttpClientStream::Forwarded { stream, .. } => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
