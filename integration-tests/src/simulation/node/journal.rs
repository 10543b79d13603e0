//! The model of a node's journal. It applies the log through the owners, informs them of leadership, proposes
//! their commits, and settles the results.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix::Recipient;
use reelyard_core::event::{Commit, Epoch, PieceId};
use reelyard_replication::{
    Apply, CommitAnswer, CommitError, FrozenPiece, Install, InstallStage, JournalCommand,
    Leadership, batch,
};
use tokio::sync::oneshot;

use super::outbox::PendingReply;
use super::{COMMIT_TIMEOUT, SNAPSHOT_EVERY, SimulatedNode};
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::SimulatedMessage;
use crate::simulation::environment::parties::{Party, PartyTimer};
use crate::simulation::pieces::{self, PIECES, PieceRows};
use crate::simulation::raft::proposer::FinishedCommit;
use crate::simulation::raft::replica::{Outgoing, Rpc};
use crate::trace;

/// A piece that its owner freezes.
type PendingFreeze = oneshot::Receiver<Box<dyn FrozenPiece>>;

/// Answers of several owners to the same command.
struct OwnerAnswers<T> {
    waiting: BTreeMap<PieceId, oneshot::Receiver<T>>,
    came: BTreeMap<PieceId, T>,
}

impl<T> OwnerAnswers<T> {
    fn new() -> Self {
        OwnerAnswers { waiting: BTreeMap::new(), came: BTreeMap::new() }
    }

    /// Whether all owners have answered. An owner that ended is asked again once it is back.
    fn is_complete(&mut self) -> bool {
        let mut came = Vec::new();
        for (piece, answer) in &mut self.waiting {
            if let Ok(answer) = answer.try_recv() {
                came.push((*piece, answer));
            }
        }
        for (piece, answer) in came {
            self.waiting.remove(&piece);
            self.came.insert(piece, answer);
        }
        self.waiting.is_empty()
    }
}

/// An entry that the owners are applying.
struct EntryApplication {
    index: u64,
    term: u64,
    payload: Arc<[u8]>,
    commits: Vec<Arc<Commit>>,
    answers: OwnerAnswers<Vec<CommitAnswer>>,
}

/// The command that the owners are carrying out.
#[derive(Default)]
enum JournalWork {
    #[default]
    Nothing,
    Applying(EntryApplication),
    Freezing(u64, OwnerAnswers<Box<dyn FrozenPiece>>),
}

impl JournalWork {
    /// Whether no owner has still to answer.
    fn is_complete(&mut self) -> bool {
        match self {
            JournalWork::Nothing => true,
            JournalWork::Applying(entry) => entry.answers.is_complete(),
            JournalWork::Freezing(_, frozen) => frozen.is_complete(),
        }
    }
}

/// The owners of a node's pieces, and the commands to them.
#[derive(Default)]
pub(super) struct HostedOwners {
    owners: BTreeMap<PieceId, Recipient<JournalCommand>>,
    work: JournalWork,
    /// Owners that do not lead yet, and the end of the log at which they do.
    kept_from_leading: BTreeMap<PieceId, u64>,
    /// Owners that wait until they have applied the log up to this index.
    catching_up: Vec<(u64, PieceId, oneshot::Sender<bool>)>,
    /// Frozen pieces to compare with those of other nodes, by index.
    compared: Vec<(u64, PieceId, PendingFreeze)>,
}

impl HostedOwners {
    fn send(&self, piece: PieceId, command: JournalCommand) {
        if let Some(owner) = self.owners.get(&piece) {
            owner.do_send(command);
        }
    }

    fn freeze(&self, piece: PieceId) -> PendingFreeze {
        let (reply, frozen) = oneshot::channel();
        self.send(piece, JournalCommand::Freeze { reply });
        frozen
    }

    /// Has an owner apply its commits of an entry.
    fn apply(
        &self,
        piece: PieceId,
        (index, term): (u64, u64),
        commits: &[Arc<Commit>],
    ) -> oneshot::Receiver<Vec<CommitAnswer>> {
        let (reply, answers) = oneshot::channel();
        let its = commits.iter().filter(|commit| commit.piece == piece).cloned().collect();
        let apply = Apply { index, term: Epoch(term), commits: its, reply };
        self.send(piece, JournalCommand::Apply(apply));
        answers
    }

    fn install(&self, piece: PieceId, index: u64, rows: Vec<Vec<u8>>) {
        for stage in [InstallStage::Begin, InstallStage::Rows(rows), InstallStage::End] {
            // A row that does not read shows as another piece.
            let (reply, _) = oneshot::channel();
            self.send(piece, JournalCommand::Install(Install { index, stage, reply }));
        }
    }

