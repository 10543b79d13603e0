//! The data port of a worker: masters and copies over HTTP/1.1, read-only, the bytes by the
//! kernel's `sendfile`. One thread per connection, a bounded number of connections.
//!
//! Our own because it is what Reelyard is for: the general servers copy file bodies through user
//! space.

mod backends;
mod connection;
mod connection_limiter;
mod request;
mod routes;

pub use backends::{CopyDirectory, FileHashes, Hashed, SendProgress};
pub use routes::{DataPortRoutes, master_path};

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::token::SharedToken;
use reelyard_core::traffic::ByteCount;
use serde::{Deserialize, Serialize};

use connection_limiter::DataPortConnectionLimiter;

/// The limits of a data port.
#[derive(Clone, Debug)]
pub struct DataPortLimits {
    /// Connections served at once; one more is answered 503.
    pub connections: usize,
    /// How long a client may take for a request, or between two.
    pub request_timeout: Duration,
    /// How long a client may take no byte of an answer.
    pub send_timeout: Duration,
    /// The least pace of a client in bytes per second. A client that is slower for longer than
    /// `send_timeout` can lose its place to others.
    pub least_pace: u64,
}

impl Default for DataPortLimits {
    fn default() -> Self {
        DataPortLimits {
            connections: 64,
            request_timeout: Duration::from_secs(20),
            send_timeout: Duration::from_secs(60),
            least_pace: 256,
        }
    }
}

/// The counters of a data port since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPortCounters {
    /// Connections open now.
    pub connections: u64,
    /// Requests answered, refusals included.
    pub requests: u64,
    /// Bytes of files sent.
    pub bytes: u64,
    /// Connections refused because too many were open.
    pub refused_busy: u64,
    /// Requests refused for want of a good ticket.
    pub refused_ticket: u64,
}

/// A running data port.
pub struct DataPort {
    addr: SocketAddr,
    shared: Arc<DataPortShared>,
    listener: Option<std::thread::JoinHandle<()>>,
}

/// Reads the counters of a data port, also after it has stopped. Cheap to clone.
#[derive(Clone)]
pub struct DataPortMeter(Arc<DataPortShared>);

impl DataPortMeter {
    /// The counters since the start.
    pub fn counters(&self) -> DataPortCounters {
        self.0.counters()
    }
}

/// What all connections share.
struct DataPortShared {
    routes: DataPortRoutes,
    hashes: Arc<dyn FileHashes>,
    /// None: no token, no tickets.
    token: LiveSetting<Option<SharedToken>>,
    clock: Clock,
    limits: DataPortLimits,
    stopping: AtomicBool,
    connections: DataPortConnectionLimiter,
    requests: AtomicU64,
    bytes: ByteCount,
    refused_busy: AtomicU64,
    refused_ticket: AtomicU64,
}

impl DataPortShared {
    fn counters(&self) -> DataPortCounters {
        DataPortCounters {
            connections: self.connections.count() as u64,
            requests: self.requests.load(Ordering::Relaxed),
            bytes: self.bytes.so_far(),
            refused_busy: self.refused_busy.load(Ordering::Relaxed),
            refused_ticket: self.refused_ticket.load(Ordering::Relaxed),
        }
    }
}

impl DataPort {
    /// Listens at `addr` and serves what is on `routes`. With a `token`, only clients with a ticket that
    /// was signed with it are served.
    pub fn start(
        addr: SocketAddr,
        routes: DataPortRoutes,
        hashes: impl FileHashes + 'static,
        token: impl Into<LiveSetting<Option<SharedToken>>>,
        clock: Clock,
        limits: DataPortLimits,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(addr)?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(DataPortShared {
            routes,
            hashes: Arc::new(hashes),
            token: token.into(),
            clock,
            limits,
            stopping: AtomicBool::new(false),
            connections: DataPortConnectionLimiter::default(),
            requests: AtomicU64::new(0),
            bytes: ByteCount::default(),
            refused_busy: AtomicU64::new(0),
            refused_ticket: AtomicU64::new(0),
        });
        let of_thread = Arc::clone(&shared);
        let listener = std::thread::Builder::new()
            .name("data-port".into())
            .spawn(move || accept_all(&listener, &of_thread))?;
        Ok(DataPort { addr, shared, listener: Some(listener) })
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The counters since the start.
    pub fn counters(&self) -> DataPortCounters {
        self.shared.counters()
    }

    /// Counts the bytes of files sent.
    pub fn sent(&self) -> ByteCount {
        self.shared.bytes.clone()
    }

    /// A handle to read the counters of this data port.
    pub fn meter(&self) -> DataPortMeter {
        DataPortMeter(Arc::clone(&self.shared))
    }

    /// Stops listening, breaks off every connection, and returns when their threads are done.
    pub fn stop(&mut self) {
        let Some(listener) = self.listener.take() else { return };
        self.shared.stopping.store(true, Ordering::SeqCst);
        // `accept` has no other way to be woken: a connection of our own.
        let _ = TcpStream::connect_timeout(&reachable(self.addr), Duration::from_secs(1));
        let _ = listener.join();
        self.shared.connections.clear();
    }
}

impl Drop for DataPort {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Where a socket bound to `addr` is reached from this machine.
fn reachable(addr: SocketAddr) -> SocketAddr {
    let ip = match addr.ip() {
        std::net::IpAddr::V4(ip) if ip.is_unspecified() => std::net::Ipv4Addr::LOCALHOST.into(),
        std::net::IpAddr::V6(ip) if ip.is_unspecified() => std::net::Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, addr.port())
}

fn accept_all(listener: &TcpListener, shared: &Arc<DataPortShared>) {
    for number in 0.. {
        let accepted = listener.accept();
        if shared.stopping.load(Ordering::SeqCst) {
            return;
        }
        match accepted {
            Ok((stream, peer)) => admit(stream, peer, number, shared),
            Err(error) => {
                // No free file descriptor, or a client that has gone: both pass.
                reelyard_core::open_files::are_exhausted(&error);
                tracing::warn!(%error, "the data port cannot accept a connection");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

fn admit(stream: TcpStream, peer: SocketAddr, number: u64, shared: &Arc<DataPortShared>) {
    let handle = match stream.try_clone() {
        Ok(handle) => handle,
        Err(error) => return tracing::warn!(%error, "the data port refuses a connection"),
    };
    let Some(place) = shared.connections.take(number, shared.limits.connections, peer.ip(), handle)
    else {
        shared.refused_busy.fetch_add(1, Ordering::Relaxed);
        return refuse_busy(stream);
    };
    let of_thread = Arc::clone(shared);
    let begun = std::thread::Builder::new().name("data-conn".into()).spawn(move || {
        connection::serve(stream, &place, &of_thread);
    });
    if let Err(error) = begun {
        tracing::warn!(%error, "the data port cannot start a thread");
    }
}

fn refuse_busy(mut stream: TcpStream) {
    const ANSWER: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
        Content-Type: text/plain\r\nContent-Length: 36\r\nConnection: close\r\n\r\n\
        too many connections, retry shortly\n";
    let _ = stream.set_write_timeout(Some(Duration::from_millis(100)));
    // A client that does not take even this learns it from the closed connection.
    let _ = stream.write_all(ANSWER);
    let _ = stream.shutdown(Shutdown::Write);
}
