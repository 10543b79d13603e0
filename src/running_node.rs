//! A running node: builds the actors, and stops them in order.

mod opening;

use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use reelyard_access::audit::{AuditRecord, AuditRecorder};
use reelyard_core::clock::Clock;
use reelyard_journal::{HandOverError, Journal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::opening::{OpenNode, PreparedNode};
use crate::http::node as http;
use crate::http::starting::{SHORT_START, StartingAnswers};
use crate::node::actors::Wiring;
use crate::node::cluster::{ClusterLink, own_url};
use crate::node::node_error::NodeError;
use crate::node::reload::{LoadedNodeConfig, NodeReloader};
use crate::node::share_links::ShareLinks;

/// How long a stopping node waits for the answers to requests of other nodes. Files of shares have ended before.
const FORWARDED_TIME: Duration = Duration::from_secs(5);

/// All actors of a started node, and the handles that stop them.
pub struct RunningNode {
    journal: Journal,
    actors: Arc<Wiring>,
    reloader: Arc<NodeReloader>,
    server: ServerHandle,
    /// How many requests of other nodes are open.
    forwarded: watch::Receiver<usize>,
    share_links: Arc<ShareLinks>,
    cluster: Arc<ClusterLink>,
    audit: AuditRecorder,
    clock: Clock,
    stopping: watch::Sender<bool>,
    /// The task that drops unused file names.
    sweeping: JoinHandle<()>,
    /// The task that keeps the record of this node correct.
    recording: JoinHandle<()>,
    /// The task that follows the settings on record.
    following: JoinHandle<()>,
    /// The task that creates the token of the first administrator.
    ensuring: JoinHandle<()>,
}

impl RunningNode {
    /// Starts a node: opens its journal, starts its actors, serves HTTP. Until then it answers HTTP that it is
    /// starting. Needs an actix system over a multi-threaded runtime.
    pub async fn start(
        configured: LoadedNodeConfig,
        clock: Clock,
    ) -> Result<RunningNode, NodeError> {
        let wanted = configured.config.listen;
        let refused = |error| NodeError::Listen(wanted, error);
        let listener = std::net::TcpListener::bind(wanted).map_err(refused)?;
        let listen = listener.local_addr().map_err(refused)?;
        let prepared = PreparedNode::of(configured)?;
        let shared = listener.try_clone().map_err(refused)?;
        let starting =
            StartingAnswers::begin(shared, http::certificate_of(&prepared.live), SHORT_START);
        let (open, forwarded) = prepared.open(&clock).await?;
        let url = own_url(&open.config, listen);
        let following = tokio::spawn(open.settings_follower().run());
        let recording = open.keep_record(listen, &url);
        let ensuring = open.ensure_token(url).await;
        let stopping = watch::Sender::new(false);
        let state = open.http_state(stopping.subscribe());
        if let Some(warning) = state.insecure_listen() {
            tracing::warn!(%warning, "the API is reachable without TLS");
        }
        let hosts = &open.config.yard.hosts;
        let hosts = hosts.sources.len() + hosts.destinations.len();
        starting.end().await;
        let (server, forwarded) =
            http::serve((listener, forwarded), &open.config.http, hosts, state).map_err(refused)?;
        let OpenNode { identity, .. } = open;
        open.audit.record(started(&clock, identity.number));
        tracing::info!(%listen, node_id = identity.number, cluster = %identity.cluster, "node started");
        Ok(RunningNode {
            journal: open.journal,
            actors: open.actors,
            reloader: open.reloader,
            server,
            forwarded,
            share_links: open.share_links,
            cluster: open.cluster,
            audit: open.audit,
            clock,
            stopping,
            sweeping: open.sweeping,
            recording,
            following,
            ensuring,
        })
    }

    /// Reloads the configuration, and logs the result.
    pub async fn reload(&self) {
        self.reloader.reload_and_log().await;
    }

    /// Waits until the journal fails, and returns the reason.
    pub async fn failed(&self) -> String {
        self.journal.failed().await
    }

    /// Stops in order: running downloads of links finish, unless `hurry`; then requests and
    /// decisions end, and all commits are applied and durable.
    pub async fn stop(mut self, hurry: impl Future<Output = ()>) {
        self.hand_over().await;
        self.stopping.send_replace(true);
        self.sweeping.abort();
        self.ensuring.abort();
        self.recording.abort();
        self.following.abort();
        self.share_links.stop(hurry).await;
        self.server.stop(true).await;
        // Each has requests of another node.
        let _ = timeout(FORWARDED_TIME, self.forwarded.wait_for(|open| *open == 0)).await;
        self.cluster.stop().await;
        self.actors.stop().await;
        self.journal.stop().await;
        self.audit.record(AuditRecord::of_node(self.clock.now(), "node.stopped"));
        let audit = self.audit;
        // The writer may wait for the disk.
        let _ = tokio::task::spawn_blocking(move || audit.stop()).await;
        tracing::info!("node stopped");
    }
}

impl RunningNode {
    /// Lets another node lead before this one stops. Requests that come meanwhile are passed on.
    async fn hand_over(&self) {
        if self.journal.leadership().borrow().epoch().is_none() {
            return;
        }
        match self.journal.hand_over(None).await {
            Ok(leader) => tracing::info!(leader, "this node stops, and another one leads"),
            Err(HandOverError::NobodyElse) => {}
            Err(error) => tracing::warn!(%error, "this node stops as the leader"),
        }
    }
}

/// The row about the start of a node.
fn started(clock: &Clock, node: u64) -> AuditRecord {
    let about = serde_json::json!({
        "node": node,
        "version": env!("CARGO_PKG_VERSION"),
    });
    AuditRecord { after: Some(about), ..AuditRecord::of_node(clock.now(), "node.started") }
}
