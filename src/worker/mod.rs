//! The role of a worker: one process per storage host (in the demo, several in one process). It
//! serves masters, fetches and serves copies, and executes the orders of a node or an old cfm.

mod live_settings;
mod reload;
mod settings;

pub use reload::{LoadedWorkerConfig, WorkerReloader};
pub use settings::{ExternalSettings, WorkerSettings};

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use actix_web::dev::ServerHandle;
use reelyard_core::actor_parts::ViewHandle;
use reelyard_core::clock::Clock;
use reelyard_core::event::Epoch;
use reelyard_core::host::HostAddr;
use reelyard_core::supervision::Supervision;
use reelyard_core::traffic::ByteCount;
use reelyard_file_server::data_port::{CopyDirectory, DataPort, DataPortCounters, DataPortRoutes};
use reelyard_protocol::signed_call::SignedCallVerifier;
use reelyard_protocol::worker::{TaskId, WorkerInfo};
use reelyard_worker::box_host::{BoxHostHandle, BoxHostView, end_left_hooks};
use reelyard_worker::downloader::disk::base_dir::{BaseDir, TEMP_DIR};
use reelyard_worker::downloader::disk::hash_cache::HashCache;
use reelyard_worker::downloader::disk::inventory::InventoryService;
use reelyard_worker::downloader::fetching::fetch::Fetcher;
use reelyard_worker::downloader::fetching::partials::Partials;
use reelyard_worker::downloader::legacy::external_program::end_left_downloads;
use reelyard_worker::downloader::managers::node_link::{NodeLink, NodeLinkSettings, NodeLinkView};
use reelyard_worker::downloader::managers::seen_managers::SeenManagersHandle;
use reelyard_worker::downloader::{DownloaderHandle, DownloaderView};
use reelyard_worker::kept_state::epoch_guard::EpochGuard;
use reelyard_worker::kept_state::state_store::StateStore;
use reelyard_worker::kept_state::state_store_error::StateStoreError;
use reelyard_worker::traffic::gauge::{CopyCounts, LinkGauge, LinkSettings};
use serde::{Deserialize, Serialize};

use crate::http;
use live_settings::LiveWorkerSettings;

/// Why a worker does not start.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The state store cannot be used.
    #[error(transparent)]
    Store(#[from] StateStoreError),
    /// The base directory cannot be used.
    #[error("the base directory cannot be used: {0}")]
    BaseDir(#[source] std::io::Error),
    /// The address cannot be bound.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, #[source] std::io::Error),
    /// The HTTP client for calls to nodes cannot be created.
    #[error("cannot create the HTTP client for calls to nodes: {0}")]
    Client(String),
    /// The process is stopping.
    #[error("the process is stopping")]
    Ending,
}

/// The published state of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerView {
    /// Address by which nodes know the worker.
    pub host: HostAddr,
    /// Address where it serves files.
    pub data_listen: SocketAddr,
    /// Highest epoch that it knows.
    pub epoch: Epoch,
    /// Connection to the node; none without a node.
    pub node: Option<NodeLinkView>,
    /// State of the copies; none for a worker that is only a source.
    pub downloads: Option<DownloaderView>,
    /// Counters of the data port.
    pub data_port: DataPortCounters,
    /// State of the hosted boxes.
    pub boxes: BoxHostView,
    /// Number of names that the last `/files` omitted because they contain a line feed.
    pub unlistable_names: u64,
}

/// A running worker.
pub struct Worker {
    host: HostAddr,
    store: Arc<StateStore>,
    epochs: EpochGuard,
    data_port: DataPort,
    http: Arc<http::worker::WorkerHttp>,
    server: ServerHandle,
    live_settings: LiveWorkerSettings,
    boxes: BoxHostHandle,
    /// The address at which other hosts reach the served files.
    address: IpAddr,
    destination: Option<DestinationParts>,
}

/// Parts that only a destination has.
struct DestinationParts {
    downloads: DownloaderHandle,
    link: Option<NodeLink>,
}

/// State that is opened from the disk before anything runs.
struct OpenedState {
    store: Arc<StateStore>,
    epochs: EpochGuard,
    base: Option<Arc<BaseDir>>,
    /// Interrupted copies in `base`.
    partials: Option<Arc<Partials>>,
    inventory: Option<Arc<InventoryService>>,
    live_settings: LiveWorkerSettings,
    /// Directory of the marker paths of boxes.
    box_marks: PathBuf,
}

/// Name of that directory. It stays empty: a marker path in the environment of a process shows
/// which box the process belongs to.
const BOX_MARKS: &str = "boxes";

