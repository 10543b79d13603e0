//! A raft node: it writes entries, answers its peers, rebuilds owners, and stops.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use actix::Recipient;
use reelyard_core::event::{Epoch, PieceId};
use reelyard_replication::{CommitAnswer, JournalCommand, Leadership};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::call_messages::{RaftRequest, RaftResponse, decode, encode, follows};
use super::contact::LeaderContact;
use super::log_pace::LogPace;
use super::network::PeerFactory;
use super::snapshot_transfer::SnapshotReceiver;
use super::state_machine::LogGrowth;
use super::{CommitBatch, LogId, Metrics, Raft};
use crate::open_commits::OpenCommits;
use crate::owners::PieceOwners;
use crate::session::ProposerSession;
use crate::settings::JournalOptions;
use crate::status::SnapshotOnWay;

/// An entry whose answers this node does not get. It may still be applied.
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
    pub(crate) behind: BTreeMap<u64, u64>,
    pub(crate) behind_ms: BTreeMap<u64, u64>,
    pub(crate) snapshots_sent: BTreeMap<u64, SnapshotOnWay>,
    pub(crate) snapshot: Option<u64>,
    pub(crate) snapshot_bytes: u64,
    pub(crate) bytes_since_snapshot: u64,
}

/// This node as a member of its cluster.
pub(crate) struct RaftNode {
    pub(super) id: u64,
    /// Set once the log is applied up to its known commit position.
    pub(super) raft: OnceLock<Raft>,
    pub(super) growth: Arc<LogGrowth>,
    pub(super) pace: LogPace,
    snapshots: SnapshotReceiver,
    /// Session for the proposer. It changes before the owners get `LeaderStarted`, so that the
    /// proposer accepts their first decision.
    session: watch::Sender<ProposerSession>,
    /// Leadership for all other readers. It changes after the owners get `LeaderStarted`. So a request that
    /// is sent after the change finds owners that know it.
    leadership: watch::Sender<Leadership>,
    /// A leader without an answer of a quorum for this time no longer leads.
    pub(super) patience: Duration,
    /// The interval between two calls of a leader.
    pub(super) heartbeat: Duration,
    /// Up to this time a node waits longer than `patience` before it stands for election.
    pub(super) election_spread: Duration,
    failure: watch::Sender<Option<String>>,
    running: Mutex<Option<JoinHandle<()>>>,
    /// Held while the members change, and while the lead is handed over: one change at a time.
    pub(super) changing: tokio::sync::Mutex<()>,
    /// Calls the other nodes.
    pub(super) peers: PeerFactory,
    /// When the leader was heard.
    pub(super) contact: LeaderContact,
    /// Commits that have no answer yet.
    pub(crate) open_commits: OpenCommits,
    shown: Mutex<ShownLeadership>,
}

/// The leadership that readers see. Its lock keeps the changes of both fields in one order.
struct ShownLeadership {
    /// The leadership that the owners know.
    announced: Leadership,
    /// True while the lead is handed over: no commit is accepted, and readers see no leader.
    holds_commits: bool,
}

impl RaftNode {
    /// A node that has not started.
    pub(super) fn new(
        settings: &JournalOptions,
        growth: Arc<LogGrowth>,
        snapshots: SnapshotReceiver,
        peers: PeerFactory,
        contact: LeaderContact,
    ) -> Self {
        RaftNode {
            id: settings.node,
            raft: OnceLock::new(),
            growth,
            pace: LogPace::default(),
            snapshots,
            session: watch::Sender::new(ProposerSession {
                leadership: Leadership::Nobody,
                number: 0,
            }),
            leadership: watch::Sender::new(Leadership::Nobody),
            patience: settings.election.1,
            heartbeat: settings.heartbeat,
            election_spread: settings.election.1.saturating_sub(settings.election.0),
            failure: watch::Sender::new(None),
            running: Mutex::new(None),
            changing: tokio::sync::Mutex::default(),
            peers,
            contact,
            open_commits: OpenCommits::default(),
            shown: Mutex::new(ShownLeadership {
                announced: Leadership::Nobody,
                holds_commits: false,
            }),
        }
    }

