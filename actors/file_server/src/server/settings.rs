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
    /// Number of threads that serve connections. A thread waits while a slow disk reads, so there are
    /// more than processors.
    pub threads: usize,
    /// Largest number of further threads, for work that the service does beside connections.
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
