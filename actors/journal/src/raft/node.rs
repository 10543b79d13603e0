//! A raft node: writing, answering its peers, seating owners, ending.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use actix::Recipient;
use openraft::{Config, SnapshotPolicy};
use reelyard_core::event::PieceId;
use reelyard_replication::{CommitAnswer, JournalCommand, Leadership};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::log_store::LogStore;
use super::network::{PeerFactory, RaftRequest, RaftResponse, decode, encode};
use super::state_machine::{LogGrowth, PieceStateMachine};
use super::watcher::{RaftWatcher, caught_up};
use super::{CommitBatch, Types};
use crate::owners::PieceOwners;
use crate::session::ProposerSession;
use crate::settings::{JournalOptions, OpenError};
use crate::store::{JournalStore, SnapshotManifest};
use crate::transport::Transport;

pub(super) type Raft = openraft::Raft<Types>;

/// The most entries of one append call: with entries of up to 32 KiB this is 2 MiB.
const ENTRIES_PER_CALL: u64 = 64;
/// How long the last call of a snapshot may take: the other node installs it before it answers.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(60);
const SNAPSHOT_CALL_BYTES: u64 = 1 << 20;

/// An entry whose answers this node does not learn. It may still be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NotWritten;

/// Metrics of openraft.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeFigures {
    pub(crate) term: u64,
    pub(crate) leader: Option<u64>,
    pub(crate) voters: Vec<u64>,
    pub(crate) last_log: Option<u64>,
    pub(crate) applied: Option<u64>,
    pub(crate) snapshot: Option<u64>,
    pub(crate) snapshot_bytes: u64,
    pub(crate) bytes_since_snapshot: u64,
}

