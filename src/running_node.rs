//! A running node: builds the actors, and stops them in order.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use reelyard_access::audit::{AuditRecord, AuditRecorder};
use reelyard_core::clock::Clock;
use reelyard_core::cluster_id::ClusterId;
use reelyard_core::event::PieceId;
use reelyard_core::names::NameTable;
use reelyard_core::private_dir;
use reelyard_core::task_threads::TaskThreads;
use reelyard_journal::{HandOverError, Journal};
use reelyard_protocol::signed_call::SignedCallVerifier;
use reelyard_replication::Leadership;
use reelyard_yard::task_manager::CheckTasksNow;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::{self, NodeConfig};
use crate::http::access::{LoginGuard, WorkerRefusals};
use crate::http::computing::{SharedAnswer, WorkLimit};
use crate::http::node as http;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::OverviewMemory;
use crate::http::overview::{KeptHourCounts, KeptNameOrder, KeptShareCounts};
use crate::http::starting::{SHORT_START, StartingAnswers};
use crate::node::actors::{Wiring, host_membership};
use crate::node::admin_token::{self, AdminTokenFiles};
use crate::node::cluster::{
    ClusterLink, JoinParts, SettingsFollower, allow_if_current, keep_record, own_record, own_url,
    read_settings_cache,
};
use crate::node::live_config::LiveConfig;
use crate::node::node_clocks::NodeClocks;
use crate::node::node_error::NodeError;
use crate::node::reload::{LoadedNodeConfig, NodeReloader, RunningSettings};
use crate::node::share_links::{self, ShareLinks};
use crate::node::{identity, name_sweep, settings};

/// How long a starting node waits for a leader before it serves.
const LEADER_TIME: Duration = Duration::from_secs(5);

