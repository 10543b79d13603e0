//! The HTTP server of a worker, and its limits.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, middleware, web};
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::open_files;
use reelyard_file_server::certificate::Certificate;

use super::answers;
use super::state::WorkerHttp;
use crate::http::connections::{self, HttpConnectionLimiter, HttpLimits, ServerSettings};

/// Time limit for the head of a request, as in cfw.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout of an idle connection. It is longer than cfw's five seconds, so that a node that calls
/// every few seconds reuses its connection.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// Longest wait for running answers when the server stops, in seconds.
const STOP_PATIENCE_SECONDS: u64 = 5;

/// Time limit for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Time limit for a client that takes nothing of an answer, or less than [`LEAST_PACE`].
const STALL: Duration = Duration::from_secs(20);

/// Slowest accepted pace of a client that reads an answer, in bytes per second.
const LEAST_PACE: u64 = 4 << 10;

/// Largest number of connections. Nodes, monitoring and people are few.
const CONNECTIONS: usize = 1024;

/// Largest number of connections from one address: a node holds one for each running hook of a box.
const CONNECTIONS_PER_ADDRESS: usize = 512;

/// Percentage of all file descriptors for these connections; the rest is a reserve for copies.
const DESCRIPTORS_PERCENT: u64 = 40;

/// Serves `http` on `addr` until the handle is stopped. A new `certificate` counts for new connections; without one,
/// there is no TLS. Needs an actix system.
pub fn start(
    addr: SocketAddr,
    certificate: LiveSetting<Option<Certificate>>,
    http: Arc<WorkerHttp>,
) -> std::io::Result<ServerHandle> {
    let data = web::Data::from(http);
    // One service for all paths, because actix' own routing decodes paths, and a name must be
    // decoded exactly once.
    let app = move || {
        App::new()
            .app_data(data.clone())
            .wrap(middleware::from_fn(connections::track_activity))
            .default_service(web::to(answers::answer))
    };
    let settings = ServerSettings {
        threads: Some(2),
        head_time: REQUEST_TIMEOUT,
        keep_alive: KEEP_ALIVE,
        stop_patience_seconds: STOP_PATIENCE_SECONDS,
    };
    let limits = HttpLimits {
        connections: open_files::at_most(CONNECTIONS, DESCRIPTORS_PERCENT),
        per_address: CONNECTIONS_PER_ADDRESS,
        request_time: BODY_TIME,
        stall: STALL,
        least_pace: LEAST_PACE,
    };
    connections::serve(
        TcpListener::bind(addr)?,
        &settings,
        &HttpConnectionLimiter::new(limits),
        Arc::new(move || Option::clone(&certificate.now())),
        app,
    )
}
