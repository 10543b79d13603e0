//! Accepts connections within the limits.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::lifetime::ServerGuard;
use super::service::FileService;
use super::serving::{self, ServingShared};
use super::settings::ServerThreads;
use crate::connection::client_stream::ClientStream;
use crate::connection::limiter::{ConnectionLimiter, ConnectionSlot};
use crate::connection::lingering_close;

/// Largest number of refused clients that get an answer at the same time. Further ones are closed
/// without one.
const MAX_LINGERING_CLOSES: usize = 64;

/// Interval at which a retiring server closes idle connections.
const RETIRE_EVERY: Duration = Duration::from_millis(100);

/// Pause after a failed accept.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// Accepts the connections of one server.
pub(super) struct Acceptor<S> {
    limiter: ConnectionLimiter,
    /// Turns of refused clients.
    refusals: Arc<Semaphore>,
    shared: Arc<ServingShared<S>>,
    guard: ServerGuard,
}

impl<S: FileService> Acceptor<S> {
    /// An acceptor without connections.
    pub(super) fn new(shared: Arc<ServingShared<S>>, guard: ServerGuard) -> Self {
        let limiter = ConnectionLimiter::new(shared.settings.connections);
        let refusals = Arc::new(Semaphore::new(MAX_LINGERING_CLOSES));
        Acceptor { limiter, refusals, shared, guard }
    }

    /// Accepts connections until the server retires. Then it closes the listener, and returns when no
    /// connection is left.
    pub(super) async fn run(mut self, listener: TcpListener) {
        let mut has_failed = false;
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.guard.retired() => break,
            };
            let Err(error) = accepted.and_then(|(stream, peer)| self.admit(stream, peer)) else {
                has_failed = false;
                continue;
            };
            // No free file descriptor, or the client has already left. Both are temporary.
            reelyard_core::open_files::are_exhausted(&error);
            // One line for all failures in a row.
            if !has_failed {
                let server = self.shared.settings.name;
                tracing::warn!(server, %error, "cannot accept a connection");
            }
            has_failed = true;
            tokio::time::sleep(ACCEPT_AGAIN).await;
        }
        drop(listener);
        while !self.limiter.is_free() {
            self.limiter.evict_idle();
            tokio::select! {
                () = tokio::time::sleep(RETIRE_EVERY) => {}
                () = self.guard.stopped() => return,
            }
        }
    }

    /// Serves a new connection, or refuses it if all slots are in use.
    fn admit(&self, stream: TcpStream, peer: SocketAddr) -> io::Result<()> {
        let client = self.shared.service.limited_client(peer.ip().to_canonical());
        let Some(slot) = self.limiter.acquire(peer, client) else {
            self.shared.counts.refused_busy.one();
            self.refuse(stream);
            return Ok(());
        };
        let (shared, guard) = (Arc::clone(&self.shared), self.guard.clone());
        match shared.settings.threads {
            ServerThreads::Shared(_) => {
                tokio::spawn(serve(stream, slot, shared, guard));
                Ok(())
            }
            ServerThreads::PerConnection => {
                serve_on_own_thread(stream.into_std()?, slot, shared, guard)
            }
        }
    }

    fn refuse(&self, stream: TcpStream) {
        if self.shared.service.certificate().is_some() {
            // A TLS handshake needs more time than a refused client gets.
            return;
        }
        lingering_close::refuse_busy(&stream);
        if let Ok(turn) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(async move {
                lingering_close::close(&ClientStream::plain(stream)).await;
                drop(turn);
            });
        }
    }
}

/// Serves a connection on its own thread with its own runtime.
fn serve_on_own_thread<S: FileService>(
    stream: std::net::TcpStream,
    slot: ConnectionSlot,
    shared: Arc<ServingShared<S>>,
    guard: ServerGuard,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(shared.settings.blocking_threads.max(1))
        .thread_name(shared.settings.name)
        .enable_all()
        .build()?;
    let stream = {
        let _in_runtime = runtime.enter();
        TcpStream::from_std(stream)?
    };
    let thread = std::thread::Builder::new().name(shared.settings.name.to_owned());
    thread.spawn(move || {
        // Held until the runtime has ended.
        let _guard = guard.clone();
        runtime.block_on(serve(stream, slot, shared, guard));
        drop(runtime);
    })?;
    Ok(())
}

/// Serves a connection until it ends, loses its slot, or the server stops.
async fn serve<S: FileService>(
    stream: TcpStream,
    slot: ConnectionSlot,
    shared: Arc<ServingShared<S>>,
    mut guard: ServerGuard,
) {
    let (counts, evicted) = (Arc::clone(&shared.counts), slot.evicted());
    let _counted = counts.connections.one_until_dropped();
    tokio::select! {
        () = serving::run(stream, slot, shared) => {}
        () = evicted => {}
        () = guard.stopped() => {}
    }
}
