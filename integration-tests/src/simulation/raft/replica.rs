//! The replicated log below the journal, as a small model of Raft: terms, elections, overwritten entries,
//! snapshots. All its content counts as synced. It is not under test: the journal's own tests run the real
//! one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::simulation::pieces::PieceRows;

/// The interval of a leader's heartbeats, in milliseconds.
pub const HEARTBEAT: u64 = 1000;
/// The time without a leader after which a follower becomes a candidate, in milliseconds.
const ELECTION: std::ops::Range<u64> = 3000..5000;
/// The time without answers of a quorum after which a leader steps down, in milliseconds.
const PATIENCE: u64 = ELECTION.end;
/// The number of entries that a replica keeps before a snapshot.
const KEPT_BEHIND: usize = 8;

/// One entry; a leader's first one is empty.
#[derive(Clone, Debug)]
pub struct ReplicaEntry {
    /// The term of the leader that wrote it.
    pub term: u64,
    /// The encoded commits of the entry.
    pub payload: Arc<[u8]>,
}

/// The state of all pieces at one index.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The index of the last entry in it.
    pub index: u64,
    /// The term of that entry.
    pub term: u64,
    /// The snapshot rows of all pieces.
    pub rows: PieceRows,
}

/// The messages between replicas.
#[derive(Clone, Debug)]
pub enum Rpc {
    /// A request for a vote.
    Vote {
        /// The candidate's term.
        term: u64,
        /// Term and index of its last entry.
        last: (u64, u64),
    },
    /// The answer to [`Rpc::Vote`].
    Voted {
        /// The voter's term.
        term: u64,
        /// Whether the voter votes for the candidate.
        granted: bool,
    },
    /// Entries after `prev`.
    Append {
        /// The leader's term.
        term: u64,
        /// Index and term of the previous entry.
        prev: (u64, u64),
        /// The entries after `prev`, in order.
        entries: Vec<ReplicaEntry>,
        /// The commit index of the leader.
        commit: u64,
    },
    /// The answer to entries or to a snapshot.
    Appended {
        /// The follower's term.
        term: u64,
        /// The index up to which its log equals the leader's; `None` when it lacks `prev`.
        matched: Option<u64>,
        /// The last index of its log.
        last: u64,
    },
    /// A snapshot for a follower that needs entries which the leader has deleted.
    Install {
        /// The leader's term.
        term: u64,
        /// The leader's current snapshot.
        snapshot: Snapshot,
    },
}

/// Messages to other replicas.
pub type Outgoing = Vec<(usize, Rpc)>;

#[derive(Debug)]
enum RaftRole {
    Follower,
    Candidate {
        votes: BTreeSet<usize>,
    },
    Leader {
        next: BTreeMap<usize, u64>,
        matched: BTreeMap<usize, u64>,
        answered_at: BTreeMap<usize, u64>,
    },
}

/// One node's replica of the log.
#[derive(Debug)]
pub struct Replica {
    id: usize,
    members: usize,
    // Durable state.
    term: u64,
    voted: Option<usize>,
    /// The entry before the first one kept: index and term.
    base: (u64, u64),
    log: Vec<ReplicaEntry>,
    snapshot: Option<Snapshot>,
    // State in memory.
    role: RaftRole,
    commit: u64,
    leader_seen_at: Option<u64>,
    stands_at: u64,
    beats_at: u64,
}

impl Replica {
    /// An empty replica in a cluster of `members`.
    pub fn new(id: usize, members: usize) -> Self {
        Replica {
            id,
            members,
            term: 0,
            voted: None,
            base: (0, 0),
            log: Vec::new(),
            snapshot: None,
            role: RaftRole::Follower,
            commit: 0,
            leader_seen_at: None,
            stands_at: 0,
            beats_at: 0,
        }
    }

    /// Resets the state in memory, as a restart at `now` does.
    pub fn restart(&mut self, now: u64, rng: &mut fastrand::Rng) {
        self.role = RaftRole::Follower;
        self.commit = self.snapshot.as_ref().map_or(0, |snapshot| snapshot.index);
        self.leader_seen_at = None;
        self.stands_at = if self.members == 1 { now } else { now + rng.u64(ELECTION) };
    }

    /// The known commit index.
    pub fn commit(&self) -> u64 {
        self.commit
    }

    /// The current snapshot.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// The number of kept entries.
    pub fn kept(&self) -> usize {
        self.log.len()
    }

    /// The last index of the log.
    pub fn last(&self) -> u64 {
        self.base.0 + self.log.len() as u64
    }

    /// An entry, if the log still contains it.
    pub fn entry(&self, index: u64) -> Option<&ReplicaEntry> {
        let position = index.checked_sub(self.base.0 + 1)?;
        self.log.get(usize::try_from(position).ok()?)
    }

