//! What the public links have done.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What the public links have done since they started, and what they do now.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct ShareServerCounters {
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The counters as they are counted.
        #[derive(Debug, Default)]
        pub(super) struct LinkCounts {
            $(pub(super) $name: Count,)*
        }

        impl LinkCounts {
            /// The counters as they stand.
            pub(super) fn so_far(&self) -> ShareServerCounters {
                ShareServerCounters { $($name: self.$name.so_far(),)* }
            }
        }
    };
}

counters! {
    /// Connections open now.
    connections,
    /// Connections that ended before they had spoken TLS, where it is spoken.
    no_tls,
    /// Requests answered, refusals included.
    requests,
    /// Bytes of files and archives sent.
    bytes,
    /// Downloads of files begun, resumed ones included.
    downloads,
    /// Archives begun.
    archives,
    /// Downloads cut by a hard revoke, or at the deadline where that is configured.
    cut,
    /// Downloads whose client took too little.
    too_slow,
    /// Answers that broke off because a file could not be read or was changed, or a directory in an
    /// archive.
    broken_off,
    /// Requests for links that do not exist.
    unknown,
    /// Requests for links that have ended.
    ended,
    /// Passwords that were wrong.
    wrong_passwords,
    /// Requests told to slow down.
    throttled,
    /// Connections refused because too many were open.
    refused_busy,
}

/// One of them.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    /// One more.
    pub(super) fn one(&self) {
        self.add(1);
    }

    /// So many more.
    pub(super) fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// One less.
    pub(super) fn one_less(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many.
    pub(super) fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
