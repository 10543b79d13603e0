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

    /// Adds one until the guard is dropped, also by a panic.
    pub fn one_until_dropped(&self) -> CountGuard<'_> {
        self.one();
        CountGuard(self)
    }

    /// The current value.
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One unit of a gauge.
#[must_use]
#[derive(Debug)]
pub struct CountGuard<'a>(&'a Count);

impl Drop for CountGuard<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
