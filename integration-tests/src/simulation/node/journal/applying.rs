//! Application of the log: the owners are registered and rebuilt, apply the entries, and freeze their pieces for snapshots.

use std::collections::BTreeMap;
use std::sync::Arc;

use actix::Recipient;
use reelyard_core::event::{Commit, PieceId};
use reelyard_replication::{CommitAnswer, JournalCommand, batch};
use tokio::sync::oneshot;

use super::{EntryApplication, JournalWork, OwnerAnswers};
use crate::simulation::environment::context::Context;
use crate::simulation::environment::messages::SimulatedMessage;
use crate::simulation::environment::parties::Party;
use crate::simulation::node::{SNAPSHOT_EVERY, SimulatedNode};
use crate::simulation::pieces::{self, PIECES, PieceRows};
use crate::simulation::raft::replica::{Outgoing, Rpc};
use crate::trace;

impl SimulatedNode {
    pub(in crate::simulation::node) fn raft(
        &mut self,
        context: &mut Context,
        from: Party,
        rpc: Rpc,
    ) {
        let Party::Node(from) = from else { return };
        let (out, installed) = self.replica.receive(from, rpc, context.now(), &mut context.rng);
        self.post(context, out);
        if installed {
            trace!(context, "{} takes a snapshot of another", self.party());
            self.install(context);
        }
        self.advance(context);
    }

    pub(in crate::simulation::node) fn post(&mut self, context: &mut Context, out: Outgoing) {
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
    pub(in crate::simulation::node) fn install(&mut self, context: &mut Context) {
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
    pub(in crate::simulation::node) fn register(
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

    /// Records an owner that waits for the log up to its present end.
    pub(in crate::simulation::node) fn catches_up(
        &mut self,
        piece: PieceId,
        reply: oneshot::Sender<bool>,
    ) {
        self.hosted.catching_up.push((self.log_at_start, piece, reply));
    }

    /// Applies all committed entries, as far as the owners have answered. Returns whether anything happened.
    pub(in crate::simulation::node) fn advance(&mut self, context: &mut Context) -> bool {
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
            self.finish_commits(context, back);
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
        self.finish_commits(context, back);
        self.propose(context);
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
