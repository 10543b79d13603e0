//! The running server of public links.

use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use reelyard_core::clock::Clock;
use reelyard_core::supervision::Route;
use reelyard_file_server::certificate::Certificate;
use reelyard_file_server::http::request_head::HostRule;
use reelyard_file_server::server::{FileServer, FileServerSettings, ServerLifetime, ServerThreads};
use reelyard_file_server::{ConnectionLimits, SendLimits};
use reelyard_shares::share_expiry::{ShareViewHandle, TakeDownload};
use tokio::sync::watch;

use crate::access::passwords::Passwords;
use crate::access::roots::Roots;
use crate::access::throttle::Throttle;
use crate::access_log::LinkAccessLog;
use crate::counters::{LinkCounts, ShareServerCounters};
use crate::for_others::SharedFiles;
use crate::operator_warnings::OperatorWarnings;
use crate::other_nodes::OtherNodes;
use crate::serving::archive::ArchiveLimiter;
use crate::serving::page_handoff::PageHandoff;
use crate::serving::pages;
use crate::settings::ShareServerSettings;
use crate::state::ShareServerState;

/// The parts of the node that the public links use.
#[derive(Clone)]
pub struct ShareServerCollaborators {
    /// The share roots.
    pub roots: Roots,
    /// View of all shares.
    pub views: ShareViewHandle,
    /// Counts downloads: the ShareExpiryActor, or a forwarder to the leader.
    pub take: Route<TakeDownload>,
    /// The other nodes of the cluster; none without a cluster.
    pub others: Option<Arc<dyn OtherNodes>>,
    /// Clock of the node; simulated in tests.
    pub clock: Clock,
    /// Why links cannot be served now, as text; none if they can. Called for each request.
    pub not_ready: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    /// The TLS certificate; none without TLS. Called for each connection.
    pub certificate: Arc<dyn Fn() -> Option<Certificate> + Send + Sync>,
    /// Log of downloads.
    pub access_log: LinkAccessLog,
}

/// The running server of public links.
pub struct ShareServer {
    state: Arc<ShareServerState>,
    server: FileServer,
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

impl ShareServer {
    /// Serves the connections of a listener until it is stopped.
    ///
    /// # Errors
    ///
    /// The system has no threads or random bytes.
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
    ///
    /// # Errors
    ///
    /// The system has no threads.
    pub fn successor(
        &self,
        listener: TcpListener,
        settings: ShareServerSettings,
    ) -> std::io::Result<Self> {
        let state = &self.state;
        let collaborators = ShareServerCollaborators {
            roots: state.roots.clone(),
            views: state.views.clone(),
            take: state.take.clone(),
            others: state.others.clone(),
            clock: state.clock.clone(),
            not_ready: Arc::clone(&state.not_ready),
            certificate: Arc::clone(&state.certificate),
            access_log: state.access_log.clone(),
        };
        let cookie_key = settings.cookie_key.unwrap_or(state.cookie_key);
        let counts = Arc::clone(&state.counts);
        ShareServer::run(listener, settings, collaborators, (counts, cookie_key))
    }

    fn run(
        listener: TcpListener,
        settings: ShareServerSettings,
        collaborators: ShareServerCollaborators,
        (counts, cookie_key): (Arc<LinkCounts>, [u8; 32]),
    ) -> std::io::Result<Self> {
        let (pages, handed) = PageHandoff::new();
        let of_server = server_settings(&settings);
        let ShareServerCollaborators {
            roots,
            views,
            take,
            others,
            clock,
            not_ready,
            certificate,
            access_log,
        } = collaborators;
        let state = Arc::new(ShareServerState {
            guesses: Throttle::new(settings.guesses, settings.guess_every),
            passwords: Passwords::new(&settings, cookie_key),
            archives: ArchiveLimiter::new(
                settings.archives,
                settings.archives_per_address,
                settings.trusted_proxies.clone(),
            ),
            warnings: OperatorWarnings::new(),
            warned_of_proxy: AtomicBool::new(false),
            counts,
            cookie_key,
            settings,
            roots,
            views,
            take,
            others,
            clock,
            not_ready,
            certificate,
            pages,
            for_others: watch::Sender::new(0),
            access_log,
        });
        let lifetime = ServerLifetime::default();
        pages::start(handed, &state, lifetime.guard())?;
        let (service, connections) = (Arc::clone(&state), Arc::clone(&state.counts.connections));
        let server = FileServer::start(listener, of_server, service, connections, lifetime)?;
        Ok(ShareServer { state, server })
    }

    /// The address of the listener.
    pub fn addr(&self) -> SocketAddr {
        self.server.addr()
    }

    /// The counters so far.
    pub fn counters(&self) -> ShareServerCounters {
        self.state.counts.so_far()
    }

    /// The files of shares, for other nodes.
    pub fn shared_files(&self) -> SharedFiles {
        SharedFiles::new(&self.state)
    }

    /// A meter that stays readable after the server has stopped.
    pub fn meter(&self) -> ShareServerMeter {
        ShareServerMeter(Arc::clone(&self.state.counts))
    }

    /// Stops listening, and returns when every connection has finished its answer, and every other node its file.
    pub async fn retire(self) {
        self.drain(std::future::pending()).await;
    }

    /// Stops listening. Connections may finish their answers until `hurry`, and are then aborted. Other nodes may read
    /// their files for as long. Returns when all connections have ended.
    pub async fn drain(mut self, hurry: impl Future<Output = ()>) {
        let mut hurry = pin!(hurry);
        let mut for_others = self.state.for_others.subscribe();
        let have_ended = self.server.drain(hurry.as_mut()).await
            && tokio::select! {
                _ = for_others.wait_for(|open| *open == 0) => true,
                () = hurry => false,
            };
        if !have_ended {
            let connections = self.counters().connections;
            tracing::warn!(connections, "the drain time is over, cutting running downloads");
        }
        self.stop().await;
    }

    /// Stops listening, aborts every connection, and returns when all have ended.
    pub async fn stop(self) {
        self.server.stop().await;
    }
}

fn server_settings(settings: &ShareServerSettings) -> FileServerSettings {
    FileServerSettings {
        name: "share",
        threads: ServerThreads::Shared(settings.threads),
        blocking_threads: settings.password_checks,
        connections: ConnectionLimits {
            connections: settings.connections,
            per_client: settings.connections_per_address,
            // A visitor on a mobile network can stall for a while.
            slow_reader: None,
        },
        request_timeout: settings.request_timeout,
        send: SendLimits {
            send_timeout: settings.send_timeout,
            minimum_rate: settings.minimum_rate,
        },
        hosts: HostRule::One,
    }
}

fn random_key() -> std::io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(std::io::Error::other)?;
    Ok(key)
}
