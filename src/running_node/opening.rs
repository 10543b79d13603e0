//! A node that starts: its parts in the order in which they open, until it serves.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use reelyard_access::audit::AuditRecorder;
use reelyard_core::clock::Clock;
use reelyard_core::cluster_id::ClusterId;
use reelyard_core::event::PieceId;
use reelyard_core::names::NameTable;
use reelyard_core::private_dir;
use reelyard_core::task_threads::TaskThreads;
use reelyard_journal::Journal;
use reelyard_protocol::signed_call::SignedCallVerifier;
use reelyard_replication::{Leadership, NodeIdentity};
use reelyard_shares::share_files::FilesElsewhere;
use reelyard_yard::task_manager::CheckTasksNow;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::config::{self, NodeConfig};
use crate::http::access::{LoginGuard, WorkerRefusals};
use crate::http::computing::{SharedAnswer, WorkLimit};
use crate::http::forwarding::ForwardedWaits;
use crate::http::node_state::NodeHttpState;
use crate::http::overview::OverviewMemory;
use crate::http::overview::{KeptHourCounts, KeptNameOrder, KeptShareCounts};
use crate::node::actors::{Wiring, host_membership};
use crate::node::admin_token::{AdminTokenFiles, AdminTokenKeeper};
use crate::node::cluster::{
    ClusterLink, JoinParts, SettingsFollower, allow_if_current, keep_record, own_record,
    read_settings_cache,
};
use crate::node::live_config::LiveConfig;
use crate::node::member_files::MemberFiles;
use crate::node::node_clocks::NodeClocks;
use crate::node::node_error::NodeError;
use crate::node::reload::{LoadedNodeConfig, NodeReloader, RunningSettings};
use crate::node::share_links::{self, ShareLinks};
use crate::node::{ForwardedStream, identity, name_sweep, settings};

/// How long a starting node waits for a leader before it serves.
const LEADER_TIME: Duration = Duration::from_secs(5);

/// How long a starting node waits for the token of its first administrator.
const TOKEN_TIME: Duration = Duration::from_secs(1);

/// The pieces of the journal of a node.
const PIECES: [PieceId; 6] = [
    PieceId::Tasks,
    PieceId::Removals,
    PieceId::Shares,
    PieceId::Boxes,
    PieceId::Access,
    PieceId::Settings,
];

/// A node with its settings and its identity. Nothing is open yet.
pub(super) struct PreparedNode {
    identity: NodeIdentity,
    config: NodeConfig,
    running: RunningSettings,
    /// The settings in force.
    pub(super) live: LiveConfig,
}

/// A node whose journal and actors run, and that serves no API yet.
pub(super) struct OpenNode {
    /// The numbers of the node and of its cluster.
    pub(super) identity: NodeIdentity,
    /// The settings at the start.
    pub(super) config: NodeConfig,
    live: LiveConfig,
    clocks: NodeClocks,
    names: NameTable,
    /// The record of all decisions.
    pub(super) journal: Journal,
    /// The connections to the other nodes.
    pub(super) cluster: Arc<ClusterLink>,
    /// Each actor of the node, and the messages between them.
    pub(super) actors: Arc<Wiring>,
    /// The public links.
    pub(super) share_links: Arc<ShareLinks>,
    /// Reloads the configuration.
    pub(super) reloader: Arc<NodeReloader>,
    /// Records the changes by users and by the node itself.
    pub(super) audit: AuditRecorder,
    /// The task that drops unused file names.
    pub(super) sweeping: JoinHandle<()>,
    token_files: AdminTokenFiles,
}