impl Worker {
    /// Starts a worker. It serves when this returns, and takes orders from then on. Needs an actix
    /// system.
    pub async fn start(settings: WorkerSettings, clock: Clock) -> Result<Worker, WorkerError> {
        let opening = clock.clone();
        let (settings, opened) = blocking(move || open(settings, opening)).await??;
        let OpenedState { store, epochs, base, partials, inventory, live_settings, box_marks } =
            opened;
        let hashes = HashCache::new(Arc::clone(&store), clock.clone());
        let data_port = start_data_port(&settings, &base, hashes, &live_settings, &clock)?;
        let managers = SeenManagersHandle::default();
        let line = ViewHandle::default();
        let received = ByteCount::default();
        let copies = CopyCounts { sent: data_port.sent(), received: received.clone() };
        let link = LinkGauge::start(settings.link.clone(), copies);
        let mut destination = base.clone().zip(partials).map(|(base, partials)| {
            let fetcher = make_fetcher(&settings, base, partials, &live_settings, received, &clock);
            make_destination(&settings, fetcher, &store, &clock)
        });
        let (of_boxes, of_hooks) = (settings.boxes.clone(), epochs.clone());
        let boxes = BoxHostHandle::start(of_boxes, of_hooks, Arc::clone(&store), box_marks)?;
        let figures = http::worker::WorkerFigures {
            started: clock.now(),
            boxes: boxes.clone(),
            data_port: data_port.meter(),
            downloads: destination.as_ref().map(|destination| destination.downloads.clone()),
        };
        let http = Arc::new(http::worker::WorkerHttp {
            base,
            inventory,
            epochs: epochs.clone(),
            token: live_settings.token.clone(),
            gate: SignedCallVerifier::default(),
            external: live_settings.external.clone(),
            managers: managers.clone(),
            boxes: boxes.clone(),
            clock: clock.clone(),
            source_dirs: settings.source_dirs.clone(),
            node: settings
                .base_dir
                .is_some()
                .then(|| line.clone())
                .filter(|_| !settings.nodes.is_empty()),
            data_certificate: live_settings.data_certificate.clone(),
            info: info(&settings, data_port.addr()),
            figures,
            link,
            unlistable_names: AtomicU64::new(0),
        });
        let listen = settings.listen.socket();
        let certificate = live_settings.certificate.clone();
        let server = http::worker::start(listen, certificate, Arc::clone(&http))
            .map_err(|error| WorkerError::Listen(listen, error))?;
        // Last, because the node may request `/info` right after an order.
        if let Some(destination) = &mut destination
            && let Err(error) = destination.connect(
                &settings,
                &live_settings,
                (&epochs, &store),
                (managers, line),
                clock,
            )
        {
            server.stop(false).await;
            return Err(error);
        }
        let (host, address) = (settings.listen, settings.link.address);
        tracing::info!(%host, data_listen = %data_port.addr(), "worker started");
        Ok(Worker {
            host,
            store,
            epochs,
            data_port,
            http,
            server,
            live_settings,
            boxes,
            address,
            destination,
        })
    }

    /// Applies settings that can change while the worker runs. Listeners, nodes and directories
    /// need a restart.
    pub fn change_settings(&self, settings: &WorkerSettings) {
        self.live_settings.set(settings);
        self.boxes.change_settings(settings.boxes.clone());
        self.http
            .link
            .change_settings(LinkSettings { address: self.address, ..settings.link.clone() });
        if let Some(DestinationParts { downloads, link }) = &self.destination {
            downloads.change_copies_at_once(settings.copies_at_once);
            if let Some(link) = link
                && let Err(error) = link.change_authorities(&settings.authorities)
            {
                tracing::error!(%error, "cannot change the authorities of calls to the node");
            }
        }
    }

    /// The current state, for `/metrics` and tests.
    pub fn view(&self) -> WorkerView {
        let destination = self.destination.as_ref();
        let link = destination.and_then(|destination| destination.link.as_ref());
        WorkerView {
            host: self.host,
            data_listen: self.data_port.addr(),
            epoch: self.epochs.highest(),
            node: link.map(|link| NodeLinkView::clone(&link.view())),
            downloads: destination.map(|d| DownloaderView::clone(&d.downloads.view())),
            data_port: self.data_port.counters(),
            boxes: BoxHostView::clone(&self.boxes.view()),
            unlistable_names: self.http.unlistable_names(),
        }
    }

    /// Stops in order: orders, copies, answers, the data port; then makes all state durable. The
    /// next start resumes interrupted copies that are still wanted.
    pub async fn stop(mut self) {
        if let Some(DestinationParts { downloads, link }) = self.destination.take() {
            drop(link);
            downloads.stop().await;
        }
        // Before the server, so that waiting calls about hooks are answered.
        self.boxes.stop().await;
        self.server.stop(true).await;
        let (host, store, mut data_port) = (self.host, self.store, self.data_port);
        let stopped = blocking(move || {
            data_port.stop();
            store.sync()
        });
        match stopped.await {
            Ok(Ok(())) => tracing::info!(%host, "worker stopped"),
            Ok(Err(error)) => {
                tracing::error!(%host, %error, "worker stopped; its state is not durable")
            }
            Err(error) => tracing::error!(%host, %error, "worker stopped"),
        }
    }
}

/// Runs a blocking disk operation off the threads of the actors.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WorkerError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| WorkerError::Ending)
}