/// This node as a member of its cluster.
pub(crate) struct RaftNode {
    pub(super) id: u64,
    /// Set once the log is applied as far as it is known to be committed.
    pub(super) raft: OnceLock<Raft>,
    pub(super) growth: Arc<LogGrowth>,
    /// Session for the proposer. It changes before the owners get `LeaderStarted`, so that the
    /// proposer accepts their first decision.
    session: watch::Sender<ProposerSession>,
    /// Leadership for all other readers. It changes after the owners get `LeaderStarted`, so that a request
    /// sent after the change finds owners that know it.
    leadership: watch::Sender<Leadership>,
    /// A leader without an answer of a quorum for this time no longer leads.
    pub(super) patience: Duration,
    failure: watch::Sender<Option<String>>,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl RaftNode {
    /// Starts the node on the runtime it is called in. It answers at once: the log is applied in
    /// the background as the owners of the pieces arrive.
    pub(crate) fn start(
        settings: &JournalOptions,
        transport: Arc<dyn Transport>,
        owners: Arc<PieceOwners>,
        store: Arc<JournalStore>,
        snapshot: Option<&SnapshotManifest>,
    ) -> Result<Arc<RaftNode>, OpenError> {
        let config = Arc::new(config(settings)?);
        let growth = Arc::new(LogGrowth::default());
        let machine =
            PieceStateMachine::new(owners.clone(), store.clone(), growth.clone(), snapshot)
                .map_err(|error| OpenError::of_store(&settings.dir, error))?;
        let node = Arc::new(RaftNode {
            id: settings.node,
            raft: OnceLock::new(),
            growth,
            session: watch::Sender::new(ProposerSession {
                leadership: Leadership::Nobody,
                number: 0,
            }),
            leadership: watch::Sender::new(Leadership::Nobody),
            patience: settings.election.1,
            failure: watch::Sender::new(None),
            running: Mutex::new(None),
        });
        let run = RaftWatcher {
            node: node.clone(),
            owners,
            founders: settings.founders.clone(),
            heartbeat: settings.heartbeat,
            snapshot_log_bytes: settings.snapshot_log_bytes,
            snapshot_when_quiet: settings.snapshot_when_quiet,
        };
        let task = async move {
            let network = PeerFactory { transport };
            let opened = Raft::new(run.node.id, config, network, LogStore::new(store), machine);
            match opened.await {
                Ok(raft) => run.until_it_ends(raft).await,
                Err(error) => run.fail(&error.to_string()),
            }
        };
        *node.running() = Some(tokio::spawn(task));
        Ok(node)
    }

    /// Present session, for the proposer.
    pub(crate) fn session(&self) -> watch::Receiver<ProposerSession> {
        self.session.subscribe()
    }

    /// Present leadership, as a channel to watch.
    pub(crate) fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// Why the node cannot go on, once it cannot.
    pub(crate) fn failure(&self) -> watch::Receiver<Option<String>> {
        self.failure.subscribe()
    }

    /// Writes one entry: answers once it is applied here.
    pub(crate) async fn write(&self, entry: Vec<u8>) -> Result<Vec<CommitAnswer>, NotWritten> {
        let raft = self.raft.get().ok_or(NotWritten)?;
        // openraft answers "not the leader" in two cases. It took nothing in, or it later dropped the entry
        // from this node's log, while another node may still bring it through.
        match raft.client_write(CommitBatch(entry.into())).await {
            Ok(written) => Ok(written.data),
            Err(error) => {
                tracing::debug!(%error, "a log entry was not written");
                Err(NotWritten)
            }
        }
    }

    /// Answers another node's call.
    pub(crate) async fn answer(&self, request: &[u8]) -> Vec<u8> {
        let Some(raft) = self.raft.get() else {
            return encode(&RaftResponse::NotReady);
        };
        let response = match decode(request) {
            Some(RaftRequest::Append(request)) => {
                RaftResponse::Append(raft.append_entries(request).await)
            }
            Some(RaftRequest::Vote(request)) => RaftResponse::Vote(raft.vote(request).await),
            Some(RaftRequest::Snapshot(request)) => {
                RaftResponse::Snapshot(raft.install_snapshot(request).await)
            }
            None => RaftResponse::NotUnderstood,
        };
        encode(&response)
    }

    /// Figures of the raft node for the status.
    pub(crate) fn figures(&self) -> NodeFigures {
        let Some(raft) = self.raft.get() else {
            return NodeFigures::default();
        };
        let metrics = raft.metrics().borrow().clone();
        NodeFigures {
            term: metrics.current_term,
            leader: metrics.current_leader,
            voters: metrics.membership_config.membership().voter_ids().collect(),
            last_log: metrics.last_log_index,
            applied: metrics.last_applied.map(|log_id| log_id.index),
            snapshot: metrics.snapshot.map(|log_id| log_id.index),
            snapshot_bytes: self.growth.snapshot_bytes.load(Ordering::Relaxed),
            bytes_since_snapshot: self.growth.since_snapshot.load(Ordering::Relaxed),
        }
    }

    /// Ends the node. Idempotent.
    pub(crate) async fn stop(&self, owners: &PieceOwners) {
        let running = self.running().take();
        if let Some(raft) = self.raft.get()
            && let Err(error) = raft.shutdown().await
        {
            tracing::error!(%error, "the raft node did not stop cleanly");
        }
        if let Some(running) = running {
            // Without a raft node it still waits for owners, which will not come.
            running.abort();
            let _ = running.await;
        }
        self.publish_leadership(owners, Leadership::Stopped);
    }

    /// Ends leadership and records why the journal cannot continue.
    pub(crate) fn fail(&self, owners: &PieceOwners, why: &str) {
        tracing::error!(why, "the journal has failed");
        self.publish_leadership(owners, Leadership::Stopped);
        self.failure.send_replace(Some(why.to_owned()));
    }

    /// Publishes the leader to all owners and readers.
    pub(crate) fn publish_leadership(&self, owners: &PieceOwners, leadership: Leadership) {
        self.session.send_if_modified(|session| {
            let changed = session.leadership != leadership;
            if changed {
                *session = ProposerSession { leadership, number: session.number + 1 };
            }
            changed
        });
        owners.lead(leadership.epoch());
        self.leadership.send_if_modified(|present| {
            let changed = *present != leadership;
            *present = leadership;
            changed
        });
    }

    /// Brings an owner to the present. If this node leads, the owner may decide only after the decisions of
    /// its former incarnation are applied and no more of them can come.
    pub(crate) async fn join_owner(
        &self,
        owners: &PieceOwners,
        piece: PieceId,
        recipient: Recipient<JournalCommand>,
        ticket: u64,
    ) {
        if let Err(error) = owners.join(piece, recipient, ticket).await {
            return self.fail(owners, &error.to_string());
        }
        while let (Some(epoch), Some(raft)) =
            (owners.kept_from_leading(piece, ticket), self.raft.get())
        {
            self.session.send_modify(|session| session.number += 1);
            let caught_up = caught_up(raft, owners, epoch);
            if let Ok(Some(())) = tokio::time::timeout(self.patience, caught_up).await {
                owners.let_lead(piece, ticket, epoch);
            } else {
                // Until anything changes, or for a while.
                let mut metrics = raft.metrics();
                metrics.mark_unchanged();
                let _ = tokio::time::timeout(self.patience, metrics.changed()).await;
            }
        }
    }

    /// Waits until there is a leader and this node has applied the log that it held then. False if
    /// the journal stopped instead.
    pub(crate) async fn came_up(&self) -> bool {
        let mut leadership = self.leadership();
        let led = leadership.wait_for(|leadership| *leadership != Leadership::Nobody).await;
        match led.map(|leadership| *leadership) {
            Ok(Leadership::Leading { .. }) => return true,
            Ok(Leadership::Following { .. }) => {}
            Ok(_) | Err(_) => return false,
        }
        // A node that follows a leader has a raft node.
        let Some(raft) = self.raft.get() else { return false };
        let mut metrics = raft.metrics();
        let mut end = u64::MAX;
        // The leader may cut off entries that no quorum confirmed: then there is less to wait for.
        let applied = metrics.wait_for(|now| {
            end = end.min(now.last_log_index.map_or(0, |last| last + 1));
            now.last_applied.map_or(0, |log_id| log_id.index + 1) >= end
        });
        applied.await.is_ok()
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How much more slowly a node that founds its cluster alone keeps time.
const SLOWER_ALONE: u32 = 16;

fn config(settings: &JournalOptions) -> Result<Config, OpenError> {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let slower = if settings.founders.keys().eq([&settings.node]) { SLOWER_ALONE } else { 1 };
    Config {
        cluster_name: "reelyard".to_owned(),
        heartbeat_interval: millis(settings.heartbeat * slower),
        election_timeout_min: millis(settings.election.0 * slower),
        election_timeout_max: millis(settings.election.1 * slower),
        install_snapshot_timeout: millis(INSTALL_TIMEOUT),
        snapshot_max_chunk_size: SNAPSHOT_CALL_BYTES,
        max_payload_entries: ENTRIES_PER_CALL,
        // Snapshots are taken by the size of the log, not by its count of entries.
        snapshot_policy: SnapshotPolicy::Never,
        max_in_snapshot_log_to_keep: settings.keep_entries,
        ..Config::default()
    }
    .validate()
    .map_err(|error| OpenError::Settings(error.to_string()))
}