    fn compare(&mut self, index: u64) {
        for piece in PIECES {
            let frozen = self.freeze(piece);
            self.compared.push((index, piece, frozen));
        }
    }
}

impl SimulatedNode {
    pub(super) fn raft(&mut self, context: &mut Context, from: Party, rpc: Rpc) {
        let Party::Node(from) = from else { return };
        let (out, installed) = self.replica.receive(from, rpc, context.now(), &mut context.rng);
        self.post(context, out);
        if installed {
            trace!(context, "{} takes a snapshot of another", self.party());
            self.install(context);
        }
        self.advance(context);
    }

    pub(super) fn post(&mut self, context: &mut Context, out: Outgoing) {
        for (to, rpc) in out {
            context.send(self.party(), Party::Node(to), SimulatedMessage::Raft(rpc));
        }
    }

    fn snapshot_rows(&self) -> (u64, PieceRows) {
        match self.replica.snapshot() {
            Some(snapshot) => (snapshot.index, PieceRows::clone(&snapshot.rows)),
            None => (0, PieceRows::default()),
        }
    }

    /// Replaces all pieces by the content of the snapshot.
    pub(super) fn install(&mut self, context: &mut Context) {
        let (index, rows) = self.snapshot_rows();
        self.hosted.work = JournalWork::Nothing;
        for piece in self.hosted.owners.keys() {
            self.hosted.install(*piece, index, rows.of(*piece));
        }
        self.applied = index;
        self.rebuilt_from = index;
        self.follows = context.now();
        if index > 0 && !self.hosted.owners.is_empty() {
            self.hosted.compare(index);
        }
    }

    /// Seats an owner. Its piece is rebuilt from the snapshot and the log.
    pub(super) fn register(
        &mut self,
        context: &mut Context,
        piece: PieceId,
        owner: Recipient<JournalCommand>,
    ) {
        self.hosted.owners.insert(piece, owner);
        let (snapshot, rows) = self.snapshot_rows();
        self.hosted.install(piece, snapshot, rows.of(piece));
        for index in snapshot + 1..=self.applied {
            let Some(entry) = self.replica.entry(index) else { continue };
            let commits = read_commits(context, index, &entry.payload);
            if commits.iter().any(|commit| commit.piece == piece) {
                self.hosted.apply(piece, (index, entry.term), &commits);
            }
        }
        self.follows = context.now();
        self.rebuilt_from = snapshot;
        let mut work = std::mem::take(&mut self.hosted.work);
        match &mut work {
            JournalWork::Nothing => {}
            JournalWork::Applying(entry) => {
                entry.answers.came.remove(&piece);
                if entry.commits.iter().any(|commit| commit.piece == piece) {
                    let again = self.hosted.apply(piece, (entry.index, entry.term), &entry.commits);
                    entry.answers.waiting.insert(piece, again);
                }
            }
            JournalWork::Freezing(_, frozen) => {
                frozen.came.remove(&piece);
                frozen.waiting.insert(piece, self.hosted.freeze(piece));
            }
        }
        self.hosted.work = work;
        if self.proposer.leading.is_some() {
            // Decisions of the former incarnation are not written any more.
            self.proposer.session += 1;
            self.decided.clear();
            self.hosted.kept_from_leading.insert(piece, self.replica.last());
        }
    }

    /// Notes an owner that waits for the log up to its present end.
    pub(super) fn catches_up(&mut self, piece: PieceId, reply: oneshot::Sender<bool>) {
        self.hosted.catching_up.push((self.log_at_start, piece, reply));
    }

    /// Applies all committed entries, as far as the owners have answered. Returns whether anything happened.
    pub(super) fn advance(&mut self, context: &mut Context) -> bool {
        let mut busy = self.compare_pieces(context);
        loop {
            if !self.hosted.work.is_complete() {
                return busy;
            }
            match std::mem::take(&mut self.hosted.work) {
                JournalWork::Nothing if self.applied < self.replica.commit() => {
                    if self.hosted.owners.len() < PIECES.len() {
                        return busy;
                    }
                    self.begin_next(context);
                }
                JournalWork::Nothing => break,
                JournalWork::Applying(entry) => self.finish_entry(context, entry),
                JournalWork::Freezing(index, frozen) => {
                    let rows = frozen
                        .came
                        .into_iter()
                        .map(|(piece, frozen)| (piece, pieces::rows_of(frozen)));
                    self.replica.keep_snapshot(index, rows.collect());
                }
            }
            busy = true;
        }
        // An entry that another leader's entry replaced gets no answer.
        let lost = self.proposer.under_way.as_ref().and_then(|entry| entry.written);
        if lost
            .is_some_and(|(index, term)| index <= self.applied || !self.replica.holds(index, term))
        {
            let mut back = Vec::new();
            self.proposer.give_up(&mut back);
            self.settle_all(context, back);
            self.propose(context);
        }
        let is_new = self.replica.snapshot().is_none_or(|last| last.index < self.applied);
        let is_hosted = self.hosted.owners.len() == PIECES.len();
        if self.replica.kept() >= SNAPSHOT_EVERY && is_new && is_hosted {
            let mut frozen = OwnerAnswers::new();
            for piece in PIECES {
                frozen.waiting.insert(piece, self.hosted.freeze(piece));
            }
            self.hosted.work = JournalWork::Freezing(self.applied, frozen);
            return true;
        }
        self.let_owners_on();
        self.notice(context);
        busy
    }

