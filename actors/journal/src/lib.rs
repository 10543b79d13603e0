#![doc = include_str!("README.md")]

mod maintenance;
mod open_commits;
mod owner;
mod owners;
mod proposer;
mod raft;
mod reads;
mod session;
mod settings;
mod shown_position;
mod status;
mod store;
mod stream;
mod stuck;
mod thread;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use actix::Recipient;
use futures::future::BoxFuture;
pub use maintenance::backup::{BackupError, BackupSummary, RestoredMembers, back_up, restore};
pub use maintenance::identify::{found_cluster, has_store, keep_joiner, stored_identity};
pub use maintenance::report::{Condition, PieceSize, SnapshotReport, StoreFault, StoreReport};
pub use maintenance::skipping::skip;
pub use maintenance::upkeep::{UpkeepError, accept_loss, check};
pub use raft::{HandOverError, MemberChange, MemberChangeError};
pub use reads::BehindEntry;
use reelyard_replication::{
    CommitAnswer, CommitError, FORMAT_LEVEL, JournalCommand, Leadership, Member, MemberRecord,
    NodeIdentity, OnFullDisk, ReplicatedLog,
};
pub use reelyard_replication::{NoPeers, NodeUnreachable, Transport};
pub use settings::{JournalConfig, JournalOptions};
pub use status::{JournalStatus, SnapshotOnWay};
pub use store::{OpenError, SkippedEntry, StoreIdentity, StoreObserver};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use reelyard_core::event::{Commit, PieceId};

use owners::PieceOwners;
use proposer::CommitProposer;
use raft::RaftNode;
use status::JournalCounters;
use store::{JournalStore, SkippedEntries, StoreError, StoreSettings};
use stuck::StuckOwners;
use thread::JournalThread;

/// How many skipped entries other nodes learn.
const MOST_SKIPPED: usize = 64;

/// How long a stopping journal waits until its store is closed.
const CLOSING: Duration = Duration::from_secs(10);

/// A handle on the journal of this node. Cheap to clone.
#[derive(Clone)]
pub struct Journal(Arc<JournalInner>);

struct JournalInner {
    identity: NodeIdentity,
    /// The runtime the journal was opened in: owners may call from any thread.
    runtime: Handle,
    /// Where the proposer and the raft node run.
    _thread: JournalThread,
    owners: Arc<PieceOwners>,
    node: Arc<RaftNode>,
    proposer: CommitProposer,
    counters: Arc<JournalCounters>,
    commit_timeout: Duration,
    stuck: StuckOwners,
    /// Whether owners decide while this node leads.
    decides: watch::Sender<bool>,
    /// The first `stop` takes this value.
    open: Mutex<Option<OpenJournal>>,
}

/// State that only an open journal has.
struct OpenJournal {
    store: Arc<JournalStore>,
    closed: watch::Receiver<bool>,
    proposing: JoinHandle<()>,
}

