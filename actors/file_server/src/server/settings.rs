//! Settings of a file server.

use std::time::Duration;

use crate::connection::limiter::ConnectionLimits;
use crate::connection::sending::SendLimits;
use crate::http::request_head::HostRule;

/// Threads, limits and rules of one server.
#[derive(Clone, Copy, Debug)]
pub struct FileServerSettings {
    /// Name in logs, and of its threads.
    pub name: &'static str,
    /// Threads that serve the connections.
    pub threads: ServerThreads,
    /// Largest number of further threads of each runtime, for work of the service outside of
    /// connections.
    pub blocking_threads: usize,
    /// Limits of the connections.
    pub connections: ConnectionLimits,
    /// Time limit for a request, for the wait between two, and for a TLS handshake.
    pub request_timeout: Duration,
    /// How slowly a client may take an answer.
    pub send: SendLimits,
    /// The rule for `Host` headers of requests.
    pub hosts: HostRule,
}

/// The threads that serve the connections of one server. A thread waits while a slow disk reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerThreads {
    /// Each connection has its own thread, with its own poller. So a slow disk stalls no other
    /// connection, and requests on several connections wake several threads at once. Costs three more
    /// file descriptors for each connection.
    PerConnection,
    /// This many for all connections. A slow disk stalls the others only when it blocks all threads.
    Shared(usize),
}
