//! How commits become entries, after the journal's proposer: those that arrive while one entry is
//! under way go into the next. What an entry takes and how it is written is the journal's own code.

use std::collections::VecDeque;

use reelyard_core::event::{Commit, Epoch, RequestId};
use reelyard_replication::batch::{self, EntryFill};
use reelyard_replication::{CommitAnswer, CommitError, ENTRY_BYTES, ENTRY_EVENTS};

/// One commit on its way, and who waits for it.
#[derive(Clone, Debug)]
pub struct SimulatedProposal<W> {
    /// The node's number for it.
    pub number: u64,
    /// Its request.
    pub request: RequestId,
    /// The epoch in which it was decided.
    pub epoch: Epoch,
    session: u64,
    events: usize,
    encoded: Vec<u8>,
    /// Who waits; none once it was told "outcome unknown".
    pub waiter: Option<W>,
}

/// An entry that was filled.
#[derive(Clone, Debug)]
pub struct PendingEntry<W> {
    /// The node's number for it.
    pub entry: u64,
    /// The session in which it was filled.
    pub session: u64,
    /// What is in it.
    pub proposals: Vec<SimulatedProposal<W>>,
    /// Its bytes, until it is written.
    pub bytes: Option<Vec<u8>>,
    /// Where it was written: index and term.
    pub written: Option<(u64, u64)>,
}

/// A commit that came back.
pub struct FinishedCommit<W> {
    /// Its request.
    pub request: RequestId,
    /// Who waits for it, unless it was told already.
    pub waiter: Option<W>,
    /// What came of it.
    pub result: Result<CommitAnswer, CommitError>,
}

/// The proposer of one node.
#[derive(Debug)]
pub struct SimulatedProposer<W> {
    queue: VecDeque<SimulatedProposal<W>>,
    /// The entry under way.
    pub under_way: Option<PendingEntry<W>>,
    /// The epoch in which this node leads, as the proposer knows.
    pub leading: Option<Epoch>,
    /// Which run of leading.
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
    /// Takes a commit in; the number of its proposal, or what it is refused with.
    pub fn hand_in(&mut self, commit: &Commit, waiter: W) -> Result<u64, (W, CommitError)> {
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

    /// Fills the next entry, if none is under way. Commits of another session are refused.
    pub fn fill(&mut self, back: &mut Vec<FinishedCommit<W>>) -> Option<u64> {
        if self.under_way.is_some() {
            return None;
        }
        let mut fill = EntryFill::default();
        let mut proposals = Vec::new();
        while let Some(proposal) = self.queue.pop_front() {
            if self.leading != Some(proposal.epoch) || proposal.session != self.session {
                back.push(proposal.back(Err(CommitError::Deposed)));
            } else if fill.take(proposal.events, proposal.encoded.len()) {
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

    /// What becomes of the entry under way is not waited for any more.
    pub fn give_up(&mut self, back: &mut Vec<FinishedCommit<W>>) {
        for proposal in self.under_way.take().into_iter().flat_map(|entry| entry.proposals) {
            let request = proposal.request;
            back.push(proposal.back(Err(CommitError::Unknown { request })));
        }
    }

    /// The entry under way was applied.
    pub fn applied(&mut self, answers: Vec<CommitAnswer>, back: &mut Vec<FinishedCommit<W>>) {
        let proposals = self.under_way.take().into_iter().flat_map(|entry| entry.proposals);
        for (proposal, answer) in proposals.zip(answers) {
            back.push(proposal.back(Ok(answer)));
        }
    }

    /// A commit has waited long enough: who waits is told that its outcome is unknown.
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