impl PreparedNode {
    /// Creates the data directory, and reads the identity and the settings on record there.
    pub(super) fn of(configured: LoadedNodeConfig) -> Result<Self, NodeError> {
        let data_dir = configured.config.data_dir.clone();
        private_dir::create(&data_dir)
            .map_err(|error| NodeError::DataDir(data_dir.display().to_string(), error))?;
        private_dir::narrow(&data_dir, &settings::OWN_FILES);
        let identity = identity::identify(&configured.config)?;
        let (config, running) = with_record(configured, &data_dir, identity.cluster);
        let version = running.record.as_ref().map(|record| record.version);
        let live = LiveConfig::new(config.clone(), version)?;
        Ok(PreparedNode { identity, config, running, live })
    }

    /// Opens the journal and starts the actors. Also answers the requests that other nodes pass on.
    pub(super) async fn open(
        self,
        clock: &Clock,
    ) -> Result<(OpenNode, mpsc::Receiver<ForwardedStream>), NodeError> {
        let PreparedNode { identity, config, running, live } = self;
        let roots = share_links::open_roots(&config);
        let (cluster, forwarded) =
            ClusterLink::start(identity, &config, &running.effective, clock).await?;
        running.show_in(&config, &cluster);
        let transport = Arc::new(cluster.transport().clone());
        let clocks = NodeClocks::new(clock.clone());
        let options = settings::journal(&config, identity, &clocks);
        let journal = Journal::open(options, transport, &PIECES).await?;
        journal.allow_decisions(false);
        cluster.has_journal(&journal);
        // The store is locked for this process, so the audit beside it is too.
        let audit_dir = settings::audit_dir(&config.data_dir);
        let audit = AuditRecorder::start(&audit_dir, settings::audit(&config), clock.clone())
            .map_err(|error| NodeError::DataDir(config.data_dir.display().to_string(), error))?;
        let names = NameTable::new();
        let host_calls = TaskThreads::start("host-calls", 1).map_err(NodeError::Threads)?;
        let others = Arc::new(MemberFiles::new(Arc::clone(&cluster), journal.clone()));
        let elsewhere: Arc<dyn FilesElsewhere> = others.clone();
        let shared = (&roots.shared_dirs(), &elsewhere);
        let actors = Wiring::start(&live, &journal, &names, &clocks, shared, host_calls)?;
        host_membership::start_following(&actors);
        host_membership::start_reading(&actors, &journal);
        let views = actors.settings_views.clone();
        tokio::spawn(allow_if_current(journal.clone(), views, running.record.clone()));
        wait_until_ready(&journal, &actors, &config).await;
        let sweeping = tokio::spawn(name_sweep::sweep(names.clone(), Arc::clone(&actors)));
        let share_links =
            ShareLinks::start(&live, roots, (&journal, others), &actors, &clocks.shares).await?;
        let share_links = Arc::new(share_links);
        let parts =
            (live.clone(), Arc::clone(&actors), Arc::clone(&share_links), Arc::clone(&cluster));
        let reloader = NodeReloader::new(running, parts, (audit.clone(), clock.clone()));
        let reloader = Arc::new(reloader);
        let token_files = AdminTokenFiles::new(&config.data_dir);
        let open = OpenNode {
            identity,
            config,
            live,
            clocks,
            names,
            journal,
            cluster,
            actors,
            share_links,
            reloader,
            audit,
            sweeping,
            token_files,
        };
        Ok((open, forwarded))
    }
}

impl OpenNode {
    /// Admits nodes that join from now on. Answers the follower of the settings on record.
    pub(super) fn settings_follower(&self) -> SettingsFollower {
        let joined = Arc::new(Notify::new());
        self.cluster.admit_by(JoinParts {
            actors: Arc::clone(&self.actors),
            audit: self.audit.clone(),
            clock: self.clocks.cluster.clone(),
            joined: Arc::clone(&joined),
        });
        SettingsFollower {
            actors: Arc::clone(&self.actors),
            reloader: Arc::clone(&self.reloader),
            cluster: Arc::clone(&self.cluster),
            journal: self.journal.clone(),
            joined,
            data_dir: self.config.data_dir.clone(),
            audit: self.audit.clone(),
            clock: self.clocks.own.clone(),
        }
    }

