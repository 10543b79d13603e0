//! Counters of connections.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counters of the connections of a server.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    /// Open connections.
    pub connections: Count,
    /// Connections that ended before the TLS handshake, if TLS is configured.
    pub no_tls: Count,
    /// Connections that were refused because too many were open.
    pub refused_busy: Count,
}

/// A counter; also used for gauges, so it can go down.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds one.
    pub fn one(&self) {
        self.add(1);
    }

    /// Adds `more`.
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Subtracts one.
    pub fn one_less(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// The current value.
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
