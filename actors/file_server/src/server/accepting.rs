//! Accepts connections within the limits.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use super::lifetime::ServerGuard;
use super::service::FileService;
use super::serving::{self, ServingShared};
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

/// Accepts connections until the server stops. A retiring server accepts none, and returns when it has no
/// connection left.
pub(super) async fn accept_all<S: FileService>(
    listener: TcpListener,
    shared: Arc<ServingShared<S>>,
    mut guard: ServerGuard,
    mut retiring: watch::Receiver<bool>,
) {
    let limiter = ConnectionLimiter::new(shared.settings.connections);
    let refusals = Arc::new(Semaphore::new(MAX_LINGERING_CLOSES));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = guard.stopped() => return,
            _ = retiring.wait_for(|retiring| *retiring) => break,
        };
        match accepted {
            Ok((stream, peer)) => admit(stream, peer, &limiter, &refusals, &shared, &guard),
            Err(error) => {
                // No free file descriptor, or the client is already gone. Both pass.
                reelyard_core::open_files::are_exhausted(&error);
                tracing::warn!(server = shared.settings.name, %error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
    drop(listener);
    while !limiter.is_free() {
        limiter.evict_idle();
        tokio::select! {
            () = tokio::time::sleep(RETIRE_EVERY) => {}
            () = guard.stopped() => return,
        }
    }
}

/// Serves a new connection, or refuses it if all slots are in use.
fn admit<S: FileService>(
    stream: TcpStream,
    peer: SocketAddr,
    limiter: &ConnectionLimiter,
    refusals: &Arc<Semaphore>,
    shared: &Arc<ServingShared<S>>,
    guard: &ServerGuard,
) {
    let client = shared.service.limited_client(peer.ip().to_canonical());
    match limiter.take(peer, client) {
        Some(slot) => {
            tokio::spawn(run(stream, slot, Arc::clone(shared), guard.clone()));
        }
        None => {
            shared.counts.refused_busy.one();
            refuse(stream, shared, refusals);
        }
    }
}

/// Runs a connection until it ends, loses its slot, or the server stops.
async fn run<S: FileService>(
    stream: TcpStream,
    slot: ConnectionSlot,
    shared: Arc<ServingShared<S>>,
    mut guard: ServerGuard,
) {
    let (counts, evicted) = (Arc::clone(&shared.counts), slot.evicted());
    counts.connections.one();
    tokio::select! {
        () = serving::run(stream, slot, shared) => {}
        () = evicted => {}
        () = guard.stopped() => {}
    }
    counts.connections.one_less();
}

fn refuse<S: FileService>(stream: TcpStream, shared: &ServingShared<S>, refusals: &Arc<Semaphore>) {
    if shared.service.certificate().is_some() {
        // A TLS handshake needs more time than a refused client gets.
        return;
    }
    lingering_close::refuse_busy(&stream);
    if let Ok(turn) = Arc::clone(refusals).try_acquire_owned() {
        tokio::spawn(async move {
            lingering_close::close(&ClientStream::plain(stream)).await;
            drop(turn);
        });
    }
}
