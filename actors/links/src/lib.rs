//! Public links: serves `/s/{id}` on a listener of its own. Nothing of the control plane is
//! reachable there.
//!
//! Files and archives are sent from a separate runtime, so that no other task waits for a slow
//! disk. Their bytes pass through no mailbox. Pages are served by actix-web.

mod access;
mod connection;
mod connections;
mod counters;
mod operator_warnings;
mod serving;
mod settings;
pub mod tls;
mod tls_settings;

use crate::connections::lingering_close;
use crate::serving::pages;
pub use access::passwords::{BadPassword, LONGEST_PASSWORD, hash_password, is_password};
pub use access::roots::{NotOpened, OpenedShare, Roots};
pub use counters::ShareServerCounters;
pub use settings::{LinksConfig, PublicUrl, ShareServerSettings};
pub use tls_settings::{CertificateFile, ShareTlsConfig};

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use reelyard_core::clock::{Clock, Millis};
use reelyard_core::supervision::Route;
use reelyard_shares::share_expiry::{Share, ShareViewHandle, TakeDownload};
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc, watch as watching};
use tokio::task::JoinHandle;

use crate::tls::Certificate;
use access::passwords::Passwords;
use access::throttle::Throttle;
use connections::client_stream::ClientStream;
use connections::connection_limiter::LinkConnectionLimiter;
use connections::socket::Patience;
use counters::LinkCounts;
use operator_warnings::OperatorWarnings;
use serving::archive::ArchiveLimiter;
use serving::pages::PageHandoff;
use serving::watch::DownloadWatch;

/// Largest number of refused clients that get an answer at the same time. Further ones are closed
/// without one.
const MAX_LINGERING_CLOSES: usize = 64;

/// Interval at which a retiring server closes idle connections.
const RETIRES_WITHIN: Duration = Duration::from_millis(100);

/// The parts of the node that the public links use.
#[derive(Clone)]
pub struct ShareServerCollaborators {
    /// The share roots.
    pub roots: Roots,
    /// View of all shares.
    pub board: ShareViewHandle,
    /// Counts downloads: the ShareExpiryActor, or a forwarder to the leader.
    pub take: Route<TakeDownload>,
    /// Clock of the node; simulated in tests.
    pub clock: Clock,
    /// Why links cannot be served now, as text; none if they can. Called for each request.
    pub not_ready: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// The TLS certificate; none without TLS. Called for each connection.
    pub certificate: Arc<dyn Fn() -> Option<Certificate> + Send + Sync>,
}

/// The running server of public links.
pub struct ShareServer {
    addr: SocketAddr,
    shared: Arc<ShareServerState>,
    /// The accept task. It ends when a retiring server has no connection left.
    accepting: JoinHandle<()>,
    retiring: watching::Sender<bool>,
    stopping: watching::Sender<bool>,
    /// Returns none when every connection has ended.
    alive: mpsc::Receiver<()>,
    runtime: Option<Runtime>,
}

/// Reads the counters of the public links. Cheap to clone.
#[derive(Clone)]
pub struct ShareServerMeter(Arc<LinkCounts>);

impl ShareServerMeter {
    /// The counters so far.
    pub fn counters(&self) -> ShareServerCounters {
        self.0.so_far()
    }
}

/// State that all connections share.
struct ShareServerState {
    settings: ShareServerSettings,
    roots: Roots,
    board: ShareViewHandle,
    take: Route<TakeDownload>,
    clock: Clock,
    not_ready: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    certificate: Arc<dyn Fn() -> Option<Certificate> + Send + Sync>,
    counts: Arc<LinkCounts>,
    /// Key that signs the cookies.
    cookie_key: [u8; 32],
    guesses: Throttle<IpAddr>,
    passwords: Passwords,
    archives: ArchiveLimiter,
    complaints: OperatorWarnings,
    /// Whether an invalid header of a proxy was already logged.
    warned_of_proxy: AtomicBool,
    pages: PageHandoff,
}