    /// Lets the owners lead that have applied the whole log, and answers those that wait for it.
    fn let_owners_on(&mut self) {
        let (applied, leading) = (self.applied, self.proposer.leading);
        let ready: Vec<PieceId> = self
            .hosted
            .kept_from_leading
            .iter()
            .filter(|(_, end)| **end <= applied)
            .map(|(piece, _)| *piece)
            .collect();
        for piece in ready {
            self.hosted.kept_from_leading.remove(&piece);
            if let Some(epoch) = leading {
                self.hosted.send(piece, JournalCommand::LeaderStarted { epoch });
            }
        }
        let waiting = std::mem::take(&mut self.hosted.catching_up);
        for (end, piece, reply) in waiting {
            if end <= applied && self.hosted.owners.contains_key(&piece) {
                // An owner that ended waits no more.
                let _ = reply.send(true);
            } else {
                self.hosted.catching_up.push((end, piece, reply));
            }
        }
    }

    fn compare_pieces(&mut self, context: &mut Context) -> bool {
        let mut busy = false;
        for (index, piece, mut frozen) in std::mem::take(&mut self.hosted.compared) {
            match frozen.try_recv() {
                Ok(frozen) => {
                    let rows = pieces::rows_of(frozen);
                    let digest = pieces::digest(piece, index, &rows);
                    context.judge.piece_at(self.id, index, piece, digest);
                    busy = true;
                }
                Err(oneshot::error::TryRecvError::Empty) => {
                    self.hosted.compared.push((index, piece, frozen));
                }
                Err(oneshot::error::TryRecvError::Closed) => {}
            }
        }
        busy
    }

    /// Has all pieces compared once more, at the end of a run.
    pub fn compare_now(&mut self) {
        self.hosted.compare(self.applied);
    }

    fn begin_next(&mut self, context: &mut Context) {
        let index = self.applied + 1;
        let Some(entry) = self.replica.entry(index).cloned() else {
            context.judge.fail("log", format!("node{} lacks entry {index}", self.id));
            self.applied = index;
            return;
        };
        if entry.payload.is_empty() {
            self.applied = index;
            context.judge.passed(index, entry.term);
            return;
        }
        let commits = read_commits(context, index, &entry.payload);
        let mut answers = OwnerAnswers::new();
        for piece in PIECES {
            if commits.iter().any(|commit| commit.piece == piece) {
                let asked = self.hosted.apply(piece, (index, entry.term), &commits);
                answers.waiting.insert(piece, asked);
            }
        }
        self.hosted.work = JournalWork::Applying(EntryApplication {
            index,
            term: entry.term,
            payload: entry.payload,
            commits,
            answers,
        });
    }

    fn finish_entry(&mut self, context: &mut Context, entry: EntryApplication) {
        let EntryApplication { index, term, payload, commits, answers } = entry;
        self.applied = index;
        let mut came: BTreeMap<PieceId, _> =
            answers.came.into_iter().map(|(piece, answers)| (piece, answers.into_iter())).collect();
        let answers: Vec<CommitAnswer> = commits
            .iter()
            .filter_map(|commit| came.get_mut(&commit.piece).and_then(Iterator::next))
            .collect();
        if context.judge.applied(index, (term, &payload), &commits, &answers) {
            for (commit, answer) in commits.iter().zip(&answers) {
                for line in pieces::describe(commit, answer) {
                    trace!(context, "{index}: {line}");
                }
            }
        }
        if index.is_multiple_of(32) {
            self.hosted.compare(index);
        }
        let mine = self.proposer.under_way.as_ref().and_then(|under_way| under_way.written);
        let mut back = Vec::new();
        if mine == Some((index, term)) {
            self.proposer.applied(answers, &mut back);
        }
        self.settle_all(context, back);
        self.propose(context);
    }

    // Leadership.

    /// The epoch in which this node leads: it has a quorum and has applied all earlier entries.
    pub(super) fn leads_by_now(&self, now: u64) -> Option<Epoch> {
        let term = self.replica.leads_a_quorum(now)?;
        let caught_up = self.applied == self.replica.last();
        (caught_up || self.proposer.leading == Some(Epoch(term))).then_some(Epoch(term))
    }

