//! The committed entries: each node applies the same ones, and each takes effect once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reelyard_boxes::box_lease::SharedTable;
use reelyard_core::clock::Millis;
use reelyard_core::event::{Commit, PieceId, RequestId};
use reelyard_replication::CommitAnswer;
use reelyard_shares::share_expiry::ShareTable;
use reelyard_yard::remover::RemovalBook;
use reelyard_yard::task_manager::{TaskBook, TaskOutcome};

use super::Judge;
use super::hashes::{hash, hash_answers};
use super::record::Committed;
use crate::simulation::environment::machine::WALL;
use crate::simulation::invariants::boxes::leases;
use crate::simulation::invariants::copies::removals;
use crate::simulation::invariants::links;
use crate::simulation::invariants::log::{acknowledged, deposed, same_pieces};
use crate::simulation::pieces;

impl Judge {
    /// Records that a leader's own entry was applied.
    pub fn passed(&mut self, index: u64, term: u64) {
        self.enter(index, Committed { term, payload: 0, answers: 0, pieces: BTreeMap::new() });
    }

    /// Records an entry. Returns whether any node applied it for the first time.
    fn enter(&mut self, index: u64, entry: Committed) -> bool {
        let position = usize::try_from(index - 1).unwrap_or(usize::MAX);
        let known = self.record.history.len();
        match self.record.history.get_mut(position) {
            Some(before) => {
                let verdict = same_pieces::check(index, before, &entry);
                self.check(verdict);
                false
            }
            None if position == known => {
                self.record.history.push(entry);
                true
            }
            None => {
                self.fail("log", format!("entry {index} was applied before the one before it"));
                false
            }
        }
    }

    /// Records that a node applied an entry. Returns whether it is the first node.
    pub fn applied(
        &mut self,
        index: u64,
        (term, payload): (u64, &[u8]),
        commits: &[Arc<Commit>],
        answers: &[CommitAnswer],
    ) -> bool {
        let entry = Committed {
            term,
            payload: hash(payload),
            answers: hash_answers(answers),
            pieces: BTreeMap::new(),
        };
        self.check(deposed::check(index, term, commits, answers));
        if !self.enter(index, entry) {
            return false;
        }
        for (commit, answer) in commits.iter().zip(answers) {
            self.enter_commit(index, term, commit, answer);
            if *answer == CommitAnswer::Deposed {
                self.deposed += 1;
            } else if !self.is_repeated(commit, answer) {
                self.first_effect(index, commit, answer);
            }
        }
        true
    }

    /// Records the first effect of a commit.
    fn first_effect(&mut self, index: u64, commit: &Commit, answer: &CommitAnswer) {
        match commit.piece {
            PieceId::Tasks => {
                for (event, result) in pieces::events_of::<TaskBook>(commit, answer) {
                    if matches!(result, Ok(TaskOutcome::Applied)) {
                        self.task_event(index, commit, &event);
                    }
                }
            }
            PieceId::Removals => {
                for (event, result) in pieces::events_of::<RemovalBook>(commit, answer) {
                    if let Ok(outcome) = result {
                        let verdict = self.removals.apply(commit.request, &event, outcome);
                        self.check((removals::NAME, verdict));
                    }
                }
            }
            PieceId::Shares => {
                for (event, result) in pieces::events_of::<ShareTable>(commit, answer) {
                    if let Ok(outcome) = result {
                        let times =
                            (commit.at, Millis(WALL).after(Duration::from_millis(self.now)));
                        let verdict = self.shares.apply(index, times, &event, &outcome);
                        self.check((links::NAME, verdict));
                    }
                }
            }
            PieceId::Boxes => {
                for (event, result) in pieces::events_of::<SharedTable>(commit, answer) {
                    if let Ok(outcome) = result {
                        let verdict = self.leases.apply(self.now, &event, &outcome);
                        self.check((leases::NAME, verdict));
                    }
                }
            }
            _ => {}
        }
    }

    fn enter_commit(&mut self, index: u64, term: u64, commit: &Commit, answer: &CommitAnswer) {
        if commit.epoch.0 == term && matches!(answer, CommitAnswer::Applied(_)) {
            self.record.requests.insert(commit.request, (index, commit.events.len()));
        }
    }

    /// Whether a remembered request was applied before. If so, the answer must be the same.
    fn is_repeated(&mut self, commit: &Commit, answer: &CommitAnswer) -> bool {
        if !commit.remember {
            return false;
        }
        match self.record.answers.get(&commit.request) {
            None => {
                self.record.answers.insert(commit.request, answer.clone());
                false
            }
            Some(before) => {
                let verdict = acknowledged::check_repeated(commit.request, before, answer);
                self.check(verdict);
                true
            }
        }
    }

    /// Records the digest of a node's piece at `index`, or why its rows do not read.
    pub fn piece_at(
        &mut self,
        node: usize,
        index: u64,
        piece: PieceId,
        digest: Result<u64, String>,
    ) {
        let position = usize::try_from(index).ok().and_then(|index| index.checked_sub(1));
        let Some(before) = position.and_then(|at| self.record.history.get_mut(at)) else { return };
        let wrong = match digest {
            Ok(digest) if *before.pieces.entry(piece).or_insert(digest) == digest => return,
            Ok(_) => "is another one than on another node".to_owned(),
            Err(error) => format!("does not read: {error}"),
        };
        let what = format!("node{node}'s piece {piece:?} at {index} {wrong}");
        self.fail(same_pieces::NAME, what);
    }

    /// Records the acknowledgement of a commit.
    pub fn acknowledged(&mut self, request: RequestId, outcomes: usize) {
        self.commits += 1;
        match acknowledged::check(&self.record, request, outcomes) {
            Ok(at) => self.acknowledged.push(at),
            Err(what) => self.fail(acknowledged::NAME, what),
        }
    }
}
