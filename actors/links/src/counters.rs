//! Counters of the public links.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of the public links since their start, and their open connections.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct ShareServerCounters {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The live counters.
        #[derive(Debug, Default)]
        pub(super) struct LinkCounts {
            $(pub(super) $name: Count,)*
        }

        impl LinkCounts {
            /// Reads all counters.
            pub(super) fn so_far(&self) -> ShareServerCounters {
                ShareServerCounters { $($name: self.$name.so_far(),)* }
            }
        }
    };
}

counters! {
    /// Open connections.
    connections,
    /// Connections that ended before the TLS handshake, if TLS is configured.
    no_tls,
    /// Answered requests, refusals included.
    requests,
    /// Sent bytes of files and archives.
    bytes,
    /// Started downloads of files, resumed ones included.
    downloads,
    /// Started archives.
    archives,
    /// Downloads that were cut by a hard revoke, or at the deadline if that is configured.
    cut,
    /// Downloads that ended because the client read too slowly.
    too_slow,
    /// Answers that failed because a file was unreadable or changed, or a directory of an archive
    /// did.
    broken_off,
    /// Requests for unknown links.
    unknown,
    /// Requests for ended links.
    ended,
    /// Wrong passwords.
    wrong_passwords,
    /// Throttled requests.
    throttled,
    /// Connections that were refused because too many were open.
    refused_busy,
}

/// A counter; also used for gauges, so it can go down.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    /// Adds one.
    pub(super) fn one(&self) {
        self.add(1);
    }

    /// Adds `more`.
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Subtracts one.
    pub(super) fn one_less(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// The current value.
    pub(super) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
