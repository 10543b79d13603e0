//! The HTTP server of a worker, on the address that is its identity: cfw's wire protocol, and the
//! calls of Reelyard nodes.

mod answers;
mod boxes;
mod readiness;
mod router;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::{App, middleware, web};
use arc_swap::ArcSwap;
use reelyard_core::clock::Clock;
use reelyard_core::live_setting::LiveSetting;
use reelyard_core::open_files;
use reelyard_core::token::SharedToken;
use reelyard_protocol::signed_call::SignedCallVerifier;
use reelyard_protocol::worker::WorkerInfo;
use reelyard_worker::box_host::HostedBoxes;
use reelyard_worker::downloader::disk::base_dir::BaseDir;
use reelyard_worker::downloader::disk::inventory::InventoryService;
use reelyard_worker::downloader::legacy::external_program::ExternalProgram;
use reelyard_worker::downloader::managers::epoch_guard::EpochGuard;
use reelyard_worker::downloader::managers::node_link::NodeLinkView;
use reelyard_worker::downloader::managers::seen_managers::SeenManagersHandle;
use reelyard_worker::traffic::gauge::LinkGauge;

use super::connections::{self, HttpConnectionLimiter, HttpLimits, ServerSettings};
pub use super::metrics::WorkerFigures;

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

/// State of the HTTP handlers of a worker.
pub struct WorkerHttp {
    /// Directory of the copies; none for a worker that is only a source.
    pub base: Option<Arc<BaseDir>>,
    /// Lists of the copies, complete or as changes; none for a worker that is only a source.
    pub inventory: Option<Arc<InventoryService>>,
    /// Refuses deletions that a deposed leader decided.
    pub epochs: EpochGuard,
    /// With a token, `DELETE`, `/info`, `/inventory` and `/boxes` need it, or a signature made with
    /// it. cfw's open calls (`/hb`, `/files`, `/df`) stay open, because an old cfm must be able to
    /// read them.
    pub token: LiveSetting<Option<SharedToken>>,
    /// Verifies signed calls.
    pub gate: SignedCallVerifier,
    /// The managers that called this worker recently.
    pub managers: SeenManagersHandle,
    /// The hosted boxes.
    pub boxes: HostedBoxes,
    /// Clock of the worker; simulated in tests.
    pub clock: Clock,
    /// Measures the load of the link.
    pub link: LinkGauge,
    /// The program that fetches from old cfws, if one is configured.
    pub external: LiveSetting<Option<ExternalProgram>>,
    /// The directories of the masters.
    pub source_dirs: Vec<PathBuf>,
    /// State of the connection to the node; none for a worker without a node.
    pub node: Option<Arc<ArcSwap<NodeLinkView>>>,
    /// The constant part of the answer to `/info`.
    pub info: WorkerInfo,
    /// Sources of `/metrics`.
    pub figures: WorkerFigures,
    /// Number of names that the last `/files` omitted because they contain a line feed.
    pub unlistable_names: AtomicU64,
}

impl WorkerHttp {
    /// Number of names that the last `/files` omitted.
    pub fn unlistable_names(&self) -> u64 {
        self.unlistable_names.load(Ordering::Relaxed)
    }
}

/// Serves `http` on `addr` until the handle is stopped. Needs an actix system.
pub fn start(addr: SocketAddr, http: Arc<WorkerHttp>) -> std::io::Result<ServerHandle> {
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
        app,
    )
}