    /// The current session, for the proposer.
    pub(crate) fn session(&self) -> watch::Receiver<ProposerSession> {
        self.session.subscribe()
    }

    /// The current leadership, as a channel to watch.
    pub(crate) fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// Why the node cannot continue, once it cannot.
    pub(crate) fn failure(&self) -> watch::Receiver<Option<String>> {
        self.failure.subscribe()
    }

    /// Writes one entry: answers once it is applied here.
    pub(crate) async fn write(&self, entry: Vec<u8>) -> Result<Vec<CommitAnswer>, NotWritten> {
        let raft = self.raft.get().ok_or(NotWritten)?;
        // openraft answers "not the leader" in two cases. It accepted nothing, or it later dropped the
        // entry from this node's log, while another node may still commit it.
        match raft.client_write(CommitBatch(entry.into())).await {
            Ok(written) => Ok(written.data),
            Err(error) => {
                tracing::debug!(%error, "a log entry was not written");
                Err(NotWritten)
            }
        }
    }

    /// Answers a call of the node `from`.
    pub(crate) async fn answer(&self, from: u64, request: &[u8]) -> Vec<u8> {
        let Some(raft) = self.raft.get() else {
            return encode(&RaftResponse::NotReady);
        };
        let request: Option<RaftRequest> = decode(request);
        if let Some(node) = request.as_ref().and_then(RaftRequest::of_node)
            && node != from
        {
            let why = format!("node {from} calls in the name of node {node}");
            tracing::warn!(from, node, "a call in the name of another node is refused");
            return encode(&RaftResponse::Refused(why));
        }
        let response = match request {
            Some(RaftRequest::Append { request, news }) => {
                self.snapshots.drop_given_up();
                let answer = raft.append_entries(request.into()).await;
                if answer.as_ref().is_ok_and(follows) {
                    self.contact.record_leader();
                }
                if let Some(news) = news.filter(|_| answer.as_ref().is_ok_and(follows)) {
                    self.contact.record_call(news, *self.peers.position.shown().borrow());
                }
                let answer = answer.map(Into::into).map_err(|error| error.to_string());
                RaftResponse::Append { answer, mark: self.contact.mark() }
            }
            Some(RaftRequest::Vote(request)) => {
                let answer = raft.vote(request.into()).await;
                if answer.as_ref().is_ok_and(|answer| answer.vote_granted) {
                    self.contact.record_vote();
                }
                RaftResponse::Vote(answer.map(Into::into).map_err(|error| error.to_string()))
            }
            Some(RaftRequest::Snapshot(part)) => {
                RaftResponse::Snapshot(self.snapshots.take(raft, part).await)
            }
            Some(RaftRequest::GiveWay { own, candidate }) => RaftResponse::Followed(
                self.follow_hand_over(raft, own.into(), Some(candidate.into())).await,
            ),
            Some(RaftRequest::Stand { own }) => {
                RaftResponse::Followed(self.follow_hand_over(raft, own.into(), None).await)
            }
            Some(RaftRequest::WouldVote { last }) => {
                RaftResponse::Followed(self.would_vote(raft, last.map(Into::into)))
            }
            Some(RaftRequest::ConfirmRead) => {
                RaftResponse::Confirmed(self.confirm_read(raft).await)
            }
            Some(RaftRequest::KeepRecord { record }) => {
                RaftResponse::Followed(self.keep_record_of(from, record.0).await.is_ok())
            }
            Some(RaftRequest::HasRoom) => RaftResponse::Followed(!self.has_full_disk()),
            Some(RaftRequest::Admit { record }) => {
                let admitted = self.admit_for(from, record.0).await;
                RaftResponse::Admitted(admitted.map_err(|error| error.to_string()))
            }
            Some(RaftRequest::CanCall { node }) => {
                RaftResponse::Followed(self.can_call(node).await)
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
            behind_ms: self.behind_ms(&metrics),
            behind: behind(&metrics),
            snapshots_sent: self.peers.contacts.snapshots_sent(),
            snapshot: metrics.snapshot.map(|log_id| log_id.index),
            snapshot_bytes: self.growth.snapshot_bytes.load(Ordering::Relaxed),
            bytes_since_snapshot: self.growth.since_snapshot.load(Ordering::Relaxed),
        }
    }

    /// For how many milliseconds each member lacks an entry, on the leader.
    fn behind_ms(&self, metrics: &Metrics) -> BTreeMap<u64, u64> {
        let now = Instant::now();
        let lag = |(&number, matched): (&u64, &Option<LogId>)| {
            let lag = self.pace.lag(matched.map_or(0, |log_id| log_id.index + 1), now);
            (number, u64::try_from(lag.as_millis()).unwrap_or(u64::MAX))
        };
        metrics.replication.iter().flatten().map(lag).collect()
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
        owners.set_leadership(leadership.epoch());
        self.show_leadership(|shown| shown.announced = leadership);
    }

    /// Accepts no commits for a while, and shows no leader meanwhile.
    pub(super) fn hold_commits(&self, holds: bool) {
        let led = self.session.borrow().leadership.epoch();
        self.show_leadership(|shown| {
            shown.holds_commits = holds;
            // The end of an epoch is known before it is announced to all owners.
            if shown.announced.epoch() != led {
                shown.announced = Leadership::Nobody;
            }
        });
    }

    /// Whether commits are refused because the lead is handed over.
    pub(crate) fn holds_commits(&self) -> bool {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).holds_commits
    }

