//! Joins commits into entries: those that arrive while one entry is under way go into the next.
//!
//! openraft 0.9 waits for the disk on every entry, so with one commit per entry only a few thousand a
//! second would be possible.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use reelyard_core::event::{Commit, Epoch, RequestId};
use reelyard_replication::batch::{self, EntryFill};
use reelyard_replication::{
    CommitAnswer, CommitError, ENTRY_BYTES, ENTRY_EVENTS, Leadership, OnFullDisk,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::open_commits::OpenCommit;
use crate::raft::RaftNode;
use crate::session::ProposerSession;
use crate::status::JournalCounters;
use crate::store::DiskSpace;

/// How many commits may wait.
const QUEUE_COMMITS: usize = 4096;
/// How many bytes of commits may wait.
const QUEUE_BYTES: u64 = 8 << 20;
/// Bounds of the waiting time in a `Busy` answer.
const RETRY_AFTER: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(2));

/// Free room, with the reserve, that a commit on a full disk needs. The store is opened again after
/// a failed write, and that writes too.
const LEAST_WITH_RESERVE: u64 = 8 << 20;

type CommitReply = Result<CommitAnswer, CommitError>;

/// One commit that waits for its entry.
struct CommitProposal {
    request: RequestId,
    epoch: Epoch,
    /// The session in which it was proposed.
    session: u64,
    events: usize,
    encoded: Vec<u8>,
    reply: oneshot::Sender<CommitReply>,
    /// Dropped after the reply.
    _open: OpenCommit,
}

impl CommitProposal {
    /// Whether the commit was decided in this session. Older commits are not proposed, because
    /// later decisions did not consider them.
    fn belongs_to(&self, session: ProposerSession) -> bool {
        check_epoch(session.leadership, self.epoch).is_ok() && self.session == session.number
    }
}

/// Accepts commits for the next entries.
pub(crate) struct CommitProposer {
    queue: mpsc::Sender<CommitProposal>,
    node: Arc<RaftNode>,
    session: watch::Receiver<ProposerSession>,
    room: watch::Receiver<DiskSpace>,
    commit_timeout: Duration,
    counters: Arc<JournalCounters>,
    /// How long the last entry took, in microseconds.
    last_entry: Arc<AtomicU64>,
    stopping: watch::Sender<bool>,
}

impl CommitProposer {
    /// Starts the proposer of `node` on the runtime it is called in.
    pub(crate) fn start(
        node: Arc<RaftNode>,
        commit_timeout: Duration,
        room: watch::Receiver<DiskSpace>,
        counters: Arc<JournalCounters>,
    ) -> (CommitProposer, JoinHandle<()>) {
        let (queue, proposals) = mpsc::channel(QUEUE_COMMITS);
        let stopping = watch::Sender::new(false);
        let last_entry = Arc::new(AtomicU64::new(0));
        let join = EntryBatcher {
            proposals,
            carried: None,
            session: node.session(),
            stopping: stopping.subscribe(),
            last_entry: last_entry.clone(),
            counters: counters.clone(),
            node: node.clone(),
        };
        let session = node.session();
        let proposer = CommitProposer {
            queue,
            node,
            session,
            room,
            commit_timeout,
            counters,
            last_entry,
            stopping,
        };
        (proposer, tokio::spawn(join.run()))
    }

    /// Accepts no more commits. Waiting commits are still completed.
    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Commits. The commit is proposed at once, so that the log keeps the order of these calls. The future
    /// waits for the answer.
    pub(crate) fn commit(
        &self,
        commit: Commit,
        on_full_disk: OnFullDisk,
    ) -> impl Future<Output = CommitReply> + use<> {
        let (request, started) = (commit.request, Instant::now());
        let (handed_in, patience) = (self.submit(commit, on_full_disk), self.commit_timeout);
        let counters = self.counters.clone();
        async move {
            match timeout(patience, handed_in?).await {
                Ok(Ok(answer)) => {
                    if answer.is_ok() {
                        counters.committed_after(started.elapsed());
                    }
                    answer
                }
                Ok(Err(_)) | Err(_) => {
                    counters.unknown.fetch_add(1, Ordering::Relaxed);
                    Err(CommitError::Unknown { request })
                }
            }
        }
    }

