//! Decisions that are not yet applied.

use std::collections::BTreeMap;

use reelyard_core::event::RequestId;

/// The events of running commits, so that the next decision sees them. They are not facts yet, so
/// readers never see them. They are removed when their commit is applied or refused, or when
/// leadership ends.
#[derive(Debug)]
pub struct InFlight<E> {
    commits: BTreeMap<RequestId, PendingCommit<E>>,
}

#[derive(Debug)]
struct PendingCommit<E> {
    events: Vec<E>,
    /// Number of attempts: a requester may repeat a request before the answer. Only the first
    /// applied attempt changes the piece.
    times: usize,
}

impl<E> Default for InFlight<E> {
    fn default() -> Self {
        InFlight { commits: BTreeMap::new() }
    }
}

impl<E> InFlight<E> {
    /// All events in flight, in the order of the ids of their requests.
    pub fn events(&self) -> impl Iterator<Item = &E> {
        self.commits.values().flat_map(|commit| &commit.events)
    }

    /// Whether a commit of this id is in flight.
    pub fn contains(&self, request: RequestId) -> bool {
        self.commits.contains_key(&request)
    }

    /// The decision of a request that is in flight.
    pub fn of(&self, request: RequestId) -> Option<&[E]> {
        self.commits.get(&request).map(|commit| commit.events.as_slice())
    }

    /// Whether another request in flight has the name of `request`.
    pub fn means_another(&self, request: RequestId) -> bool {
        let same_name = |other: &RequestId| *other != request && other.name() == request.name();
        self.commits.keys().any(same_name)
    }

    /// How many commits are in flight.
    pub fn len(&self) -> usize {
        self.commits.len()
    }

    /// Whether no commit is in flight.
    pub fn is_empty(&self) -> bool {
        self.commits.is_empty()
    }

    /// Records a commit as in flight, or one more attempt of it.
    pub fn begin(&mut self, request: RequestId, events: Vec<E>) {
        let commit = self.commits.entry(request).or_insert(PendingCommit { events, times: 0 });
        commit.times += 1;
    }

    /// A commit was refused, or never proposed. The same commit may be in flight a second time.
    pub fn end_one(&mut self, request: RequestId) {
        let Some(commit) = self.commits.get_mut(&request) else { return };
        commit.times -= 1;
        if commit.times == 0 {
            self.commits.remove(&request);
        }
    }

    /// A commit was applied. This is the outcome of all commits with this id.
    pub fn end(&mut self, request: RequestId) {
        self.commits.remove(&request);
    }

    /// Leadership ended: this node no longer waits for commits in flight.
    pub fn clear(&mut self) {
        self.commits.clear();
    }
}
