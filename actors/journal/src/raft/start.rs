//! Starts a raft node: its settings for openraft, and the task that watches over it.

use std::sync::Arc;
use std::time::Duration;

use openraft::{Config, SnapshotPolicy};
use reelyard_replication::Transport;

use super::Raft;
use super::contact::{LeaderContact, QuorumContact};
use super::log_store::LogStore;
use super::members::peer_contacts::PeerContacts;
use super::network::PeerFactory;
use super::node::RaftNode;
use super::runtime::TickGate;
use super::snapshot_transfer::SnapshotReceiver;
use super::state_machine::{LogGrowth, PieceStateMachine};
use super::watcher::RaftWatcher;
use crate::owners::PieceOwners;
use crate::settings::JournalOptions;
use crate::store::{JournalStore, OpenError, SnapshotManifest};

/// The most entries that are read for one append call: up to 2 MiB, with entries of up to 32 KiB. The call carries as
/// many of them as its budget of bytes allows.
const ENTRIES_PER_CALL: u64 = 64;

impl RaftNode {
    /// Starts the node on the current runtime. It answers at once: the log is applied in the
    /// background when the owners of the pieces register.
    pub(crate) fn start(
        settings: &JournalOptions,
        transport: Arc<dyn Transport>,
        owners: Arc<PieceOwners>,
        store: Arc<JournalStore>,
        snapshot: Option<&SnapshotManifest>,
    ) -> Result<Arc<RaftNode>, OpenError> {
        let config = Arc::new(config(settings)?);
        let time = settings.cluster_time.clone();
        let growth = Arc::new(LogGrowth { time: time.clone(), ..LogGrowth::default() });
        let machine =
            PieceStateMachine::new(owners.clone(), store.clone(), growth.clone(), snapshot)
                .map_err(|error| OpenError::of_store(&settings.dir, error))?;
        let contacts = PeerContacts::default();
        let clock = settings.clock.clone();
        // openraft refuses to elect another leader for this time.
        let lease = settings.election.1;
        let peers = PeerFactory {
            node: settings.node,
            transport,
            contacts,
            quorum: QuorumContact::new(
                settings.node,
                (clock.clone(), &time),
                lease,
                settings.clock_bound,
            ),
            position: owners.position(),
            room: store.room(),
        };
        let contact = LeaderContact::new(clock, time);
        let snapshots = SnapshotReceiver::new(&store, owners.clone());
        let node = Arc::new(RaftNode::new(settings, growth, snapshots, peers, contact));
        let run = RaftWatcher {
            node: node.clone(),
            owners,
            ticks: TickGate::default(),
            founders: settings.founders.clone(),
            contacts: node.peers.contacts.clone(),
            heartbeat: settings.heartbeat,
            snapshot_log_bytes: settings.snapshot_log_bytes,
            snapshot_when_quiet: settings.snapshot_when_quiet,
        };
        let task = async move {
            let network = run.node.peers.clone();
            let opened = Raft::new(run.node.id, config, network, LogStore::new(store), machine);
            match run.ticks.governs(opened).await {
                Ok(raft) => run.until_it_ends(raft).await,
                Err(error) => run.fail(&error.to_string()),
            }
        };
        *node.running() = Some(tokio::spawn(task));
        Ok(node)
    }
}

fn config(settings: &JournalOptions) -> Result<Config, OpenError> {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Config {
        cluster_name: "reelyard".to_owned(),
        heartbeat_interval: millis(settings.heartbeat),
        election_timeout_min: millis(settings.election.0),
        election_timeout_max: millis(settings.election.1),
        // [`RaftNode::stand_when_due`] begins them.
        enable_elect: false,
        max_payload_entries: ENTRIES_PER_CALL,
        // Snapshots are taken by the size of the log, not by its count of entries.
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: settings.keep_entries,
        ..Config::default()
    }
    .validate()
    .map_err(|error| OpenError::Settings(error.to_string()))
}