    /// The term of an entry; `None` when the log does not contain it.
    fn term_of(&self, index: u64) -> Option<u64> {
        if index == self.base.0 { Some(self.base.1) } else { Some(self.entry(index)?.term) }
    }

    /// Whether this log contains the entry of `term` at `index`, or a snapshot replaced it.
    pub fn holds(&self, index: u64, term: u64) -> bool {
        index < self.base.0 || self.term_of(index) == Some(term)
    }

    /// The term in which this replica leads.
    pub fn leads(&self) -> Option<u64> {
        matches!(self.role, RaftRole::Leader { .. }).then_some(self.term)
    }

    /// The term in which this replica leads and had recent answers of a quorum.
    pub fn leads_a_quorum(&self, now: u64) -> Option<u64> {
        let RaftRole::Leader { answered_at, .. } = &self.role else { return None };
        let answering = answered_at.values().filter(|&&at| now < at + PATIENCE).count();
        ((answering + 1) * 2 > self.members).then_some(self.term)
    }

    /// Appends an entry on a leader. Returns its index and term.
    pub fn append(&mut self, payload: Arc<[u8]>) -> Option<(u64, u64)> {
        self.leads()?;
        self.log.push(ReplicaEntry { term: self.term, payload });
        self.count();
        Some((self.last(), self.term))
    }

    /// Stores a snapshot of everything up to `index`.
    pub fn keep_snapshot(&mut self, index: u64, rows: PieceRows) {
        let Some(term) = self.term_of(index) else { return };
        self.snapshot = Some(Snapshot { index, term, rows });
        let position = usize::try_from(index - self.base.0).unwrap_or(0);
        let surplus = position.saturating_sub(KEPT_BEHIND);
        if surplus > 0 {
            let base = self.base.0 + surplus as u64;
            self.base = (base, self.log[surplus - 1].term);
            self.log.drain(..surplus);
        }
    }

    /// Sends due heartbeats at `now`, or starts an election.
    pub fn tick(&mut self, now: u64, rng: &mut fastrand::Rng) -> Outgoing {
        if self.leads().is_some() {
            if now < self.beats_at {
                return Outgoing::new();
            }
            return self.beat(now);
        }
        if now < self.stands_at {
            return Outgoing::new();
        }
        self.term += 1;
        self.voted = Some(self.id);
        self.role = RaftRole::Candidate { votes: BTreeSet::from([self.id]) };
        self.stands_at = now + rng.u64(ELECTION);
        let (last, term) = (self.last(), self.term);
        let last = (self.term_of(last).unwrap_or(0), last);
        if self.members == 1 {
            return self.win(now);
        }
        self.others().map(|other| (other, Rpc::Vote { term, last })).collect()
    }

    /// The time of the next call of [`Replica::tick`].
    pub fn next_tick(&self, now: u64) -> u64 {
        let at = if self.leads().is_some() { self.beats_at } else { self.stands_at };
        at.max(now + 1)
    }

    /// Sends each follower the entries that it lacks.
    pub fn beat(&mut self, now: u64) -> Outgoing {
        self.beats_at = now + HEARTBEAT;
        let others: Vec<usize> = self.others().collect();
        others.into_iter().filter_map(|other| Some((other, self.append_for(other)?))).collect()
    }

