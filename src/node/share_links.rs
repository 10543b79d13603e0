//! The public links of a node, served while any root is configured.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures::FutureExt;
use reelyard_core::clock::Clock;
use reelyard_core::durations::in_words;
use reelyard_file_server::certificate::Certificate;
use reelyard_journal::Journal;
use reelyard_links::{
    AccessLogStatus, LinkAccessLog, LinkAccessReader, OtherNodes, Roots, ShareServer,
    ShareServerCollaborators, ShareServerCounters, ShareServerMeter, ShareServerSettings,
    SharedFiles,
};
use reelyard_replication::Leadership;
use reelyard_shares::share_expiry::{RootName, ShareViewHandle};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::actors::Wiring;
use super::live_config::LiveConfig;
use super::node_error::NodeError;
use super::settings;
use crate::config::NodeConfig;

/// A node without contact to the leader knows for this time which shares have ended.
const TRUSTED_FOR: Duration = Duration::from_secs(1);

/// The public links, served while any root is configured. A reload can change all their settings.
pub(crate) struct ShareLinks {
    collaborators: ShareServerCollaborators,
    /// Locked while a server is replaced.
    running: Mutex<RunningShareServers>,
    view: Arc<ShareLinksView>,
}

/// The current server, and retiring ones.
#[derive(Default)]
struct RunningShareServers {
    serving: Option<ActiveShareServer>,
    /// Replaced servers that finish their running answers.
    retiring: JoinSet<()>,
    /// True when the node stops: no server starts any more.
    stopped: bool,
}

struct ActiveShareServer {
    server: ShareServer,
    /// Kept, so that a server with other settings can use it.
    listener: TcpListener,
    settings: ShareServerSettings,
}

/// The parts of public links that other code reads.
pub struct ShareLinksView {
    /// The share roots.
    pub roots: Roots,
    /// Address of the listener; none while links are not served.
    addr: ArcSwapOption<SocketAddr>,
    live: LiveConfig,
    meter: ArcSwapOption<ShareServerMeter>,
    files: ArcSwapOption<SharedFiles>,
    access_log: LinkAccessLog,
}

/// Opens the roots of the configuration that exist.
pub(crate) fn open_roots(config: &NodeConfig) -> Roots {
    Roots::open(named(config))
}

fn named(config: &NodeConfig) -> Vec<(RootName, PathBuf)> {
    let named = &config.share.rules.roots.0;
    named.iter().map(|(name, dir)| (name.clone(), dir.clone())).collect()
}

impl ShareLinks {
    /// Starts serving the links, if any root is configured.
    pub(crate) async fn start(
        live: &LiveConfig,
        roots: Roots,
        (journal, others): (&Journal, Arc<dyn OtherNodes>),
        actors: &Wiring,
        clock: &Clock,
    ) -> Result<Self, NodeError> {
        let of_log = (settings::access_log_dir(&live.now().config.data_dir), live.now());
        let limits = of_log.1.config.share.links.access_log_settings();
        let access_log = LinkAccessLog::start(&of_log.0, limits, clock.clone());
        let access_log = access_log
            .map_err(|error| NodeError::DataDir(of_log.0.display().to_string(), error))?;
        let collaborators = ShareServerCollaborators {
            roots: roots.clone(),
            views: actors.share_views.clone(),
            take: actors.share_expiry.route(),
            others: Some(others),
            clock: clock.clone(),
            not_ready: not_ready(journal, &actors.share_views),
            certificate: certificate(live),
            access_log: access_log.clone(),
        };
        let view = Arc::new(ShareLinksView {
            roots,
            addr: ArcSwapOption::empty(),
            live: live.clone(),
            meter: ArcSwapOption::empty(),
            files: ArcSwapOption::empty(),
            access_log,
        });
        let links = ShareLinks { collaborators, running: Mutex::default(), view };
        let config = &live.now().config;
        let listener = links.prepare(config).await?;
        links.serve(config, listener).await?;
        Ok(links)
    }

