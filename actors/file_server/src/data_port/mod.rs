//! The data port of a worker: masters and copies over HTTP/1.1, read-only. Without TLS the bytes are sent by the
//! kernel's `sendfile`.

mod backends;
mod counters;
#[cfg(test)]
mod data_port_tests;
mod file_answer;
mod routes;
mod service;

pub use backends::{CopyDirectory, FileHashes, Hashed, SendProgress};
pub use counters::DataPortCounters;
pub use routes::{DataPortRoutes, is_hash_path, master_path};

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::token::SharedToken;
use reelyard_core::traffic::ByteCount;

use crate::certificate::Certificate;
use crate::connection::limiter::ConnectionLimits;
use crate::connection::sending::SendLimits;
use crate::http::request_head::HostRule;
use crate::server::{FileServer, FileServerSettings, ServerLifetime, ServerThreads};
use counters::DataPortCounts;
use service::DataPortService;

/// A connection whose client takes nothing for this long loses its slot if all are taken.
const SLOW_READER: Duration = Duration::from_secs(5);

/// How many clients a data port serves, and how slow they may be.
#[derive(Clone, Debug)]
pub struct DataPortLimits {
    /// Connections served at once; one more is answered 503. One peer gets at most half of them.
    pub connections: usize,
    /// How long a client may take for a request, or between two.
    pub request_timeout: Duration,
    /// How long a client may take no byte of an answer.
    pub send_timeout: Duration,
    /// Slowest accepted rate of a client in bytes per second, averaged over `send_timeout`.
    pub minimum_rate: u64,
}

impl Default for DataPortLimits {
    fn default() -> Self {
        DataPortLimits {
            connections: 64,
            request_timeout: Duration::from_secs(20),
            send_timeout: Duration::from_secs(60),
            minimum_rate: 256,
        }
    }
}

impl DataPortLimits {
    fn server_settings(&self) -> FileServerSettings {
        FileServerSettings {
            name: "data-port",
            threads: ServerThreads::PerConnection,
            // For the wait for a hash.
            blocking_threads: 1,
            connections: ConnectionLimits {
                connections: self.connections,
                per_client: self.connections.div_ceil(2).max(2),
                slow_reader: Some(SLOW_READER),
            },
            request_timeout: self.request_timeout,
            send: SendLimits { send_timeout: self.send_timeout, minimum_rate: self.minimum_rate },
            hosts: HostRule::Any,
        }
    }
}

/// A running data port.
pub struct DataPort {
    addr: SocketAddr,
    counts: Arc<DataPortCounts>,
    hashes: Arc<dyn FileHashes>,
    /// None once it is stopped.
    server: Option<FileServer>,
}

/// Reads the counters of a data port, also after it has stopped. Cheap to clone.
#[derive(Clone)]
pub struct DataPortMeter(Arc<DataPortCounts>);

impl DataPortMeter {
    /// The counters since the start.
    pub fn counters(&self) -> DataPortCounters {
        self.0.so_far()
    }
}

impl DataPort {
    /// Listens at `addr` and serves the files of `routes`. With a `token`, only clients with a ticket that
    /// was signed with it are served. A new `certificate` counts for new connections; without one, there is no TLS.
    ///
    /// # Errors
    ///
    /// The address cannot be bound, or no thread can be started.
    pub fn start(
        addr: SocketAddr,
        routes: DataPortRoutes,
        hashes: impl FileHashes + 'static,
        token: impl Into<LiveSetting<Option<SharedToken>>>,
        certificate: impl Into<LiveSetting<Option<Certificate>>>,
        clock: Clock,
        limits: DataPortLimits,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(addr)?;
        let counts = Arc::<DataPortCounts>::default();
        let hashes: Arc<dyn FileHashes> = Arc::new(hashes);
        let service = Arc::new(DataPortService {
            routes,
            hashes: Arc::clone(&hashes),
            token: token.into(),
            certificate: certificate.into(),
            clock,
            counts: Arc::clone(&counts),
        });
        let (settings, connections) = (limits.server_settings(), Arc::clone(&counts.connections));
        let lifetime = ServerLifetime::default();
        let server = FileServer::start(listener, settings, service, connections, lifetime)?;
        Ok(DataPort { addr: server.addr(), counts, hashes, server: Some(server) })
    }

    /// The address of the listener.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The counters since the start.
    pub fn counters(&self) -> DataPortCounters {
        self.counts.so_far()
    }

    /// Counts the bytes of files sent.
    pub fn sent(&self) -> ByteCount {
        self.counts.bytes.clone()
    }

    /// A handle to read the counters of this data port.
    pub fn meter(&self) -> DataPortMeter {
        DataPortMeter(Arc::clone(&self.counts))
    }

    /// Stops hashing and listening, aborts every connection, and blocks until all threads have ended.
    pub fn stop(&mut self) {
        if let Some(server) = self.server.take() {
            // First, because threads of connections wait for hashes.
            self.hashes.stop();
            server.stop_blocking();
        }
    }
}

impl Drop for DataPort {
    fn drop(&mut self) {
        self.stop();
    }
}
