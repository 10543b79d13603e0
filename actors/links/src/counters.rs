//! Counters of the public links.

use std::sync::Arc;

use reelyard_file_server::server::{ConnectionCounts, Count};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of the public links since their start, and their open connections.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct ShareServerCounters {
            /// Open connections.
            pub connections: u64,
            /// Connections that ended before the TLS handshake, if TLS is configured.
            pub no_tls: u64,
            /// Connections that were refused because too many were open.
            pub refused_busy: u64,
            $($(#[$doc])* pub $name: u64,)*
        }

        /// The live counters.
        #[derive(Debug, Default)]
        pub(crate) struct LinkCounts {
            /// Counters of the server below.
            pub(crate) connections: Arc<ConnectionCounts>,
            $(pub(crate) $name: Count,)*
        }

        impl LinkCounts {
            /// Reads all counters.
            pub(crate) fn so_far(&self) -> ShareServerCounters {
                let ConnectionCounts { connections, no_tls, refused_busy } = &*self.connections;
                ShareServerCounters {
                    connections: connections.so_far(),
                    no_tls: no_tls.so_far(),
                    refused_busy: refused_busy.so_far(),
                    $($name: self.$name.so_far(),)*
                }
            }
        }
    };
}

counters! {
    /// Answered requests, refusals included.
    requests,
    /// Sent bytes of files and archives.
    bytes,
    /// Started downloads of files, resumed ones included.
    downloads,
    /// Files and directories that another node was found to have, because their root is away here.
    passed,
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
    /// Requests with a wrong password.
    wrong_passwords,
    /// Throttled requests.
    throttled,
}