    /// Handles a message. Returns the answers, and whether a snapshot replaced the state.
    pub fn receive(
        &mut self,
        from: usize,
        rpc: Rpc,
        now: u64,
        rng: &mut fastrand::Rng,
    ) -> (Outgoing, bool) {
        let mut out = Outgoing::new();
        match rpc {
            Rpc::Vote { term, last } => {
                // A leader with recent messages keeps its leadership.
                let has_leader = self.leads_a_quorum(now).is_some()
                    || self.leader_seen_at.is_some_and(|at| now < at + ELECTION.start);
                if has_leader {
                    return (out, false);
                }
                self.follow(term);
                let mine = (self.term_of(self.last()).unwrap_or(0), self.last());
                let granted = term == self.term
                    && last >= mine
                    && self.voted.is_none_or(|voted| voted == from);
                if granted {
                    self.voted = Some(from);
                    self.stands_at = now + rng.u64(ELECTION);
                }
                out.push((from, Rpc::Voted { term: self.term, granted }));
            }
            Rpc::Voted { term, granted } => {
                self.follow(term);
                if let RaftRole::Candidate { votes } = &mut self.role
                    && granted
                    && term == self.term
                {
                    votes.insert(from);
                    if votes.len() * 2 > self.members {
                        out = self.win(now);
                    }
                }
            }
            Rpc::Append { term, prev, entries, commit } => {
                if self.record_leader_contact(term, now, rng) {
                    let matched = self.take(prev, entries);
                    if let Some(matched) = matched {
                        self.commit = self.commit.max(commit.min(matched));
                    }
                    out.push((from, self.appended(matched)));
                } else {
                    out.push((from, self.appended(None)));
                }
            }
            Rpc::Install { term, snapshot } => {
                if self.record_leader_contact(term, now, rng) {
                    let index = snapshot.index;
                    let is_new = index > self.commit;
                    if is_new {
                        self.base = (index, snapshot.term);
                        self.log.clear();
                        self.commit = index;
                        self.snapshot = Some(snapshot);
                    }
                    out.push((from, self.appended(Some(index.min(self.last())))));
                    return (out, is_new);
                }
                out.push((from, self.appended(None)));
            }
            Rpc::Appended { term, matched, last } => {
                self.follow(term);
                out = self.answered(from, term, matched, last, now);
            }
        }
        (out, false)
    }

    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let id = self.id;
        (0..self.members).filter(move |&other| other != id)
    }

    fn appended(&self, matched: Option<u64>) -> Rpc {
        Rpc::Appended { term: self.term, matched, last: self.last() }
    }

    /// A higher term makes every replica a follower.
    fn follow(&mut self, term: u64) {
        if term > self.term {
            self.term = term;
            self.voted = None;
            self.role = RaftRole::Follower;
        }
    }

    fn record_leader_contact(&mut self, term: u64, now: u64, rng: &mut fastrand::Rng) -> bool {
        self.follow(term);
        if term < self.term {
            return false;
        }
        self.role = RaftRole::Follower;
        self.leader_seen_at = Some(now);
        self.stands_at = now + rng.u64(ELECTION);
        true
    }

    /// Adds a leader's entries after `prev`. Returns the index up to which the log equals the leader's.
    fn take(&mut self, prev: (u64, u64), entries: Vec<ReplicaEntry>) -> Option<u64> {
        // Entries before the snapshot are committed and therefore equal to the leader's.
        let skipped = usize::try_from(self.base.0.saturating_sub(prev.0)).unwrap_or(usize::MAX);
        if skipped == 0 && self.term_of(prev.0) != Some(prev.1) {
            return None;
        }
        let matched = prev.0 + entries.len() as u64;
        let first = prev.0.max(self.base.0) + 1;
        for (index, entry) in (first..).zip(entries.into_iter().skip(skipped)) {
            match self.term_of(index) {
                Some(term) if term == entry.term => continue,
                Some(_) => self.log.truncate((index - self.base.0 - 1) as usize),
                None => {}
            }
            self.log.push(entry);
        }
        Some(matched.max(self.base.0))
    }

    fn win(&mut self, now: u64) -> Outgoing {
        let next = self.last() + 1;
        self.role = RaftRole::Leader {
            next: self.others().map(|other| (other, next)).collect(),
            matched: self.others().map(|other| (other, 0)).collect(),
            answered_at: BTreeMap::new(),
        };
        self.leader_seen_at = None;
        self.append(Arc::from([]));
        self.beat(now)
    }

    fn append_for(&self, other: usize) -> Option<Rpc> {
        let RaftRole::Leader { next, .. } = &self.role else { return None };
        let prev = next.get(&other)? - 1;
        let term = self.term;
        if prev < self.base.0 {
            let snapshot = self.snapshot.clone()?;
            return Some(Rpc::Install { term, snapshot });
        }
        let entries = self.log[(prev - self.base.0) as usize..].to_vec();
        let prev = (prev, self.term_of(prev)?);
        Some(Rpc::Append { term, prev, entries, commit: self.commit })
    }

    fn answered(
        &mut self,
        from: usize,
        term: u64,
        answer: Option<u64>,
        last: u64,
        now: u64,
    ) -> Outgoing {
        let end = self.last();
        let RaftRole::Leader { next, matched, answered_at } = &mut self.role else {
            return Outgoing::new();
        };
        if term != self.term {
            return Outgoing::new();
        }
        answered_at.insert(from, now);
        let next = next.entry(from).or_insert(1);
        match answer {
            Some(index) => {
                let index = index.min(end);
                let matched = matched.entry(from).or_default();
                *matched = index.max(*matched);
                *next = *matched + 1;
                let behind = *matched < end;
                self.count();
                if !behind {
                    return Outgoing::new();
                }
            }
            None => *next = (*next - 1).min(last + 1).max(1),
        }
        self.append_for(from).map(|rpc| (from, rpc)).into_iter().collect()
    }

    /// Commits entries of this term that a majority has.
    fn count(&mut self) {
        let end = self.last();
        let RaftRole::Leader { matched, .. } = &self.role else { return };
        let mut ends: Vec<u64> = matched.values().copied().chain([end]).collect();
        ends.sort_unstable();
        let majority = ends[(ends.len() - 1) / 2];
        if majority > self.commit && self.term_of(majority) == Some(self.term) {
            self.commit = majority;
        }
    }
}