    fn show_leadership(&self, change: impl FnOnce(&mut ShownLeadership)) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut shown);
        let is_hidden = shown.holds_commits && shown.announced.epoch().is_some();
        let leadership = if is_hidden { Leadership::Nobody } else { shown.announced };
        self.peers.quorum.set_leading(leadership.epoch());
        self.leadership.send_if_modified(|present| {
            let changed = *present != leadership;
            *present = leadership;
            changed
        });
    }

    /// Rebuilds an owner up to the last entry. If this node leads, the owner may decide only after the
    /// decisions of its previous incarnation are applied and no more of them can follow.
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
            let caught_up = self.caught_up(raft, owners, epoch);
            if let Ok(Some(())) = tokio::time::timeout(self.patience, caught_up).await {
                owners.let_lead(piece, ticket, epoch);
            } else {
                // Waits for a change, or for a short time.
                let mut metrics = raft.metrics();
                metrics.mark_unchanged();
                let _ = tokio::time::timeout(self.patience, metrics.changed()).await;
            }
        }
    }

    /// Waits until there is a leader, and this node has applied the log that it had then. False if the
    /// journal stopped instead.
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
        // The leader may remove entries that no quorum confirmed. Then fewer entries must be applied.
        let applied = metrics.wait_for(|now| {
            end = end.min(now.last_log_index.map_or(0, |last| last + 1));
            now.last_applied.map_or(0, |log_id| log_id.index + 1) >= end
        });
        applied.await.is_ok()
    }

    /// Waits until a quorum confirms that this node leads in `epoch` and everything in its log is applied. None
    /// if it no longer leads.
    pub(super) async fn caught_up(
        &self,
        raft: &Raft,
        owners: &PieceOwners,
        epoch: Epoch,
    ) -> Option<()> {
        if !self.confirm_lead(raft).await {
            return None;
        }
        // The whole log, not only the part that is known to be committed. A node that restarted as the leader
        // has entries of its own epoch that no quorum confirmed yet. Earlier proposals are in the log by now,
        // because openraft handles calls in order.
        let end = owners.log_end().await?;
        let mut metrics = raft.metrics();
        let reached = |now: &Metrics| {
            let applied = now.last_applied.map_or(0, |log_id| log_id.index + 1);
            now.current_term != epoch.0 || applied >= end
        };
        let now = metrics.wait_for(reached).await.ok()?;
        (now.current_term == epoch.0).then_some(())
    }

    pub(super) fn running(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many entries each member is behind the log of this node, on the leader.
fn behind(metrics: &Metrics) -> BTreeMap<u64, u64> {
    let end = metrics.last_log_index.map_or(0, |last| last + 1);
    let has = |matched: &Option<LogId>| matched.map_or(0, |log_id| log_id.index + 1);
    let replication = metrics.replication.iter().flatten();
    replication.map(|(&number, matched)| (number, end.saturating_sub(has(matched)))).collect()
}