impl ShareServerState {
    fn patience(&self) -> Patience {
        let (send_timeout, least_pace) = (self.settings.send_timeout, self.settings.least_pace);
        Patience { send_timeout, least_pace }
    }

    /// The time that decides about deadlines, also before a step of the clock is confirmed.
    fn refusal_time(&self) -> Millis {
        self.board.moment(&self.clock).latest
    }

    fn watch(&self, share: &Share) -> DownloadWatch {
        DownloadWatch::new(
            self.board.clone(),
            self.clock.clone(),
            share,
            self.settings.cut_at_deadline,
        )
    }
}

impl ShareServer {
    /// Listens at the configured address and serves until it is stopped.
    pub fn start(
        settings: ShareServerSettings,
        collaborators: ShareServerCollaborators,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(settings.listen)?;
        ShareServer::start_on(listener, settings, collaborators)
    }

    /// Like [`ShareServer::start`], on a listener that is already bound.
    pub fn start_on(
        listener: TcpListener,
        settings: ShareServerSettings,
        collaborators: ShareServerCollaborators,
    ) -> std::io::Result<Self> {
        let cookie_key = match settings.cookie_key {
            Some(key) => key,
            None => random_key()?,
        };
        ShareServer::run(listener, settings, collaborators, (Arc::default(), cookie_key))
    }

    /// Starts a server with other settings, perhaps on another listener, that replaces this one. It
    /// keeps the actors, counters and cookies. The caller then retires this one.
    pub fn successor(
        &self,
        listener: TcpListener,
        settings: ShareServerSettings,
    ) -> std::io::Result<Self> {
        let shared = &self.shared;
        let collaborators = ShareServerCollaborators {
            roots: shared.roots.clone(),
            board: shared.board.clone(),
            take: shared.take.clone(),
            clock: shared.clock.clone(),
            not_ready: Arc::clone(&shared.not_ready),
            certificate: Arc::clone(&shared.certificate),
        };
        let cookie_key = settings.cookie_key.unwrap_or(shared.cookie_key);
        let counts = Arc::clone(&shared.counts);
        ShareServer::run(listener, settings, collaborators, (counts, cookie_key))
    }

    fn run(
        listener: TcpListener,
        settings: ShareServerSettings,
        collaborators: ShareServerCollaborators,
        (counts, cookie_key): (Arc<LinkCounts>, [u8; 32]),
    ) -> std::io::Result<Self> {
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(settings.threads.max(1))
            .max_blocking_threads(settings.password_checks.max(1))
            .thread_name("share")
            .enable_all()
            .build()?;
        let (stopping, _) = watching::channel(false);
        let (retiring, retires) = watching::channel(false);
        let (alive, ended) = mpsc::channel(1);
        let (pages, handed) = PageHandoff::new();
        let ShareServerCollaborators { roots, board, take, clock, not_ready, certificate } =
            collaborators;
        let shared = Arc::new(ShareServerState {
            guesses: Throttle::new(settings.guesses, settings.guess_every),
            passwords: Passwords::new(&settings, cookie_key),
            archives: ArchiveLimiter::new(
                settings.archives,
                settings.archives_per_address,
                settings.trusted_proxies.clone(),
            ),
            complaints: OperatorWarnings::new(),
            warned_of_proxy: AtomicBool::new(false),
            counts,
            cookie_key,
            settings,
            roots,
            board,
            take,
            clock,
            not_ready,
            certificate,
            pages,
        });
        pages::start(handed, &shared, stopping.subscribe(), alive.clone())?;
        let listener = {
            let _in_runtime = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let until = (retires, stopping.subscribe());
        let accepting = accept_all(listener, Arc::clone(&shared), until, alive);
        let accepting = runtime.spawn(accepting);
        let runtime = Some(runtime);
        Ok(ShareServer { addr, shared, accepting, retiring, stopping, alive: ended, runtime })
    }

    /// The address of the listener.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The counters so far.
    pub fn counters(&self) -> ShareServerCounters {
        self.shared.counts.so_far()
    }

    /// A meter that stays readable after the server has stopped.
    pub fn meter(&self) -> ShareServerMeter {
        ShareServerMeter(Arc::clone(&self.shared.counts))
    }

    /// Stops listening, and returns when every connection has finished its answer.
    pub async fn retire(mut self) {
        self.retiring.send_replace(true);
        // An error means that the runtime is gone, with all connections.
        let _ = (&mut self.accepting).await;
        self.stop().await;
    }

    /// Stops listening. Connections may finish their answers until `hurry`, and are then aborted.
    /// Returns when all have ended.
    pub async fn drain(mut self, hurry: impl Future<Output = ()>) {
        self.retiring.send_replace(true);
        let is_drained = tokio::select! {
            // An error means that the runtime is gone, with all connections.
            _ = &mut self.accepting => true,
            () = hurry => false,
        };
        if !is_drained {
            let connections = self.shared.counts.so_far().connections;
            tracing::warn!(connections, "the drain time is over, cutting running downloads");
        }
        self.stop().await;
    }

    /// Stops listening, aborts every connection, and returns when all have ended.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        while self.alive.recv().await.is_some() {}
    }
}