fn open(
    settings: WorkerSettings,
    clock: Clock,
) -> Result<(WorkerSettings, OpenedState), WorkerError> {
    let store = Arc::new(StateStore::open(&settings.state_dir)?);
    let epochs = EpochGuard::open(Arc::clone(&store))?;
    let base = settings.base_dir.as_deref().map(open_base).transpose();
    let (base, temp_dir) = base.map_err(WorkerError::BaseDir)?.unzip();
    let live_settings = LiveWorkerSettings::from_settings(&settings, temp_dir);
    let base = base.map(|base| Arc::new(base.with_capacity(live_settings.capacity.clone())));
    let partials = base.clone().map(|base| {
        let partials =
            Partials::new(base, Arc::clone(&store), clock, live_settings.keep_for.clone());
        partials.collect_or_warn();
        partials
    });
    let inventory = base.clone().map(InventoryService::new).map(Arc::new);
    // The owner of the store is the only worker with this state directory.
    let box_marks = settings.state_dir.canonicalize().map_err(StateStoreError::from)?;
    let box_marks = box_marks.join(BOX_MARKS);
    end_left_hooks(&box_marks);
    let opened = OpenedState { store, epochs, base, partials, inventory, live_settings, box_marks };
    Ok((settings, opened))
}

/// Opens the base directory, and ends processes that an earlier run may have left in it.
fn open_base(path: &Path) -> std::io::Result<(BaseDir, PathBuf)> {
    let base = BaseDir::open(path)?;
    let temp_dir = path.canonicalize()?.join(TEMP_DIR);
    for file in end_left_downloads(&temp_dir) {
        if let Some(task) = file.to_str().and_then(|task| task.parse().ok()) {
            base.remove_temp(TaskId(task))?;
        }
    }
    Ok((base, temp_dir))
}

fn start_data_port(
    settings: &WorkerSettings,
    base: &Option<Arc<BaseDir>>,
    hashes: HashCache,
    live_settings: &LiveWorkerSettings,
    clock: &Clock,
) -> Result<DataPort, WorkerError> {
    let addr = settings.data_listen;
    let copies = base.clone().map(|base| base as Arc<dyn CopyDirectory>);
    let routes = DataPortRoutes::new(settings.source_dirs.clone(), copies);
    let (token, limits) = (live_settings.token.clone(), settings.data_port.clone());
    let certificate = live_settings.data_certificate.clone();
    DataPort::start(addr, routes, hashes, token, certificate, clock.clone(), limits)
        .map_err(|error| WorkerError::Listen(addr, error))
}

fn info(settings: &WorkerSettings, data_addr: SocketAddr) -> WorkerInfo {
    let ip = settings::others_find(settings.listen, data_addr);
    WorkerInfo {
        program: "reelyard".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        host: settings.listen,
        data_listen: SocketAddr::new(ip, data_addr.port()),
        data_tls: false,
        epoch: Epoch::default(),
        source: !settings.source_dirs.is_empty(),
        destination: settings.base_dir.is_some(),
        fetches_from_old: false,
        box_hooks: Vec::new(),
        managers: Vec::new(),
        traffic: None,
    }
}

fn make_fetcher(
    settings: &WorkerSettings,
    base: Arc<BaseDir>,
    partials: Arc<Partials>,
    live_settings: &LiveWorkerSettings,
    received: ByteCount,
    clock: &Clock,
) -> Fetcher {
    let mut fetcher = Fetcher::new(base, partials, clock.clone());
    fetcher.storage_limit_percent = live_settings.storage_limit_percent.clone();
    fetcher.token = live_settings.token.clone();
    fetcher.tls = live_settings.source_tls.clone();
    fetcher.timeouts = settings.source_timeouts;
    fetcher.resume = settings.resume;
    fetcher.external = live_settings.external.clone();
    fetcher.received = received;
    fetcher
}

fn make_destination(
    settings: &WorkerSettings,
    fetcher: Fetcher,
    store: &Arc<StateStore>,
    clock: &Clock,
) -> DestinationParts {
    let supervision = Supervision::of("downloader");
    let (store, copies) = (Arc::clone(store), settings.copies_at_once);
    let downloads = DownloaderHandle::start(supervision, fetcher, store, clock.clone(), copies);
    DestinationParts { downloads, link: None }
}

impl DestinationParts {
    /// Starts to take orders, if a node is configured.
    fn connect(
        &mut self,
        settings: &WorkerSettings,
        live_settings: &LiveWorkerSettings,
        (epochs, store): (&EpochGuard, &Arc<StateStore>),
        (managers, view): (SeenManagersHandle, ViewHandle<NodeLinkView>),
        clock: Clock,
    ) -> Result<(), WorkerError> {
        if settings.nodes.is_empty() {
            return Ok(());
        }
        let line = NodeLinkSettings {
            nodes: settings.nodes.clone(),
            host: settings.listen,
            managers,
            token: live_settings.token.clone(),
            authorities: settings.authorities.clone(),
            wait: settings.long_poll,
            poll_interval: live_settings.poll_interval.clone(),
            view,
        };
        let (store, downloads) = (store.clone(), self.downloads.clone());
        let link = NodeLink::start(line, epochs.clone(), store, clock, downloads)
            .map_err(|error| WorkerError::Client(error.to_string()))?;
        self.link = Some(link);
        Ok(())
    }
}
