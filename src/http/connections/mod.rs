//! HTTP servers of nodes and workers, with limits for connections.
//!
//! actix limits the time for the head of a request and for an idle connection. This module limits
//! the number of connections, in total and per address. It also limits the time for the body of a
//! request, and the pace at which an answer is read. A long poll or a stream of events may last as
//! long as its client reads.

mod activity_tracking;
mod client_stream;
mod connection_activity;
mod connection_limiter;
mod guarded_stream;
mod spares;
mod tls_handshake;

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_http::error::DispatchError;
use actix_http::{Extensions, HttpService, Request, Response};
use actix_service::{
    IntoServiceFactory, Service, ServiceFactory, ServiceFactoryExt, fn_service, map_config,
};
use actix_web::body::MessageBody;
use actix_web::dev::{AppConfig, Server, ServerHandle};
use actix_web::rt::net::TcpStream;
use rustix::net::SendFlags;
use rustix::net::sockopt::set_tcp_user_timeout;

pub use activity_tracking::track_activity;
use client_stream::HttpClientStream;
pub use connection_activity::HttpLimits;
pub use connection_limiter::HttpConnectionLimiter;
use guarded_stream::GuardedStream;
use reelyard_file_server::certificate::Certificate;
use tokio::sync::{mpsc, watch};

use super::forwarding::{self, ForwardedBy};
use crate::node::ForwardedStream;

/// Interval of the check for overdue connections.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Shortest interval between two log lines about ended or refused connections.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// Threads and time limits of an HTTP server.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Threads that serve requests. None: one per processor.
    pub threads: Option<usize>,
    /// Time limit for the head of a request.
    pub head_time: Duration,
    /// Timeout of an idle connection.
    pub keep_alive: Duration,
    /// Longest wait for running answers when the server stops, in seconds.
    pub stop_patience_seconds: u64,
}

/// Serves `app` on `listener` until the handle is stopped. The app is wrapped in
/// [`track_activity`]. Needs an actix system.
///
/// # Errors
///
/// The listener cannot be used.
pub fn serve<F, I, S, B>(
    listener: TcpListener,
    settings: &ServerSettings,
    limiter: &HttpConnectionLimiter,
    certificate: CertificateSource,
    app: F,
) -> std::io::Result<ServerHandle>
where
    F: Fn() -> I + Send + Clone + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let mut server =
        Server::build().disable_signals().shutdown_timeout(settings.stop_patience_seconds);
    if let Some(threads) = settings.threads {
        server = server.workers(threads);
    }
    let stops = server.graceful_shutdown_signal();
    let (of_server, admitting) = (settings.clone(), limiter.clone());
    let server = server.listen("http", listener, move || {
        let stops = stops.clone();
        let service = HttpService::build()
            .graceful_shutdown_signal(move || {
                let stops = stops.clone();
                async move { stops.notified().await }
            })
            .keep_alive(of_server.keep_alive)
            .client_request_timeout(of_server.head_time)
            // Needed to notice a client that left.
            .h1_allow_half_closed(false)
            .on_connect_ext(remember_connection);
        let app = app().into_factory().map_err(|error| error.into().error_response());
        let service = service.h1(map_config(app, |()| AppConfig::default()));
        let (limiter, certificate) = (admitting.clone(), certificate.clone());
        let patience = of_server.head_time;
        fn_service(move |stream: TcpStream| {
            let admitted = admit(stream, &limiter);
            let certificate = certificate();
            async move {
                let (stream, peer) = admitted?;
                let stream = match certificate {
                    None => HttpClientStream::Plain(stream),
                    Some(certificate) => {
                        tls_handshake::accept(stream, &certificate, patience).await?
                    }
                };
                Ok::<_, DispatchError>((stream, Some(peer)))
            }
        })
        .and_then(service)
    })?;
    let server = server.run();
    let handle = server.handle();
    actix_rt::spawn(server);
    actix_rt::spawn(end_overdue_connections(limiter.clone()));
    Ok(handle)
}