impl Journal {
    /// Opens the journal. Owners are rebuilt on the tokio runtime of the caller; everything else has its own
    /// threads. Every piece in `pieces` needs an owner, which must register next. Until all owners have
    /// registered, nothing is applied and no node leads.
    pub async fn open(
        mut settings: JournalOptions,
        transport: Arc<dyn Transport>,
        pieces: &[PieceId],
    ) -> Result<Journal, OpenError> {
        let id = settings.node;
        let store = StoreSettings {
            dir: settings.dir.clone(),
            node: id,
            reserve: settings.reserve,
            observer: settings.observer.clone(),
        };
        let failed = |error| OpenError::of_store(&settings.dir, error);
        let opening = tokio::task::spawn_blocking(move || JournalStore::open(store)).await;
        let (store, closed) =
            opening.map_err(|error| failed(StoreError::Io(error.to_string())))??;
        let identity = store.identity();
        if identity.has_joined {
            settings.founders.clear();
        }
        // A store without a number does not open.
        let identity =
            identity.node().ok_or_else(|| OpenError::NotJoined { dir: settings.dir.clone() })?;
        let snapshot = store.trees().await.map_err(failed)?.snapshot();
        let owners = PieceOwners::new(pieces, store.clone(), snapshot.clone(), raft::read_stored)
            .map_err(|error| OpenError::Settings(error.to_string()))?;
        let skipped = SkippedEntries::read(&settings.dir).map_err(|error| failed(error.into()))?;
        let owners = Arc::new(owners.skipping(skipped));
        let thread = JournalThread::start().map_err(|error| failed(StoreError::from(error)))?;
        let on_thread = thread.runtime().enter();
        let (of_node, of_store) = (owners.clone(), store.clone());
        let node = RaftNode::start(&settings, transport, of_node, of_store, snapshot.as_ref())?;
        let counters = Arc::new(JournalCounters::default());
        let (timeout, room) = (settings.commit_timeout, store.room());
        let (proposer, proposing) =
            CommitProposer::start(node.clone(), timeout, room, counters.clone());
        drop(on_thread);
        Ok(Journal(Arc::new(JournalInner {
            identity,
            runtime: Handle::current(),
            _thread: thread,
            owners,
            node,
            proposer,
            counters,
            commit_timeout: settings.commit_timeout,
            stuck: StuckOwners::default(),
            decides: watch::Sender::new(true),
            open: Mutex::new(Some(OpenJournal { store, closed, proposing })),
        })))
    }

    /// Sets whether owners make decisions of their own while this node leads. Requests are decided anyway.
    pub fn allow_decisions(&self, allowed: bool) {
        self.0.decides.send_if_modified(|now| std::mem::replace(now, allowed) != allowed);
    }

    /// Whether they do, as a channel to watch.
    pub fn decisions(&self) -> watch::Receiver<bool> {
        self.0.decides.subscribe()
    }

    /// Makes `owner` apply the events of `piece`. It first gets the current piece (`Install`, then `Apply`
    /// up to the last entry), while the application of new entries is paused. When this node leads,
    /// `LeaderStarted` follows. Registering again (a restarted actor) replaces the previous owner.
    pub fn register(&self, piece: PieceId, owner: Recipient<JournalCommand>) {
        let (owners, node) = (self.0.owners.clone(), self.0.node.clone());
        let ticket = owners.announce(piece);
        self.0.runtime.spawn(async move { node.join_owner(&owners, piece, owner, ticket).await });
    }

    /// Waits until the newest owner of `piece` has applied everything that was recorded when this node
    /// started. False if the journal stopped instead. Until then the piece may be old. A node must not use
    /// it for actions that need no leadership.
    pub async fn caught_up(&self, piece: PieceId) -> bool {
        self.0.node.came_up().await && self.0.owners.newest_owner_ready(piece).await
    }

    /// Commits: answered once the events are durable on a majority and applied here. The commit is proposed
    /// at once, before the future is polled. So the log keeps the order of the commits of one thread.
    pub fn commit(
        &self,
        commit: Commit,
    ) -> impl Future<Output = Result<CommitAnswer, CommitError>> + use<> {
        self.0.proposer.commit(commit, OnFullDisk::Refuse)
    }

    /// The answer to a call while the journal of this node opens.
    pub fn not_ready() -> Vec<u8> {
        raft::not_ready()
    }

    /// Answers a call of the journal of the node `from`, which its [`Transport`] carries here.
    pub async fn answer(&self, from: u64, request: &[u8]) -> Vec<u8> {
        self.0.node.answer(from, request).await
    }

    /// How other nodes know this one.
    pub fn identity(&self) -> NodeIdentity {
        self.0.identity
    }

    /// The members of the cluster that this node knows, by number. Empty while it is starting.
    pub fn members(&self) -> Vec<Member> {
        self.0.node.members()
    }

    /// The same members, as a channel to watch.
    pub fn member_changes(&self) -> watch::Receiver<Vec<Member>> {
        self.0.node.member_changes()
    }

    /// Changes the members, and waits until a quorum has the change.
    ///
    /// # Errors
    /// Another node leads, another change is not finished, or there is no such member.
    pub async fn change_members(&self, change: MemberChange) -> Result<(), MemberChangeError> {
        let node = self.0.node.clone();
        let changed = self.0.runtime.spawn(async move { node.change_members(change).await });
        // The task does not panic, and it is not aborted.
        changed.await.unwrap_or_else(|error| Err(MemberChangeError::NotReady(error.to_string())))
    }

