//! A connection between two nodes, encrypted or not.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncRead, AsyncWrite, BufReader, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;

use super::listener::MemberSlot;
use super::peers::PeerTraffic;

/// A connection whose bytes are counted for its peer. A forwarded request is written to it, and the answer is read
/// from it.
pub struct NodeStream {
    link: StreamLink,
    /// None before the hello.
    traffic: Option<Arc<PeerTraffic>>,
    /// The place among the connections of its member. None for a connection that this node made.
    slot: Option<MemberSlot>,
    /// The highest version of the calls that both sides know. 0 before the hello.
    version: u8,
}

/// Encrypted bytes that one call of the system may take from a socket. The TLS library asks for 4 KiB at a time.
const ENCRYPTED_BYTES: usize = 64 << 10;

/// A socket below TLS.
pub(super) type BufferedSocket = BufReader<TcpStream>;

/// The socket for a TLS connection.
pub(super) fn below_tls(stream: TcpStream) -> BufferedSocket {
    BufReader::with_capacity(ENCRYPTED_BYTES, stream)
}

enum StreamLink {
    Plain(TcpStream),
    Tls(Box<TlsStream<BufferedSocket>>),
}

impl NodeStream {
    pub(super) fn plain(stream: TcpStream) -> Self {
        NodeStream { link: StreamLink::Plain(stream), traffic: None, slot: None, version: 0 }
    }

    pub(super) fn encrypted(stream: TlsStream<BufferedSocket>) -> Self {
        NodeStream {
            link: StreamLink::Tls(Box::new(stream)),
            traffic: None,
            slot: None,
            version: 0,
        }
    }

    /// Counts all following bytes, and the connection itself.
    pub(super) fn count_for(&mut self, traffic: Arc<PeerTraffic>) {
        traffic.opened();
        self.traffic = Some(traffic);
    }

    /// Takes a place among the connections of its member, until it is closed.
    pub(super) fn take_slot(&mut self, slot: MemberSlot) {
        self.slot = Some(slot);
    }

    /// Both sides know this version of the calls.
    pub(super) fn speaks(&mut self, version: u8) {
        self.version = version;
    }

    /// The highest version of the calls that both sides know.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// The socket below.
    pub(super) fn socket(&self) -> &TcpStream {
        match &self.link {
            StreamLink::Plain(stream) => stream,
            StreamLink::Tls(stream) => stream.get_ref().0.get_ref(),
        }
    }

    /// The certificate of the other side. None without TLS.
    pub(super) fn peer_certificate(&self) -> Option<&CertificateDer<'static>> {
        match &self.link {
            StreamLink::Plain(_) => None,
            StreamLink::Tls(stream) => stream.get_ref().1.peer_certificates()?.first(),
        }
    }
}

impl Drop for NodeStream {
    fn drop(&mut self) {
        // Before the connection is counted as closed, its place is free.
        self.slot = None;
        if let Some(traffic) = &self.traffic {
            traffic.closed();
        }
    }
}

impl AsyncRead for NodeStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(match &mut this.link {
            StreamLink::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            StreamLink::Tls(stream) => Pin::new(stream.as_mut()).poll_read(context, buffer),
        })?;
        if let Some(traffic) = &this.traffic {
            traffic.received(buffer.filled().len() - before);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for NodeStream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(match &mut this.link {
            StreamLink::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            StreamLink::Tls(stream) => Pin::new(stream.as_mut()).poll_write(context, bytes),
        })?;
        if let Some(traffic) = &this.traffic {
            traffic.sent(written);
        }
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = ready!(match &mut this.link {
            StreamLink::Plain(stream) => Pin::new(stream).poll_write_vectored(context, parts),
            StreamLink::Tls(stream) => {
                Pin::new(stream.as_mut()).poll_write_vectored(context, parts)
            }
        })?;
        if let Some(traffic) = &this.traffic {
            traffic.sent(written);
        }
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().link {
            StreamLink::Plain(stream) => Pin::new(stream).poll_flush(context),
            StreamLink::Tls(stream) => Pin::new(stream.as_mut()).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().link {
            StreamLink::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            StreamLink::Tls(stream) => Pin::new(stream.as_mut()).poll_shutdown(context),
        }
    }
}

impl fmt::Debug for NodeStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.link {
            StreamLink::Plain(_) => "NodeStream(plain)",
            StreamLink::Tls(_) => "NodeStream(tls)",
        })
    }
}