/// How long a starting node waits for the token of its first administrator.
const TOKEN_TIME: Duration = Duration::from_secs(1);

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
        let listen = configured.config.listen;
        let listener = std::net::TcpListener::bind(listen)
            .map_err(|error| NodeError::Listen(listen, error))?;
        let listen = listener.local_addr().map_err(|error| NodeError::Listen(listen, error))?;
        let data_dir = configured.config.data_dir.clone();
        private_dir::create(&data_dir)
            .map_err(|error| NodeError::DataDir(data_dir.display().to_string(), error))?;
        private_dir::narrow(&data_dir, &settings::OWN_FILES);
        let identity = identity::identify(&configured.config)?;
        let (config, running) = with_record(configured, &data_dir, identity.cluster);
        let version = running.record.as_ref().map(|record| record.version);
        let live = LiveConfig::new(config.clone(), version)?;
        let shared = listener.try_clone().map_err(|error| NodeError::Listen(listen, error))?;
        let starting = StartingAnswers::begin(shared, http::certificate_of(&live), SHORT_START);
        let roots = share_links::open_roots(&config);
        let pieces = [
            PieceId::Tasks,
            PieceId::Removals,
            PieceId::Shares,
            PieceId::Boxes,
            PieceId::Access,
            PieceId::Settings,
        ];
        let (cluster, forwarded) =
            ClusterLink::start(identity, &config, &running.effective, &clock).await?;
        running.show_in(&config, &cluster);
        let transport = Arc::new(cluster.transport().clone());
        let clocks = NodeClocks::new(clock.clone());
        let options = settings::journal(&config, identity, &clocks);
        let journal = Journal::open(options, transport, &pieces).await?;
        journal.allow_decisions(false);
        cluster.has_journal(&journal);
        // The store is locked for this process, so the audit beside it is too.
        let audit_dir = settings::audit_dir(&config.data_dir);
        let audit = AuditRecorder::start(&audit_dir, settings::audit(&config), clock.clone());
        let audit = audit
            .map_err(|error| NodeError::DataDir(config.data_dir.display().to_string(), error))?;
        let names = NameTable::new();
        let host_calls = TaskThreads::start("host-calls", 1).map_err(NodeError::Threads)?;
        let actors =
            Wiring::start(&live, &journal, &names, &clocks, &roots.shared_dirs(), host_calls)?;
        host_membership::start_following(&actors);
        host_membership::start_reading(&actors, &journal);
        tokio::spawn(allow_if_current(
            journal.clone(),
            actors.settings_views.clone(),
            running.record.clone(),
        ));
        wait_until_ready(&journal, &actors, &config).await;
        let sweeping = tokio::spawn(name_sweep::sweep(names.clone(), Arc::clone(&actors)));
        let stopping = watch::Sender::new(false);
        let share_links =
            ShareLinks::start(&live, roots, (&journal, &cluster), &actors, &clocks.shares).await?;
        let share_links = Arc::new(share_links);
        let parts =
            (live.clone(), Arc::clone(&actors), Arc::clone(&share_links), Arc::clone(&cluster));
        let reloader = NodeReloader::new(running, parts, (audit.clone(), clock.clone()));
        let reloader = Arc::new(reloader);
        let token_files = AdminTokenFiles::new(&config.data_dir);
        let url = own_url(&config, listen);
        let joined = Arc::new(Notify::new());
        cluster.admit_by(JoinParts {
            actors: Arc::clone(&actors),
            audit: audit.clone(),
            clock: clocks.cluster.clone(),
            joined: Arc::clone(&joined),
        });
        let follower = SettingsFollower {
            actors: Arc::clone(&actors),
            reloader: Arc::clone(&reloader),
            cluster: Arc::clone(&cluster),
            journal: journal.clone(),
            joined,
            data_dir,
            audit: audit.clone(),
            clock: clock.clone(),
        };
        let following = tokio::spawn(follower.run());
        let wanted = watch::Sender::new(own_record(identity, &config, &url));
        let recording = tokio::spawn(keep_record(journal.clone(), wanted.subscribe()));
        cluster.record_by(wanted, listen);
        let (link, followed) = (Arc::clone(&cluster), journal.clone());
        tokio::spawn(async move { link.counts().follow(followed).await });
        let ensuring =
            admin_token::ensure(Arc::clone(&actors), token_files.clone(), url, audit.clone());
        // A follower serves too: there the task waits until this node leads or somebody can administrate.
        let mut ensuring = tokio::spawn(ensuring);
        // A node that leads is useful only with the token. On a timeout the task goes on.
        let _ = timeout(TOKEN_TIME, &mut ensuring).await;
        let state = NodeHttpState {
            started: clock.now(),
            clock: clocks.cluster.clone(),
            names,
            node_id: identity.number,
            cluster: Arc::clone(&cluster),
            live,
            admin_token_file: token_files.token(),
            login_guard: LoginGuard::default(),
            worker_refusals: WorkerRefusals::default(),
            gate: SignedCallVerifier::default(),
            audit: audit.clone(),
            reloader: Arc::clone(&reloader),
            journal: journal.clone(),
            actors: Arc::clone(&actors),
            share_links: share_links.view(),
            share_counts: KeptShareCounts::default(),
            file_names: KeptNameOrder::default(),
            hour_counts: KeptHourCounts::default(),
            overview: OverviewMemory::default(),
            page_work: WorkLimit::default(),
            overview_answer: SharedAnswer::default(),
            stopping: stopping.subscribe(),
        };
        if let Some(warning) = state.insecure_listen() {
            tracing::warn!(%warning, "the API is reachable without TLS");
        }
        let hosts = config.yard.hosts.sources.len() + config.yard.hosts.destinations.len();
        starting.end().await;
        let (server, forwarded) = http::serve((listener, forwarded), &config.http, hosts, state)
            .map_err(|error| NodeError::Listen(config.listen, error))?;
        audit.record(started(&clock, identity.number));
        tracing::info!(%listen, node_id = identity.number, cluster = %identity.cluster, "node started");
        Ok(RunningNode {
            journal,
            actors,
            reloader,
            server,
            forwarded,
            share_links,
            cluster,
            audit,
            clock,
            stopping,
            sweeping,
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

/// The configuration with the settings on record that this node had when it stopped. If they do not go with its own
/// ones, it starts with those, and makes no decisions before it gets other settings.
fn with_record(
    configured: LoadedNodeConfig,
    data_dir: &Path,
    cluster: ClusterId,
) -> (NodeConfig, RunningSettings) {
    let LoadedNodeConfig { config, effective, layers, given } = configured;
    let own = RunningSettings { effective, layers, own: given, record: None };
    let Some(record) = read_settings_cache(data_dir, cluster) else { return (config, own) };
    let merged = record.with_node_part(&own.own);
    match merged.and_then(config::resolve::<NodeConfig>) {
        Ok((config, effective)) => {
            (config, RunningSettings { effective, record: Some(record), ..own })
        }
        Err(faults) => {
            tracing::error!(
                version = record.version,
                "this node starts without the settings on record, and makes no decisions: {faults}"
            );
            (config, own)
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

/// Waits until a leader exists. By then the journal is applied here, so that no client sees a yard
/// without its tasks or hosts. The wait is limited: a node without a quorum serves too, and reports
/// that it is not ready.
async fn wait_until_ready(journal: &Journal, actors: &Wiring, config: &NodeConfig) {
    let ready = async {
        let mut leadership = journal.leadership();
        let led = leadership.wait_for(|leadership| !matches!(leadership, Leadership::Nobody));
        let leads = led.await.is_ok_and(|led| led.epoch().is_some());
        // Answered after the TaskManager has published everything applied before. A restarting one
        // publishes it a moment later.
        let _ = actors.task_manager.ask(CheckTasksNow).await;
        if leads {
            actors
                .hosts
                .has(config.yard.hosts.with_roles().into_iter().map(|(host, _)| host))
                .await;
        }
    };
    // On a timeout the rest follows later.
    let _ = timeout(LEADER_TIME, ready).await;
}
