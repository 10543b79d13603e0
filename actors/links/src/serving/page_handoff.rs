//! Hands connections to the thread of the pages.

use std::net::SocketAddr;

use reelyard_file_server::server::ConnectionHandover;
use reelyard_file_server::{ConnectionSlot, DetachedStream};
use tokio::sync::mpsc;

/// Largest number of connections that wait for a page.
const WAITING: usize = 256;

/// Hands connections to the thread of the pages.
pub(crate) struct PageHandoff(mpsc::Sender<PageConnection>);

/// A connection on its way between two runtimes.
pub(crate) struct PageConnection {
    pub(super) stream: DetachedStream,
    /// Bytes that were already read from the connection.
    pub(super) read: Vec<u8>,
    /// Length of the request in bytes. None if its head does not say it.
    pub(super) length: Option<usize>,
    pub(super) slot: ConnectionSlot,
}

/// Whether a connection uses TLS; available to its requests.
pub(super) struct UnderTls(pub(super) bool);

/// The server address that the client connected to; available to its requests.
pub(super) struct ReachedAt(pub(super) SocketAddr);

impl PageHandoff {
    /// Creates the sender and the receiver of handed-over connections.
    pub(crate) fn new() -> (Self, mpsc::Receiver<PageConnection>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (PageHandoff(sender), receiver)
    }

    /// Hands over a connection. If too many wait, it is dropped and closed.
    pub(crate) fn hand_over(&self, connection: ConnectionHandover) {
        let ConnectionHandover { stream, read, length, slot } = connection;
        if let Ok(stream) = stream.detach() {
            let taken = self.0.try_send(PageConnection { stream, read, length, slot });
            if taken.is_err() {
                tracing::warn!("dropped a connection: too many wait for a page of a share");
            }
        }
    }
}