    /// Why a commit finds no room.
    fn no_room(&self, on_full_disk: OnFullDisk) -> Option<String> {
        let room = self.room.borrow();
        let left = room.free.saturating_add(room.reserve);
        let half = LEAST_WITH_RESERVE + room.wanted.saturating_sub(LEAST_WITH_RESERVE) / 2;
        let has_room = match on_full_disk {
            OnFullDisk::UseReserve => left >= LEAST_WITH_RESERVE,
            OnFullDisk::UseHalfOfReserve => left >= half,
            OnFullDisk::Refuse => false,
        };
        room.full.clone().filter(|_| !has_room)
    }

    fn submit(
        &self,
        commit: Commit,
        on_full_disk: OnFullDisk,
    ) -> Result<oneshot::Receiver<CommitReply>, CommitError> {
        let counters = &self.counters;
        // Checked first, because without disk space no node leads for long.
        if let Some(why) = self.no_room(on_full_disk) {
            counters.refused_disk_full.fetch_add(1, Ordering::Relaxed);
            return Err(CommitError::DiskFull { why });
        }
        // Counted before the look at the hold, so that a hand-over waits for it or it sees the hold.
        let open = self.node.open_commits.begin();
        let session = *self.session.borrow();
        let mut admitted = check_epoch(session.leadership, commit.epoch);
        if self.node.holds_commits() {
            admitted = Err(CommitError::NotLeader { leader: None });
        }
        admitted.inspect_err(|_| {
            counters.refused_not_leading.fetch_add(1, Ordering::Relaxed);
        })?;
        let events = commit.events.len();
        // A commit that cannot be encoded fits no entry either.
        let encoded = batch::encode_commit(&commit).unwrap_or_default();
        let bytes = encoded.len();
        if encoded.is_empty() || events > ENTRY_EVENTS || bytes > ENTRY_BYTES {
            counters.refused_too_large.fetch_add(1, Ordering::Relaxed);
            return Err(CommitError::TooLarge { events, bytes });
        }
        let busy = || {
            counters.refused_busy.fetch_add(1, Ordering::Relaxed);
            CommitError::Busy { retry_after: self.retry_after() }
        };
        if counters.queued_bytes.load(Ordering::Relaxed) + bytes as u64 > QUEUE_BYTES {
            return Err(busy());
        }
        let (reply, answer) = oneshot::channel();
        let Commit { request, epoch, .. } = commit;
        // Counted before it can be removed again.
        counters.queued.fetch_add(1, Ordering::Relaxed);
        counters.queued_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        let session = session.number;
        let proposal =
            CommitProposal { request, epoch, session, events, encoded, reply, _open: open };
        self.queue.try_send(proposal).map_err(|refused| {
            counters.queued.fetch_sub(1, Ordering::Relaxed);
            counters.queued_bytes.fetch_sub(bytes as u64, Ordering::Relaxed);
            match refused {
                mpsc::error::TrySendError::Full(_) => busy(),
                mpsc::error::TrySendError::Closed(_) => CommitError::Stopped,
            }
        })?;
        Ok(answer)
    }

    /// The approximate time in which the queue is processed.
    fn retry_after(&self) -> Duration {
        let entries = self.counters.queued.load(Ordering::Relaxed) / ENTRY_EVENTS as u64 + 1;
        let each = Duration::from_micros(self.last_entry.load(Ordering::Relaxed));
        let all = each.saturating_mul(u32::try_from(entries).unwrap_or(u32::MAX));
        all.clamp(RETRY_AFTER.0, RETRY_AFTER.1)
    }
}

/// Whether a commit that was decided in `epoch` may still be proposed.
fn check_epoch(leadership: Leadership, epoch: Epoch) -> Result<(), CommitError> {
    if leadership.epoch() == Some(epoch) { Ok(()) } else { Err(leadership.refusal()) }
}

/// The task that makes entries, one at a time.
struct EntryBatcher {
    proposals: mpsc::Receiver<CommitProposal>,
    /// The first commit that did not fit into the last entry.
    carried: Option<CommitProposal>,
    node: Arc<RaftNode>,
    session: watch::Receiver<ProposerSession>,
    stopping: watch::Receiver<bool>,
    counters: Arc<JournalCounters>,
    last_entry: Arc<AtomicU64>,
}