    /// Notices a change of leadership after a short delay, and rarely after a long one.
    pub(super) fn notice(&mut self, context: &mut Context) {
        if self.noticing || self.leads_by_now(context.now()) == self.proposer.leading {
            return;
        }
        self.noticing = true;
        let after = match context.rng.u32(0..100) {
            0..10 => context.rng.u64(1000..12_000),
            _ => context.rng.u64(0..20),
        };
        context.after(after, self.party(), self.life, PartyTimer::Notice);
    }

    pub(super) fn take_notice(&mut self, context: &mut Context) {
        let leading = self.leads_by_now(context.now());
        if leading == self.proposer.leading || self.hosted.owners.len() < PIECES.len() {
            return;
        }
        let led = self.proposer.leading.is_some();
        self.proposer.session += 1;
        self.proposer.leading = leading;
        self.decided.clear();
        self.hosted.kept_from_leading.clear();
        if led {
            trace!(context, "{} no longer leads", self.party());
            self.command_all(|| JournalCommand::LeaderStopped);
        }
        let mut back = Vec::new();
        self.proposer.give_up(&mut back);
        self.settle_all(context, back);
        if let Some(epoch) = leading {
            trace!(context, "{} leads in epoch {epoch}", self.party());
            context.leader = self.id;
            context.judge.leads(self.id, epoch.0);
            self.command_all(|| JournalCommand::LeaderStarted { epoch });
        }
        if let Some(process) = &self.process {
            process.leadership.send_replace(match leading {
                Some(epoch) => Leadership::Leading { epoch },
                None => Leadership::Nobody,
            });
        }
        self.propose(context);
    }

    fn command_all(&self, command: impl Fn() -> JournalCommand) {
        for piece in PIECES {
            self.hosted.send(piece, command());
        }
    }

    // Commits: proposals and their results.

    /// Takes a commit of an owner, or refuses it.
    pub(super) fn take_commit(
        &mut self,
        context: &mut Context,
        commit: &Commit,
        reply: PendingReply,
    ) {
        match self.proposer.hand_in(commit, reply) {
            Ok(proposal) => {
                let timer = PartyTimer::CommitIsOver { proposal };
                context.after(COMMIT_TIMEOUT, self.party(), self.life, timer);
                self.check_decision(context, commit);
            }
            Err((reply, error)) => {
                // An owner that ended waits no more.
                let _ = reply.send(Err(error));
            }
        }
        self.propose(context);
    }

    /// Fills the next entry and hands it to Raft.
    pub(super) fn propose(&mut self, context: &mut Context) {
        let mut back = Vec::new();
        if let Some(entry) = self.proposer.fill(&mut back) {
            let after = match context.rng.u32(0..100) {
                0..2 => context.rng.u64(500..8000),
                _ => context.rng.u64(1..6),
            };
            context.after(after, self.party(), self.life, PartyTimer::Write { entry });
        }
        self.settle_all(context, back);
    }

    pub(super) fn write(&mut self, context: &mut Context, number: u64) {
        let Some(entry) = self.proposer.under_way.as_mut().filter(|entry| entry.entry == number)
        else {
            return;
        };
        // An entry of an earlier session is not written.
        let bytes = entry.bytes.take().filter(|_| entry.session == self.proposer.session);
        let written = bytes.and_then(|bytes| self.replica.append(bytes.into()));
        entry.written = written;
        if written.is_none() {
            let mut back = Vec::new();
            self.proposer.give_up(&mut back);
            self.settle_all(context, back);
            self.propose(context);
        } else {
            let out = self.replica.beat(context.now());
            self.post(context, out);
        }
        self.advance(context);
    }

    pub(super) fn settle_all(
        &mut self,
        context: &mut Context,
        back: Vec<FinishedCommit<PendingReply>>,
    ) {
        for FinishedCommit { request, waiter, result } in back {
            if !matches!(result, Err(CommitError::Unknown { .. })) {
                self.decided.remove(&request);
            }
            // A party that has the answer "outcome unknown" waits no more.
            let Some(reply) = waiter else { continue };
            if let Ok(CommitAnswer::Applied(answers)) = &result {
                context.judge.acknowledged(request, answers.len());
            }
            // An owner that ended waits no more.
            let _ = reply.send(result);
        }
    }
}

/// The commits of an entry; a leader's first one is empty.
fn read_commits(context: &mut Context, index: u64, payload: &[u8]) -> Vec<Arc<Commit>> {
    if payload.is_empty() {
        return Vec::new();
    }
    match batch::read(payload) {
        Ok(commits) => commits.into_iter().map(Arc::new).collect(),
        Err(error) => {
            context.judge.fail("log", format!("entry {index}: {error}"));
            Vec::new()
        }
    }
}