    pub(crate) fn view(&self) -> Arc<ShareLinksView> {
        Arc::clone(&self.view)
    }

    /// Prepares a new configuration: binds a listener if the configuration needs a new one.
    ///
    /// # Errors
    ///
    /// The address cannot be used, or the node is stopping. Then nothing has changed.
    pub(crate) async fn prepare(
        &self,
        config: &NodeConfig,
    ) -> Result<Option<TcpListener>, NodeError> {
        let listen = config.share.links.listen;
        let running = self.running.lock().await;
        if running.stopped {
            return Err(NodeError::Stopping);
        }
        let is_there =
            running.serving.as_ref().is_some_and(|serving| serving.settings.listen == listen);
        if config.share.rules.roots.0.is_empty() || is_there {
            return Ok(None);
        }
        let listener = TcpListener::bind(listen);
        listener.map(Some).map_err(|error| NodeError::Listen(listen, error))
    }

    /// Applies `config` with the listener from [`ShareLinks::prepare`]: changes the roots and the
    /// server.
    pub(crate) async fn apply_config(&self, config: &NodeConfig, listener: Option<TcpListener>) {
        let (roots, named) = (self.view.roots.clone(), named(config));
        if tokio::task::spawn_blocking(move || roots.change(named)).await.is_err() {
            tracing::error!("cannot open the share roots, the old ones stay in use");
        }
        // Also without a change: another program may have rotated the file.
        self.view.access_log.apply_settings(config.share.links.access_log_settings());
        if let Err(error) = self.serve(config, listener).await {
            tracing::error!(%error, "cannot apply the settings of public links, the old ones stay in use");
        }
    }

    /// Replaces the server if its settings changed. The old one stops listening and finishes its
    /// running answers.
    async fn serve(
        &self,
        config: &NodeConfig,
        listener: Option<TcpListener>,
    ) -> Result<(), NodeError> {
        let settings = settings::share_server(config);
        let listen = settings.listen;
        let mut running = self.running.lock().await;
        if running.stopped {
            return Err(NodeError::Stopping);
        }
        while running.retiring.try_join_next().is_some() {}
        let before = running.serving.as_ref();
        if config.share.rules.roots.0.is_empty() {
            if let Some(before) = running.serving.take() {
                self.show(None);
                running.retiring.spawn(before.server.retire());
                tracing::info!(%listen, "no share root is configured: stopped serving public links");
            }
            return Ok(());
        }
        if listener.is_none() && before.is_some_and(|before| before.settings == settings) {
            return Ok(());
        }
        let failed = |error| NodeError::Listen(listen, error);
        let listener = match (listener, before) {
            (Some(listener), _) => listener,
            (None, Some(before)) => before.listener.try_clone().map_err(failed)?,
            (None, None) => TcpListener::bind(listen).map_err(failed)?,
        };
        let kept = listener.try_clone().map_err(failed)?;
        let server = match before {
            Some(before) => before.server.successor(kept, settings.clone()),
            None => ShareServer::start_on(kept, settings.clone(), self.collaborators.clone()),
        };
        let server = server.map_err(failed)?;
        let (tls, roots) =
            (config.share.links.tls.certificate().is_some(), config.share.rules.roots.0.len());
        tracing::info!(listen = %server.addr(), roots, tls, "serving public links");
        self.show(Some(&server));
        let before = running.serving.replace(ActiveShareServer { server, listener, settings });
        if let Some(before) = before {
            running.retiring.spawn(before.server.retire());
        }
        Ok(())
    }

    fn show(&self, server: Option<&ShareServer>) {
        self.view.addr.store(server.map(|server| Arc::new(server.addr())));
        self.view.meter.store(server.map(|server| Arc::new(server.meter())));
        self.view.files.store(server.map(|server| Arc::new(server.shared_files())));
    }