impl EntryBatcher {
    async fn run(mut self) {
        while let Some(first) = self.next().await {
            let session = *self.session.borrow_and_update();
            let entry = self.fill(first, session);
            if !entry.is_empty() {
                let started = Instant::now();
                self.propose(entry, session).await;
                let took = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
                self.last_entry.store(took, Ordering::Relaxed);
            }
        }
    }

    async fn next(&mut self) -> Option<CommitProposal> {
        if let Some(carried) = self.carried.take() {
            return Some(carried);
        }
        tokio::select! {
            proposal = self.proposals.recv() => return proposal,
            _ = self.stopping.wait_for(|stopping| *stopping) => self.proposals.close(),
        }
        self.proposals.recv().await
    }

    /// The commits of the next entry: waiting commits that may still be proposed, until the entry is full.
    fn fill(&mut self, first: CommitProposal, session: ProposerSession) -> Vec<CommitProposal> {
        let mut fill = EntryFill::default();
        let mut entry = Vec::new();
        let mut next = Some(first);
        while let Some(proposal) = next.take().or_else(|| self.proposals.try_recv().ok()) {
            if !proposal.belongs_to(session) {
                self.taken(&proposal);
                self.refuse(proposal, session);
            } else if fill.add(proposal.events, proposal.encoded.len()) {
                self.taken(&proposal);
                entry.push(proposal);
            } else {
                self.carried = Some(proposal);
                break;
            }
        }
        entry
    }

    /// Answers that this commit is not and will not be proposed, because `session` is not the session of
    /// its decision.
    fn refuse(&self, proposal: CommitProposal, session: ProposerSession) {
        self.counters.refused_not_leading.fetch_add(1, Ordering::Relaxed);
        let epoch = check_epoch(session.leadership, proposal.epoch);
        // The caller may have stopped waiting.
        let _ = proposal.reply.send(Err(epoch.err().unwrap_or(CommitError::Deposed)));
    }

    fn taken(&self, proposal: &CommitProposal) {
        self.counters.queued.fetch_sub(1, Ordering::Relaxed);
        self.counters.queued_bytes.fetch_sub(proposal.encoded.len() as u64, Ordering::Relaxed);
    }

    /// Writes the entry that was filled in `session`, and answers each of its commits. Without a
    /// quorum this waits until the node stops leading or a new session begins. Then it no longer
    /// waits for the outcome.
    async fn propose(&mut self, entry: Vec<CommitProposal>, session: ProposerSession) {
        let bytes = batch::join(entry.iter().map(|proposal| proposal.encoded.as_slice()));
        let node = self.node.clone();
        let mut writing = pin!(node.write(bytes));
        // The first poll hands the entry to openraft. The session is held meanwhile. A session that begins
        // after that finds the entry in the log, and an earlier one gets none of it.
        let handed_in = poll_fn(|context| {
            let now = self.session.borrow();
            Poll::Ready((*now == session).then(|| writing.as_mut().poll(context)))
        });
        let written = match handed_in.await {
            None => {
                let now = *self.session.borrow();
                entry.into_iter().for_each(|proposal| self.refuse(proposal, now));
                return;
            }
            Some(Poll::Ready(written)) => written.ok(),
            Some(Poll::Pending) => tokio::select! {
                biased;
                written = writing => written.ok(),
                _ = self.session.wait_for(|now| *now != session) => None,
            },
        };
        let Some(answers) = written else {
            self.counters.unknown.fetch_add(entry.len() as u64, Ordering::Relaxed);
            for CommitProposal { request, reply, .. } in entry {
                let _ = reply.send(Err(CommitError::Unknown { request }));
            }
            return;
        };
        let events = entry.iter().map(|proposal| proposal.events as u64).sum();
        self.counters.entries.fetch_add(1, Ordering::Relaxed);
        self.counters.commits.fetch_add(entry.len() as u64, Ordering::Relaxed);
        self.counters.events.fetch_add(events, Ordering::Relaxed);
        assert_eq!(answers.len(), entry.len(), "one answer per commit");
        for (proposal, answer) in entry.into_iter().zip(answers) {
            let _ = proposal.reply.send(Ok(answer));
        }
    }
}
