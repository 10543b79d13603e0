//! Public links: what `/s/{id}` answers to whoever has a link. A listener of its own, at which
//! nothing of the control plane is reachable.
//!
//! Bytes of files and archives are sent from a runtime of their own, so that nothing else waits
//! behind a cold disk, and pass through no actor's mailbox. Pages are made by actix-web.

mod answer;
mod archive;
mod authorization;
mod begin;
mod client_address;
mod client_stream;
mod conditions;
mod connection;
mod connection_limiter;
mod counters;
mod download;
mod lingering_close;
mod link;
mod operator_warnings;
mod pages;
mod passwords;
mod refusal;
mod roots;
mod settings;
mod share_location;
mod socket;
mod throttle;
mod watch;

pub use counters::ShareServerCounters;
pub use passwords::{BadPassword, LONGEST_PASSWORD, hash_password, is_password};
pub use roots::{NotOpened, OpenedShare, Roots};
pub use settings::ShareServerSettings;

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use reelyard_actors::clock::{Clock, Millis};
use reelyard_actors::share_expiry::{Share, ShareViewHandle, TakeDownload};
use reelyard_actors::supervision::Route;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, mpsc, watch as watching};
use tokio::task::JoinHandle;

use crate::tls::Certificate;
use archive::ArchiveLimiter;
use client_stream::ClientStream;
use connection_limiter::LinkConnectionLimiter;
use counters::LinkCounts;
use operator_warnings::OperatorWarnings;
use pages::PageHandoff;
use passwords::Passwords;
use socket::Patience;
use throttle::Throttle;
use watch::DownloadWatch;

/// Clients without a place that are seen out at once; others are just closed.
const FAREWELLS: usize = 64;

/// How often a server that retires looks for connections that wait for a request: these it ends.
const RETIRES_WITHIN: Duration = Duration::from_millis(100);

/// Whom the public links ask.
#[derive(Clone)]
pub struct ShareServerCollaborators {
    /// Where what is shared is.
    pub roots: Roots,
    /// The shares.
    pub board: ShareViewHandle,
    /// The ShareExpiryActor, or whoever passes it on to the leader: counts downloads.
    pub take: Route<TakeDownload>,
    /// What time it is.
    pub clock: Clock,
    /// Why links cannot be answered now, in words; none when they can. Asked at each request.
    pub not_ready: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// What is shown to clients under TLS; none where it is not spoken. Asked at each connection.
    pub certificate: Arc<dyn Fn() -> Option<Certificate> + Send + Sync>,
}

/// The public links, running.
pub struct ShareServer {
    addr: SocketAddr,
    shared: Arc<ShareServerState>,
    /// What listens; it returns once a server that retires has no connection left.
    accepting: JoinHandle<()>,
    retiring: watching::Sender<bool>,
    stopping: watching::Sender<bool>,
    /// Answers none once every connection has ended.
    alive: mpsc::Receiver<()>,
    runtime: Option<Runtime>,
}

/// Tells what the public links have done. Cheap to clone.
#[derive(Clone)]
pub struct ShareServerMeter(Arc<LinkCounts>);

impl ShareServerMeter {
    /// What they have done so far.
    pub fn counters(&self) -> ShareServerCounters {
        self.0.so_far()
    }
}

/// What all connections share.
struct ShareServerState {
    settings: ShareServerSettings,
    roots: Roots,
    board: ShareViewHandle,
    take: Route<TakeDownload>,
    clock: Clock,
    not_ready: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    certificate: Arc<dyn Fn() -> Option<Certificate> + Send + Sync>,
    counts: Arc<LinkCounts>,
    /// What cookies are signed with.
    cookie_key: [u8; 32],
    guesses: Throttle<IpAddr>,
    passwords: Passwords,
    archives: ArchiveLimiter,
    complaints: OperatorWarnings,
    /// Whether it was told of a proxy that cannot be understood.
    told_of_proxy: AtomicBool,
    pages: PageHandoff,
}

impl ShareServerState {
    fn patience(&self) -> Patience {
        let (send_timeout, least_pace) = (self.settings.send_timeout, self.settings.least_pace);
        Patience { send_timeout, least_pace }
    }

    /// The time by which links are refused, also while a step of the clock is not confirmed.
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
    /// Listens where the settings say, and serves until it is stopped.
    pub fn start(
        settings: ShareServerSettings,
        collaborators: ShareServerCollaborators,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(settings.listen)?;
        ShareServer::start_on(listener, settings, collaborators)
    }

    /// The same, on a listener that is bound already.
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

    /// A server with other settings, perhaps on another listener, that takes this one's place: it asks
    /// the same actors, and figures and cookies go on. This one is to retire.
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
            told_of_proxy: AtomicBool::new(false),
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

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// What it has done so far.
    pub fn counters(&self) -> ShareServerCounters {
        self.shared.counts.so_far()
    }

    /// What tells that to others, also once it has stopped.
    pub fn meter(&self) -> ShareServerMeter {
        ShareServerMeter(Arc::clone(&self.shared.counts))
    }

    /// Stops listening, lets each connection finish its answer, and returns when all have ended.
    pub async fn retire(mut self) {
        self.retiring.send_replace(true);
        // An error says that its runtime is gone, and all connections with it.
        let _ = (&mut self.accepting).await;
        self.stop().await;
    }

    /// Stops listening, lets each connection finish its answer until `hurry`, and returns when all have
    /// ended: those that have not finished are broken off.
    pub async fn drain(mut self, hurry: impl Future<Output = ()>) {
        self.retiring.send_replace(true);
        let is_drained = tokio::select! {
            // An error says that its runtime is gone, and all connections with it.
            _ = &mut self.accepting => true,
            () = hurry => false,
        };
        if !is_drained {
            let connections = self.shared.counts.so_far().connections;
            tracing::warn!(connections, "the drain time is over, cutting running downloads");
        }
        self.stop().await;
    }

    /// Stops listening, breaks off every connection, and returns when they have ended.
    pub async fn stop(mut self) {
        self.stopping.send_replace(true);
        while self.alive.recv().await.is_some() {}
    }
}

impl Drop for ShareServer {
    fn drop(&mut self) {
        self.stopping.send_replace(true);
        if let Some(runtime) = self.runtime.take() {
            // Waiting is not allowed on an async thread.
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
    let farewells = Arc::new(Semaphore::new(FAREWELLS));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stopping.wait_for(|stopping| *stopping) => return,
            _ = retires.wait_for(|retires| *retires) => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file descriptors, or a client that was gone again: not for ever.
                tracing::warn!(%error, "cannot accept a connection to public links");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Some(place) = places.take(peer) else {
            shared.counts.refused_busy.one();
            turn_away(stream, &shared, &farewells);
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

fn turn_away(stream: tokio::net::TcpStream, shared: &ShareServerState, farewells: &Arc<Semaphore>) {
    if (shared.certificate)().is_some() {
        // Coming to terms about keys takes longer than there is place for.
        return;
    }
    lingering_close::refuse_busy(&stream);
    if let Ok(turn) = Arc::clone(farewells).try_acquire_owned() {
        tokio::spawn(async move {
            lingering_close::close(&ClientStream::plain(stream)).await;
            drop(turn);
        });
    }
}

/// What a share is called by whoever has its link.
trait DisplayName {
    /// The name of its file or directory; of a whole root, the root's.
    fn display_name(&self) -> &str;
}

impl DisplayName for Share {
    fn display_name(&self) -> &str {
        self.path().file_name().unwrap_or(self.root().as_str())
    }
}