/// Serves `app` on streams of other nodes, on a thread of its own, until the process ends. Answers the number of open
/// streams.
pub fn serve_forwarded<F, I, S, B>(
    mut streams: mpsc::Receiver<ForwardedStream>,
    app: F,
) -> watch::Receiver<usize>
where
    F: Fn() -> I + Send + 'static,
    I: IntoServiceFactory<S, Request>,
    S: ServiceFactory<Request, Config = AppConfig> + 'static,
    S::Error: Into<actix_web::Error> + 'static,
    S::InitError: fmt::Debug,
    S::Response: Into<Response<B>> + 'static,
    <S::Service as Service<Request>>::Future: 'static,
    S::Service: 'static,
    B: MessageBody + 'static,
{
    let open = Arc::new(watch::Sender::new(0));
    let shown = open.subscribe();
    actix_rt::Arbiter::new().spawn_fn(move || {
        drop(actix_rt::spawn(async move {
            // A service wakes its thread twice a second. A node alone never needs it.
            let Some(mut forwarded) = streams.recv().await else { return };
            let service = HttpService::build()
                // Needed to notice a client that left.
                .h1_allow_half_closed(false)
                .on_connect_ext(remember_connection);
            let app = app().into_factory().map_err(|error| error.into().error_response());
            let service = service.h1(map_config(app, |()| AppConfig::default()));
            let service = match service.new_service(()).await {
                Ok(service) => Rc::new(service),
                Err(error) => return tracing::error!(?error, "forwarded requests are not served"),
            };
            loop {
                let (from, service) = (forwarded.from, Rc::clone(&service));
                let open = Arc::clone(&open);
                open.send_modify(|open: &mut usize| *open += 1);
                actix_rt::spawn(async move {
                    match forwarding::accept(forwarded).await {
                        Ok((stream, client)) => {
                            let stream = HttpClientStream::Forwarded { stream, from };
                            // The node at the other end answers its client.
                            let _ = service.call((stream, Some(client))).await;
                        }
                        Err(error) => {
                            tracing::debug!(from, %error, "a forwarded stream ended early")
                        }
                    }
                    open.send_modify(|open| *open -= 1);
                });
                let Some(next) = streams.recv().await else { return };
                forwarded = next;
            }
        }))
    });
    shown
}

/// Keeps what handlers need to know of a connection.
fn remember_connection(stream: &HttpClientStream, of_it: &mut Extensions) {
    if let Some(slot) = stream.slot() {
        of_it.insert(slot.connection().clone());
    }
    if let HttpClientStream::Forwarded { from, .. } = stream {
        of_it.insert(ForwardedBy(*from));
    }
}

/// The certificate for a new connection, which a reload may change. None without TLS.
pub type CertificateSource = Arc<dyn Fn() -> Option<Certificate> + Send + Sync>;

/// Takes a slot for a connection, or refuses it with a text.
fn admit(
    stream: TcpStream,
    limiter: &HttpConnectionLimiter,
) -> Result<(GuardedStream, SocketAddr), DispatchError> {
    const BUSY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\
        Content-Type: text/plain\r\nContent-Length: 36\r\nConnection: close\r\n\r\n\
        too many connections, retry shortly\n";
    let peer = stream.peer_addr()?;
    let Some(slot) = limiter.acquire(peer.ip()) else {
        // The stream is not registered yet, so this writes to the socket directly. If it fails, the
        // client only sees the close.
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let _ = rustix::net::send(&stream, BUSY, flags);
        return Err(DispatchError::Io(std::io::ErrorKind::ResourceBusy.into()));
    };
    // Also discards data that the kernel still holds for a client that does not read.
    let stall = u32::try_from(limiter.limits().stall.as_millis()).unwrap_or(u32::MAX);
    if let Err(error) = set_tcp_user_timeout(&stream, stall) {
        tracing::debug!(%error, "cannot set the send timeout of a connection");
    }
    Ok((GuardedStream::new(stream, slot), peer))
}

/// Ends overdue connections while the server exists.
async fn end_overdue_connections(limiter: HttpConnectionLimiter) {
    let (mut logged, mut before) = (Instant::now(), (0, 0));
    while limiter.is_in_use() {
        limiter.end_overdue(Instant::now());
        let so_far = limiter.ended_and_refused();
        if so_far != before && (before == (0, 0) || logged.elapsed() >= LOG_EVERY) {
            let ((ended, refused), limits) = (so_far, limiter.limits());
            tracing::warn!(
                ended,
                refused,
                most = limits.connections,
                per_address = limits.per_address,
                "ended slow connections, or refused connections over the limit"
            );
            (logged, before) = (Instant::now(), so_far);
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
