//! The HTTP of a worker, on the address that is its identity: cfw's wire (spec 2.2), and what
//! Reelyard's nodes ask besides.

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
use reelyard_worker::downloader::base_dir::BaseDir;
use reelyard_worker::downloader::epoch_guard::EpochGuard;
use reelyard_worker::downloader::external::ExternalProgram;
use reelyard_worker::downloader::inventory::InventoryService;
use reelyard_worker::downloader::node_link::NodeLinkView;
use reelyard_worker::downloader::seen_managers::SeenManagersHandle;
use reelyard_worker::traffic::gauge::LinkGauge;

use super::connections::{self, HttpConnectionLimiter, HttpLimits, ServerSettings};
pub use super::metrics::WorkerFigures;

/// How long a client may take to send the head of a request, as in cfw (spec 2).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an idle connection is kept. Longer than cfw's five seconds, so that a node that asks
/// every few seconds asks on one connection (spec D31).
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// How long stopping waits for answers under way.
const STOP_PATIENCE_SECONDS: u64 = 5;

/// How long a client may take for the body of a request.
const BODY_TIME: Duration = Duration::from_secs(30);

/// How long a client may take nothing of an answer, or less than [`LEAST_PACE`].
const STALL: Duration = Duration::from_secs(20);

/// What a client must take of an answer at least, in bytes per second.
const LEAST_PACE: u64 = 4 << 10;

/// Connections at once. Nodes, monitoring and people are few.
const CONNECTIONS: usize = 1024;

/// Connections at once from one address: a node holds one for each hook of a box that runs.
const CONNECTIONS_PER_ADDRESS: usize = 512;

/// The part of all file descriptors that these connections may take; the rest is in reserve for
/// copies.
const DESCRIPTORS_PERCENT: u64 = 40;

/// What the HTTP of one worker works with.
pub struct WorkerHttp {
    /// Where the copies are; none for a worker that is only a source.
    pub base: Option<Arc<BaseDir>>,
    /// What they are, whole or as what changed; none for a worker that is only a source.
    pub inventory: Option<Arc<InventoryService>>,
    /// Refuses deletions that a deposed leader decided.
    pub epochs: EpochGuard,
    /// With a token, `DELETE`, `/info`, `/inventory` and `/boxes` need it, or a signature made with it.
    /// What cfw tells everybody (`/hb`, `/files`, `/df`) stays open, because an old cfm must be able
    /// to read it.
    pub token: LiveSetting<Option<SharedToken>>,
    /// Admits signed calls.
    pub gate: SignedCallVerifier,
    /// Who had to do with this worker lately.
    pub managers: SeenManagersHandle,
    /// The boxes that this worker hosts.
    pub boxes: HostedBoxes,
    /// What time it is.
    pub clock: Clock,
    /// Measures what the link carries.
    pub link: LinkGauge,
    /// What fetches from old cfws, if anything does.
    pub external: LiveSetting<Option<ExternalProgram>>,
    /// The directories of the masters.
    pub source_dirs: Vec<PathBuf>,
    /// The line to the node; none for a worker that asks none.
    pub node: Option<Arc<ArcSwap<NodeLinkView>>>,
    /// The answer of `/info`, but for what changes while the worker runs.
    pub info: WorkerInfo,
    /// What `/metrics` tells.
    pub figures: WorkerFigures,
    /// Names that the last `/files` had to leave out because they hold a line feed.
    pub unlistable_names: AtomicU64,
}

impl WorkerHttp {
    /// How many names the last `/files` had to leave out.
    pub fn unlistable_names(&self) -> u64 {
        self.unlistable_names.load(Ordering::Relaxed)
    }
}

/// Serves `http` on `addr` until the handle is told to stop. Needs an actix system.
pub fn start(addr: SocketAddr, http: Arc<WorkerHttp>) -> std::io::Result<ServerHandle> {
    let data = web::Data::from(http);
    // One service for everything: actix' own routing decodes paths, and a name must be decoded
    // exactly once.
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
