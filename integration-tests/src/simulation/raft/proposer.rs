//! Joins commits into entries, after the journal's proposer: commits that arrive while one entry is in
//! progress go into the next one. The limits and the encoding of an entry are the journal's own code.

use std::collections::VecDeque;

use reelyard_core::event::{Commit, Epoch, RequestId};
use reelyard_replication::batch::{self, EntryFill};
use reelyard_replication::{CommitAnswer, CommitError, ENTRY_BYTES, ENTRY_EVENTS};

/// One commit in progress, and the party that waits for it.
#[derive(Clone, Debug)]
pub struct SimulatedProposal<W> {
    /// The node's number for the proposal.
    pub number: u64,
    /// The id under which the answer is remembered.
    pub request: RequestId,
    /// The epoch of the decision.
    pub epoch: Epoch,
    session: u64,
    events: usize,
    encoded: Vec<u8>,
    /// The waiting party; `None` after the answer "outcome unknown".
    pub waiter: Option<W>,
}

/// An entry with its commits, before or after its write.
#[derive(Clone, Debug)]
pub struct PendingEntry<W> {
    /// The node's number for the entry.
    pub entry: u64,
    /// The session that filled the entry.
    pub session: u64,
    /// The commits in the entry, in order.
    pub proposals: Vec<SimulatedProposal<W>>,
    /// The encoded commits, until they are written.
    pub bytes: Option<Vec<u8>>,
    /// The position in the log after the write: index and term.
    pub written: Option<(u64, u64)>,
}

/// The result of a commit.
pub struct FinishedCommit<W> {
    /// The id under which the answer is remembered.
    pub request: RequestId,
    /// The waiting party; `None` when it has its answer already.
    pub waiter: Option<W>,
    /// The answer, or the reason of the failure.
    pub result: Result<CommitAnswer, CommitError>,
}

/// The proposer of one node.
#[derive(Debug)]
pub struct SimulatedProposer<W> {
    queue: VecDeque<SimulatedProposal<W>>,
    /// The entry in progress.
    pub under_way: Option<PendingEntry<W>>,
    /// The epoch in which the proposer believes that this node leads.
    pub leading: Option<Epoch>,
    /// Increases with each period of leadership.
    pub session: u64,
    numbers: u64,
}

impl<W> Default for SimulatedProposer<W> {
    fn default() -> Self {
        let (queue, under_way) = (VecDeque::new(), None);
        SimulatedProposer { queue, under_way, leading: None, session: 0, numbers: 0 }
    }
}

impl<W> SimulatedProposer<W> {
    /// Accepts a commit and returns the number of its proposal, or refuses it.
    pub fn submit(&mut self, commit: &Commit, waiter: W) -> Result<u64, (W, CommitError)> {
        match self.leading {
            Some(epoch) if epoch == commit.epoch => {}
            Some(_) => return Err((waiter, CommitError::Deposed)),
            None => return Err((waiter, CommitError::NotLeader { leader: None })),
        }
        let encoded = batch::encode_commit(commit).unwrap_or_default();
        let (events, bytes) = (commit.events.len(), encoded.len());
        if encoded.is_empty() || events > ENTRY_EVENTS || bytes > ENTRY_BYTES {
            return Err((waiter, CommitError::TooLarge { events, bytes }));
        }
        self.numbers += 1;
        self.queue.push_back(SimulatedProposal {
            number: self.numbers,
            request: commit.request,
            epoch: commit.epoch,
            session: self.session,
            events,
            encoded,
            waiter: Some(waiter),
        });
        Ok(self.numbers)
    }

    /// Fills the next entry, unless one is in progress. Refuses commits of an earlier session.
    pub fn fill(&mut self, back: &mut Vec<FinishedCommit<W>>) -> Option<u64> {
        if self.under_way.is_some() {
            return None;
        }
        let mut fill = EntryFill::default();
        let mut proposals = Vec::new();
        while let Some(proposal) = self.queue.pop_front() {
            if self.leading != Some(proposal.epoch) || proposal.session != self.session {
                back.push(proposal.back(Err(CommitError::Deposed)));
            } else if fill.add(proposal.events, proposal.encoded.len()) {
                proposals.push(proposal);
            } else {
                self.queue.push_front(proposal);
                break;
            }
        }
        if proposals.is_empty() {
            return None;
        }
        self.numbers += 1;
        let bytes = batch::join(proposals.iter().map(|proposal| proposal.encoded.as_slice()));
        self.under_way = Some(PendingEntry {
            entry: self.numbers,
            session: self.session,
            proposals,
            bytes: Some(bytes),
            written: None,
        });
        Some(self.numbers)
    }

    /// Stops waiting for the entry in progress.
    pub fn give_up(&mut self, back: &mut Vec<FinishedCommit<W>>) {
        for proposal in self.under_way.take().into_iter().flat_map(|entry| entry.proposals) {
            let request = proposal.request;
            back.push(proposal.back(Err(CommitError::Unknown { request })));
        }
    }

    /// Handles the application of the entry in progress.
    pub fn applied(&mut self, answers: Vec<CommitAnswer>, back: &mut Vec<FinishedCommit<W>>) {
        let proposals = self.under_way.take().into_iter().flat_map(|entry| entry.proposals);
        for (proposal, answer) in proposals.zip(answers) {
            back.push(proposal.back(Ok(answer)));
        }
    }

    /// Handles the timeout of a commit: the waiting party gets the answer "outcome unknown".
    pub fn is_over(&mut self, number: u64, back: &mut Vec<FinishedCommit<W>>) {
        let under_way = self.under_way.iter_mut().flat_map(|entry| entry.proposals.iter_mut());
        let mut all = self.queue.iter_mut().chain(under_way);
        if let Some(proposal) = all.find(|proposal| proposal.number == number)
            && let Some(waiter) = proposal.waiter.take()
        {
            let request = proposal.request;
            let result = Err(CommitError::Unknown { request });
            back.push(FinishedCommit { request, waiter: Some(waiter), result });
        }
    }
}

impl<W> SimulatedProposal<W> {
    fn back(self, result: Result<CommitAnswer, CommitError>) -> FinishedCommit<W> {
        FinishedCommit { request: self.request, waiter: self.waiter, result }
    }
}
