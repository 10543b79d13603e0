//! A service of files: the answers to the requests of a server.

use std::net::{IpAddr, SocketAddr};

use crate::certificate::Certificate;
use crate::connection::client_stream::ClientStream;
use crate::connection::limiter::ConnectionSlot;
use crate::connection::sending::{SendFailure, SendLimits, Sending};
use crate::connection::watch::SendWatch;
use crate::http::request_head::{BadHead, RequestHead};

/// Answers the requests of a server. The server does the rest: connections, TLS, limits and time-outs.
pub trait FileService: Send + Sync + 'static {
    /// Answers one request. After an error the connection is closed; after [`SendFailure::Cut`] its unsent
    /// bytes are discarded.
    fn answer(
        &self,
        request: &ServedRequest<'_>,
    ) -> impl Future<Output = Result<Answered, SendFailure>> + Send;

    /// The answer to a request without a valid head. The connection is closed after it.
    fn refuse_unread(&self, bad: BadHead) -> Vec<u8>;

    /// Identifies the client of a connection from `peer`, for the limit per client. None for a peer without
    /// such a limit.
    fn limited_client(&self, peer: IpAddr) -> Option<IpAddr>;

    /// The TLS certificate; none without TLS. Called for each connection.
    fn certificate(&self) -> Option<Certificate> {
        None
    }

    /// Takes over a connection after [`Answered::HandOver`]. By default it is closed.
    fn take_over(&self, connection: ConnectionHandover) {
        drop(connection);
    }
}

/// How a request was answered.
pub enum Answered {
    /// The answer was sent completely.
    Sent {
        /// Whether the connection stays open, as the answer announced it.
        keep_alive: bool,
        /// Can still discard bytes of the answer that the kernel has not sent.
        watch: Option<Box<dyn SendWatch>>,
    },
    /// Another server answers: it gets the connection with all bytes of the request.
    HandOver {
        /// Length of the request in bytes. None if its head does not say it.
        length: Option<usize>,
    },
}

/// One request, and the connection for its answer.
pub struct ServedRequest<'c> {
    /// The head of the request.
    pub head: &'c RequestHead<'c>,
    stream: &'c ClientStream,
    slot: &'c ConnectionSlot,
    limits: SendLimits,
}

/// A connection that another server takes over.
pub struct ConnectionHandover {
    /// Stream to the client.
    pub stream: ClientStream,
    /// Bytes that were already read from the connection.
    pub read: Vec<u8>,
    /// Length of the request in bytes. None if its head does not say it.
    pub length: Option<usize>,
    /// Connection slot, held until the connection ends.
    pub slot: ConnectionSlot,
}

impl<'c> ServedRequest<'c> {
    /// A request that was read from `stream`.
    pub(super) fn new(
        head: &'c RequestHead<'c>,
        stream: &'c ClientStream,
        slot: &'c ConnectionSlot,
        limits: SendLimits,
    ) -> Self {
        ServedRequest { head, stream, slot, limits }
    }

    /// Address of the other end of the connection.
    pub fn peer(&self) -> SocketAddr {
        self.slot.peer()
    }

    /// The address that the client connected to; none if it is not known.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.stream.local_addr()
    }

    /// Whether the connection can stay open after the answer. An unread body would be parsed as the next
    /// request.
    pub fn may_keep_alive(&self) -> bool {
        self.head.keep_alive && !self.head.has_body
    }

    /// Begins an answer that `watch` may cut.
    pub fn sending(&self, watch: Option<Box<dyn SendWatch>>) -> Sending<'c> {
        Sending::new(self.stream, self.slot, self.limits, watch)
    }

    /// Sends an answer that is in memory.
    ///
    /// # Errors
    ///
    /// The client left or is too slow.
    pub async fn send(&self, answer: &[u8]) -> Result<(), SendFailure> {
        self.sending(None).bytes(answer, false).await
    }

    /// From now on the connection ends with a reset, even if this process dies. For a body that ends with
    /// the connection.
    pub fn begin_body_until_close(&self) {
        self.stream.reset_at_close();
    }

    /// The end of the connection is the end of the body.
    pub fn complete_body_until_close(&self) {
        self.stream.close_normally();
    }
}