    /// Keeps the record of this node correct, and counts its calls.
    pub(super) fn keep_record(&self, listen: SocketAddr, url: &str) -> JoinHandle<()> {
        let wanted = watch::Sender::new(own_record(self.identity, &self.config, url));
        let recording = tokio::spawn(keep_record(self.journal.clone(), wanted.subscribe()));
        self.cluster.record_by(wanted, listen);
        let (link, followed) = (Arc::clone(&self.cluster), self.journal.clone());
        tokio::spawn(async move { link.counts().follow(followed).await });
        recording
    }

    /// Creates the token of the first administrator. A node that leads is useful only with it, so this waits a moment.
    pub(super) async fn ensure_token(&self, url: String) -> JoinHandle<()> {
        let keeper = AdminTokenKeeper {
            actors: Arc::clone(&self.actors),
            files: self.token_files.clone(),
            url,
            audit: self.audit.clone(),
            reloads: self.reloader.reloads(),
        };
        let (ensured, is_ensured) = oneshot::channel();
        // A follower serves too: there the task waits until this node leads or somebody can administrate.
        let ensuring = tokio::spawn(keeper.run(ensured));
        // On a timeout the task goes on.
        let _ = timeout(TOKEN_TIME, is_ensured).await;
        ensuring
    }

    /// The parts that calls of the API and pages use.
    pub(super) fn http_state(&self, stopping: watch::Receiver<bool>) -> NodeHttpState {
        NodeHttpState {
            started: self.clocks.own.now(),
            clock: self.clocks.cluster.clone(),
            names: self.names.clone(),
            node_id: self.identity.number,
            cluster: Arc::clone(&self.cluster),
            live: self.live.clone(),
            admin_token_file: self.token_files.token(),
            login_guard: LoginGuard::default(),
            worker_refusals: WorkerRefusals::default(),
            gate: SignedCallVerifier::default(),
            audit: self.audit.clone(),
            reloader: Arc::clone(&self.reloader),
            journal: self.journal.clone(),
            actors: Arc::clone(&self.actors),
            share_links: self.share_links.view(),
            share_counts: KeptShareCounts::default(),
            file_names: KeptNameOrder::default(),
            hour_counts: KeptHourCounts::default(),
            overview: OverviewMemory::default(),
            forwarded_waits: ForwardedWaits::default(),
            page_work: WorkLimit::default(),
            overview_answer: SharedAnswer::default(),
            stopping,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;
    use crate::node::cluster::SETTINGS_CACHE;

    #[test]
    fn a_node_starts_with_the_settings_on_record_that_it_had() {
        let (dir, cluster) = (tempfile::tempdir().unwrap(), ClusterId::from(1));
        let in_force = || {
            let set = vec!["hosts.sources=10.0.0.1:1".to_owned()];
            let own = LoadedNodeConfig::read(Layers { set, ..Layers::default() }).unwrap();
            let (config, running) = with_record(own, dir.path(), cluster);
            let mut shown = running.effective.iter();
            let shown = shown.find(|setting| setting.key == "hosts.sources").unwrap();
            let (source, origin) = (&config.yard.hosts.sources[0], &shown.origin);
            (format!("{source} by {origin}"), running.record.map(|record| record.version))
        };
        let had = |sources: &str| {
            let head = format!("# reelyard settings on record 1, cluster {cluster}, version 3");
            let text = format!("{head}\nhosts.sources = {sources}\n");
            std::fs::write(dir.path().join(SETTINGS_CACHE), text).unwrap();
        };
        let own = ("10.0.0.1:1 by --set hosts.sources".to_owned(), None);
        assert_eq!(in_force(), own);
        had("[\"10.0.0.9:1\"]");
        assert_eq!(in_force(), ("10.0.0.9:1 by version 3 on record".to_owned(), Some(3)));
        had("[\"no host\"]");
        assert_eq!(in_force(), own);
    }
}