    /// Stops the servers. Running answers may finish within `share.drain_timeout`, or until
    /// `hurry`. Other nodes may read files that are open for them, and no more.
    pub(crate) async fn stop(&self, hurry: impl Future<Output = ()>) {
        let drain = self.view.live.now().config.share.links.drain_timeout;
        let ends = async {
            tokio::select! {
                () = tokio::time::sleep(drain) => {}
                () = hurry => {}
            }
        };
        let ends = ends.shared();
        let stopped = RunningShareServers { stopped: true, ..RunningShareServers::default() };
        // A concurrent reload does not wait for the downloads; it is refused.
        let running = std::mem::replace(&mut *self.running.lock().await, stopped);
        let RunningShareServers { serving, mut retiring, .. } = running;
        self.view.files.store(None);
        if let Some(ActiveShareServer { server, listener, .. }) = serving {
            let connections = server.counters().connections;
            tracing::info!(
                connections,
                within_s = drain.as_secs(),
                "stopped accepting links, waiting for running downloads to finish"
            );
            drop(listener);
            server.drain(ends.clone()).await;
        }
        // Retiring servers started to drain earlier.
        tokio::select! {
            () = async { while retiring.join_next().await.is_some() {} } => {}
            () = ends => {}
        }
        retiring.shutdown().await;
    }
}

impl ShareLinksView {
    /// Base URL of links.
    pub fn public_url(&self) -> String {
        let in_force = self.live.now();
        let share = &in_force.config.share;
        match &share.links.public_url {
            Some(url) => url.as_str().to_owned(),
            None => {
                let scheme = if share.links.tls.certificate().is_some() { "https" } else { "http" };
                let addr = self.addr.load().as_deref().copied();
                format!("{scheme}://{}", addr.unwrap_or(share.links.listen))
            }
        }
    }

    /// Opens files of shares for other nodes; none while links are not served.
    pub fn files(&self) -> Option<SharedFiles> {
        self.files.load().as_deref().cloned()
    }

    /// Counters of the links; none while links are not served.
    pub fn counters(&self) -> Option<ShareServerCounters> {
        self.meter.load().as_deref().map(ShareServerMeter::counters)
    }

    /// Reads the log of downloads. None if downloads are not logged.
    pub fn downloads(&self) -> Option<LinkAccessReader> {
        self.access_log.reader(&self.live.now().config.share.links.access_log)
    }

    /// Counters of the log of downloads.
    pub fn access_log_status(&self) -> AccessLogStatus {
        self.access_log.status()
    }

    /// The refusal for an unknown root, with the configured names.
    pub fn no_root(&self, root: &RootName) -> String {
        let names = self.roots.names();
        let names: Vec<&str> = names.iter().map(RootName::as_str).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!(
            "No share root is named '{}'. Configured roots: {names}. Add it to [share.roots] and reload.",
            root.as_str()
        )
    }
}

/// The certificate for a new connection: a reload may change it.
fn certificate(live: &LiveConfig) -> Arc<dyn Fn() -> Option<Certificate> + Send + Sync> {
    let live = live.clone();
    Arc::new(move || live.now().config.share.links.tls.certificate().cloned())
}

/// Why links cannot be served. Without contact to the leader, an ended share may still look valid. Before the
/// journal is read, no share is known.
fn not_ready(
    journal: &Journal,
    views: &ShareViewHandle,
) -> Arc<dyn Fn() -> Option<String> + Send + Sync> {
    let (journal, views) = (journal.clone(), views.clone());
    let leadership = journal.leadership();
    Arc::new(move || {
        if !views.is_up() {
            return Some("the node is starting".to_owned());
        }
        if *leadership.borrow() == Leadership::Stopped {
            return Some("the node is stopping".to_owned());
        }
        match journal.staleness() {
            Some(age) if age <= TRUSTED_FOR => None,
            Some(age) => Some(format!("this node has not heard the leader for {}", in_words(age))),
            None => Some("no node leads the yard".to_owned()),
        }
    })
}