    /// Puts the record of this node into the log: itself while it leads, otherwise by a call to the leader. The leader
    /// needs the addresses to call it.
    ///
    /// # Errors
    /// No leader took the record.
    pub async fn keep_record(&self, record: MemberRecord) -> Result<(), MemberChangeError> {
        let node = self.0.node.clone();
        let kept = self.0.runtime.spawn(async move { node.keep_record(record).await });
        kept.await.unwrap_or_else(|error| Err(MemberChangeError::NotReady(error.to_string())))
    }

    /// Makes another voter the leader: `wanted`, or the one that has most of the log. Answers its number. No commit
    /// is lost: those that come meanwhile are refused as for a node that does not lead.
    ///
    /// # Errors
    /// Another node leads, or no other voter can lead now.
    pub async fn hand_over(&self, wanted: Option<u64>) -> Result<u64, HandOverError> {
        let node = self.0.node.clone();
        let handed = self.0.runtime.spawn(async move { node.hand_over(wanted).await });
        // The task does not panic, and it is not aborted.
        handed.await.unwrap_or(Err(HandOverError::NotLeader { leader: None }))
    }

    /// Adds a node that follows and does not vote yet, and answers its number. A store that is a member already
    /// keeps its number.
    ///
    /// # Errors
    /// No leader answers, or another change is not finished.
    pub async fn admit(&self, record: MemberRecord) -> Result<u64, MemberChangeError> {
        let node = self.0.node.clone();
        let admitted = self.0.runtime.spawn(async move { node.admit(record).await });
        admitted.await.unwrap_or_else(|error| Err(MemberChangeError::NotReady(error.to_string())))
    }

    /// The entries of the log, purged ones not included, and those of them that no owner applies: index and CRC-32C, of the
    /// newest ones.
    pub fn skipped_entries(&self) -> (Range<u64>, Vec<(u64, u32)>) {
        let trees = self.open_parts().as_ref().and_then(|open| open.store.open_trees());
        let log = trees.map(|trees| {
            let first = trees.head().purged.map_or(0, |purged| purged.index + 1);
            first..trees.log.end()
        });
        let skipped = self.0.owners.skipped_entries().newest(MOST_SKIPPED);
        (log.unwrap_or_default(), skipped)
    }

    /// The node that leads, if this node knows it.
    pub fn leader(&self) -> Option<u64> {
        match *self.leadership().borrow() {
            Leadership::Leading { .. } => Some(self.0.identity.number),
            Leadership::Following { leader } => Some(leader),
            Leadership::Nobody | Leadership::Stopped => None,
        }
    }

    /// Why no commits are accepted on a full disk, and what to do. None while there is room.
    pub fn disk_full(&self) -> Option<String> {
        let store = self.open_parts().as_ref().map(|open| open.store.clone())?;
        store.room().borrow().full.clone()
    }

    /// Whether this node follows a leader whose disk is full: then no node of the cluster takes a commit.
    pub fn leader_disk_full(&self) -> bool {
        self.0.node.is_leader_disk_full()
    }

    /// How far each wall clock is ahead of the median of the voters, in milliseconds, by number of the node. Only
    /// those beyond [`JournalOptions::clock_bound`]. Only the leader knows those of other nodes.
    pub fn wrong_clocks(&self) -> BTreeMap<u64, i64> {
        self.0.node.wrong_clocks()
    }

    /// Descriptions of owners whose own decision fits into no journal entry. Such an owner does not
    /// continue, and only a repair of the program helps.
    pub fn stuck(&self) -> Vec<String> {
        self.0.stuck.list(Instant::now())
    }