impl Drop for ShareServer {
    fn drop(&mut self) {
        self.stopping.send_replace(true);
        if let Some(runtime) = self.runtime.take() {
            // Blocking is not allowed on an async thread.
            runtime.shutdown_background();
        }
    }
}

fn random_key() -> std::io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(std::io::Error::other)?;
    Ok(key)
}

async fn accept_all(
    listener: tokio::net::TcpListener,
    shared: Arc<ShareServerState>,
    (mut retires, mut stopping): (watching::Receiver<bool>, watching::Receiver<bool>),
    alive: mpsc::Sender<()>,
) {
    let settings = &shared.settings;
    let trusted = settings.trusted_proxies.clone();
    let places =
        LinkConnectionLimiter::new(settings.connections, settings.connections_per_address, trusted);
    let lingering_closes = Arc::new(Semaphore::new(MAX_LINGERING_CLOSES));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stopping| *stopping) => return,
            _ = retires.wait_for(|retires| *retires) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, or the client is already gone. Both pass.
                tracing::warn!(%error, "cannot accept a connection to public links");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Some(place) = places.take(peer) else {
            shared.counts.refused_busy.one();
            turn_away(stream, &shared, &lingering_closes);
            continue;
        };
        let (shared, mut stopping, alive) = (Arc::clone(&shared), stopping.clone(), alive.clone());
        tokio::spawn(async move {
            let _alive = alive;
            shared.counts.connections.one();
            tokio::select! {
                () = connection::run(stream, place, Arc::clone(&shared)) => {}
                _ = stopping.wait_for(|stopping| *stopping) => {}
            }
            shared.counts.connections.one_less();
        });
    }
    drop(listener);
    while !places.are_free() {
        places.evict_all_idle();
        tokio::select! {
            () = tokio::time::sleep(RETIRES_WITHIN) => {}
            _ = stopping.wait_for(|stopping| *stopping) => return,
        }
    }
}

fn turn_away(
    stream: tokio::net::TcpStream,
    shared: &ShareServerState,
    lingering_closes: &Arc<Semaphore>,
) {
    if (shared.certificate)().is_some() {
        // A TLS handshake needs more time than a refused client gets.
        return;
    }
    lingering_close::refuse_busy(&stream);
    if let Ok(turn) = Arc::clone(lingering_closes).try_acquire_owned() {
        tokio::spawn(async move {
            lingering_close::close(&ClientStream::plain(stream)).await;
            drop(turn);
        });
    }
}

/// The name of a share for visitors.
trait DisplayName {
    /// Name of the file or directory; for a whole root, the name of the root.
    fn display_name(&self) -> &str;
}

impl DisplayName for Share {
    fn display_name(&self) -> &str {
        self.path().file_name().unwrap_or(self.root().as_str())
    }
}