    /// The current leadership, as a channel to watch.
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.0.node.leadership()
    }

    /// Waits until the journal cannot continue, and returns the reason. The process must then end.
    pub async fn failed(&self) -> String {
        let mut failure = self.0.node.failure();
        // This handle keeps the sender alive.
        let why = failure.wait_for(Option::is_some).await;
        why.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    /// The current status of the journal.
    pub fn status(&self) -> JournalStatus {
        let figures = self.0.node.figures();
        let leadership = *self.leadership().borrow();
        let store = self.open_parts().as_ref().map(|open| open.store.clone());
        let trees = store.as_ref().and_then(|store| store.open_trees());
        let room = store.map(|store| store.room().borrow().clone()).unwrap_or_default();
        let mut status = JournalStatus {
            node: self.0.identity.number,
            voters: figures.voters,
            term: figures.term,
            leader: figures.leader,
            leading: leadership.epoch().map(|epoch| epoch.0),
            last_log: figures.last_log,
            applied: figures.applied,
            behind: figures.behind,
            behind_ms: figures.behind_ms,
            snapshots_sent: figures.snapshots_sent,
            snapshot: figures.snapshot,
            snapshot_bytes: figures.snapshot_bytes,
            bytes_since_snapshot: figures.bytes_since_snapshot,
            log_bytes: trees.as_ref().map_or(0, |trees| trees.log.bytes()),
            flushes: trees.as_ref().map_or(0, |trees| trees.flushes()),
            disk_free: room.free,
            disk_reserve: room.reserve,
            disk_full: room.full,
            failure: self.0.node.failure().borrow().clone(),
            ..JournalStatus::default()
        };
        self.0.counters.show(&mut status);
        status
    }

    /// Stops the journal: accepts no more commits, finishes running ones, ends the raft node and closes the
    /// store. The store can then be opened again. Idempotent.
    pub async fn stop(&self) {
        let Some(OpenJournal { store, mut closed, mut proposing }) = self.open_parts().take()
        else {
            return;
        };
        store.hurry();
        self.0.proposer.stop();
        if tokio::time::timeout(self.0.commit_timeout, &mut proposing).await.is_err() {
            tracing::warn!("commits were still under way when the journal stopped");
            proposing.abort();
        }
        self.0.node.stop(&self.0.owners).await;
        self.0.owners.close().await;
        drop(store);
        if tokio::time::timeout(CLOSING, closed.wait_for(|closed| *closed)).await.is_err() {
            tracing::error!("the journal's store did not close in time");
        }
    }

    fn open_parts(&self) -> std::sync::MutexGuard<'_, Option<OpenJournal>> {
        // No code under this lock can panic during a change.
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReplicatedLog for Journal {
    fn register(&self, piece: PieceId, owner: Recipient<JournalCommand>) {
        Journal::register(self, piece, owner);
    }

    fn commit(
        &self,
        commit: Commit,
        on_full_disk: OnFullDisk,
    ) -> BoxFuture<'static, Result<CommitAnswer, CommitError>> {
        Box::pin(self.0.proposer.commit(commit, on_full_disk))
    }

    fn caught_up(&self, piece: PieceId) -> BoxFuture<'static, bool> {
        let journal = self.clone();
        Box::pin(async move { Journal::caught_up(&journal, piece).await })
    }

    fn leadership(&self) -> watch::Receiver<Leadership> {
        Journal::leadership(self)
    }

    fn allows_decisions(&self) -> bool {
        *self.0.decides.borrow()
    }

    fn has_other_members(&self) -> bool {
        self.members().len() > 1
    }

    fn format_level(&self) -> u16 {
        let members = self.members();
        let own = self.identity().number;
        let levels = members.iter().map(|member| match member.number {
            // Its record may still be that of its former program.
            number if number == own => FORMAT_LEVEL,
            _ => member.record.format_level,
        });
        levels.min().unwrap_or(FORMAT_LEVEL)
    }

    fn disk_full(&self) -> Option<String> {
        Journal::disk_full(self)
    }

    fn view_published(&self, piece: PieceId, applied: u64) {
        self.0.owners.position().view(piece, applied + 1);
    }

    fn report_stuck(&self, piece: PieceId, error: &CommitError) {
        if self.0.stuck.record(piece, error.to_string(), Instant::now()) {
            tracing::error!(?piece, %error, "an owner cannot commit its own events: it is paused");
        }
    }
}
