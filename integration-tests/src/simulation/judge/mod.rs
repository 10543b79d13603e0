//! Observes all events and checks the invariants. It keeps its own record of the committed events when any
//! node first applies them, and of the true content of the disks. It uses no code under test for its checks.

mod hashes;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use reelyard_api::{Granted, GrantedLease};
use reelyard_boxes::box_lease::SharedTable;
use reelyard_core::clock::Millis;
use reelyard_core::event::{Commit, Epoch, PieceId, RequestId};
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{Report, TaskId};
use reelyard_replication::CommitAnswer;
use reelyard_shares::share_expiry::{ShareId, ShareTable};
use reelyard_yard::remover::RemovalBook;
use reelyard_yard::task_manager::{NewTask, TaskBook, TaskEvent, TaskOutcome, TaskSettings};

use crate::simulation::environment::machine::WALL;
use crate::simulation::environment::parties::Party;
use crate::simulation::invariants::boxes::leases;
use crate::simulation::invariants::copies::{holdings, removals, reports, right_bytes};
use crate::simulation::invariants::log::{acknowledged, deposed, same_pieces};
use crate::simulation::invariants::plans::{
    back_off, ignored, one_copy, one_task, room, signs, sources, wires,
};
use crate::simulation::invariants::{Exceptions, links};
use crate::simulation::pieces;
use crate::simulation::scene::Scene;
use hashes::{hash, hash_answers};

/// A state or an event that breaks a promise of Reelyard.
#[derive(Clone, Debug)]
pub struct InvariantViolation {
    /// The name of the invariant, as in the test output.
    pub invariant: &'static str,
    /// A description of the violation, with the values.
    pub what: String,
}

/// One committed entry, as a node first applied it.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The term of the leader that wrote the entry.
    pub term: u64,
    /// A hash of the entry's bytes.
    pub payload: u64,
    /// A hash of the answers to its commits.
    pub answers: u64,
    /// Hashes of the pieces after the entry, where they were computed.
    pub pieces: BTreeMap<PieceId, u64>,
}

/// The record of the judge: the committed events, applied in a simpler way than in the piece.
#[derive(Clone, Debug, Default)]
pub struct JudgeRecord {
    /// Every committed entry, from index 1 on.
    pub history: Vec<Committed>,
    /// Where each request was committed, and how many events it had.
    pub requests: BTreeMap<RequestId, (u64, usize)>,
    /// The answers to remembered requests.
    pub answers: BTreeMap<RequestId, CommitAnswer>,
    /// The open tasks, by id.
    pub open: BTreeMap<TaskId, NewTask>,
    /// The hosts that hold each file, as last confirmed.
    pub holders: BTreeMap<FileName, BTreeSet<HostAddr>>,
    /// Copies that arrived on a host by the record: the size, the leader's clock, and the index of the entry.
    pub landed: BTreeMap<(HostAddr, FileName), (u64, Millis, u64)>,
    /// The last confirmation of every copy, in virtual milliseconds.
    pub confirmed: BTreeMap<(HostAddr, FileName), u64>,
}

/// The judge of one run.
pub struct Judge {
    /// The first violation.
    pub broken: Option<InvariantViolation>,
    /// The judge's own record of committed events.
    pub record: JudgeRecord,
    /// The number of exceptions to "one copy".
    pub exceptions: Exceptions,
    /// Acknowledged commits since the last check: index and term.
    pub acknowledged: Vec<(u64, u64)>,
    /// The number of acknowledged commits.
    pub commits: u64,
    /// The number of published copies.
    pub copies: u64,
    /// The number of commits of deposed leaders that `apply` refused.
    pub deposed: u64,
    /// Every complete content that a master ever had.
    pub versions: BTreeSet<(FileName, u64)>,
    /// The shares and their links.
    pub shares: links::SharesOnRecord,
    /// The removals of copies.
    pub removals: removals::RemovalsOnRecord,
    /// The leases of boxes.
    pub leases: leases::LeaseRecord,
    /// The true holders of each file.
    pub on_disk: holdings::OnDisk,
    parties: BTreeMap<HostAddr, Party>,
    programs: BTreeMap<HostAddr, wires::ProgramCapabilities>,
    settings: TaskSettings,
    signs: BTreeMap<TaskId, Vec<(usize, Millis)>>,
    leaders: BTreeMap<u64, usize>,
    /// The present time in virtual milliseconds.
    pub now: u64,
    /// Whether the clock of a node ever jumped.
    pub clocks_jumped: bool,
}

impl Judge {
    /// A judge of this scene.
    pub fn new(scene: &Scene) -> Self {
        let parties = scene.hosts.iter().enumerate();
        Judge {
            broken: None,
            record: JudgeRecord::default(),
            exceptions: Exceptions::default(),
            acknowledged: Vec::new(),
            commits: 0,
            copies: 0,
            deposed: 0,
            versions: BTreeSet::new(),
            shares: links::SharesOnRecord::default(),
            removals: removals::RemovalsOnRecord::default(),
            leases: leases::LeaseRecord::default(),
            on_disk: BTreeMap::new(),
            parties: parties.map(|(number, host)| (host.addr, Party::Host(number))).collect(),
            programs: scene
                .hosts
                .iter()
                .map(|host| (host.addr, wires::ProgramCapabilities::of(host)))
                .collect(),
            settings: scene.settings.clone(),
            signs: BTreeMap::new(),
            leaders: BTreeMap::new(),
            now: 0,
            clocks_jumped: false,
        }
    }

    /// The party with this address.
    pub fn party_at(&self, host: HostAddr) -> Option<Party> {
        self.parties.get(&host).copied()
    }

    /// Whether the host with this address runs a Reelyard worker.
    pub fn is_ours(&self, host: HostAddr) -> bool {
        self.programs.get(&host).is_some_and(|program| program.ours)
    }

    /// Records a violation. Only the first one is kept.
    pub fn fail(&mut self, invariant: &'static str, what: String) {
        self.broken.get_or_insert(InvariantViolation { invariant, what });
    }

    /// Records the result of a check.
    pub fn check(&mut self, (invariant, verdict): (&'static str, Result<(), String>)) {
        if let Err(what) = verdict {
            self.fail(invariant, what);
        }
    }

    /// Records that a node leads in an epoch.
    pub fn leads(&mut self, node: usize, epoch: u64) {
        let before = *self.leaders.entry(epoch).or_insert(node);
        if before != node {
            self.fail("log", format!("node{node} and node{before} lead in epoch {epoch}"));
        }
    }

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
                        let verdict = self.removals.apply(&event, outcome);
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

    /// Records a copy that is done. Its master may have another size than when the copy was planned.
    fn completed(&mut self, index: u64, commit: &Commit, id: TaskId, size: Option<u64>) {
        let Some(task) = self.record.open.remove(&id) else {
            return self.late_completion(id);
        };
        let copy = (task.destination, task.name.clone());
        self.record.landed.insert(copy, (size.unwrap_or(task.size), commit.at, index));
        self.confirm(task.destination, &task.name);
    }

    /// Records the first effect of an event of a task.
    fn task_event(&mut self, index: u64, commit: &Commit, event: &TaskEvent) {
        let record = &self.record;
        match event {
            TaskEvent::Created(task) => {
                for verdict in [
                    one_task::check(record, task),
                    sources::check(record, task, self.settings.copies_per_source),
                    ignored::check(task),
                    one_copy::check(record, task),
                    wires::check(&self.programs, task),
                ] {
                    self.check(verdict);
                }
                self.record.open.insert(task.id, task.clone());
            }
            TaskEvent::Completed { id, size, .. } => self.completed(index, commit, *id, *size),
            TaskEvent::CompletedUnverified { id, size, .. } => {
                self.completed(index, commit, *id, Some(*size));
            }
            TaskEvent::Ended { id, ending, back_off } => {
                let leader = self.leaders.get(&commit.epoch.0).copied();
                let open = self.record.open.get(id);
                if let Some(task) = open.filter(|task| self.is_ours(task.destination)) {
                    let signs = self.signs.get(id).map_or(&[][..], Vec::as_slice);
                    let timeout = self.settings.timeout;
                    let verdict = signs::check(task, ending, leader, commit.at, signs, timeout);
                    self.check(verdict);
                }
                if let Some(back_off) = back_off {
                    let cap = self.settings.back_off.cap;
                    self.check(back_off::check(back_off, commit.at, cap));
                }
                self.record.open.remove(id);
            }
            TaskEvent::Placed { host, name } => {
                self.record.landed.insert((*host, name.clone()), (0, commit.at, index));
                self.confirm(*host, name);
            }
            TaskEvent::InventoryDiffered { host, added, removed, .. } => {
                for name in added {
                    self.confirm(*host, name);
                }
                for name in removed {
                    if let Some(holders) = self.record.holders.get_mut(name) {
                        holders.remove(host);
                    }
                }
            }
            _ => {}
        }
    }

    /// Records that an abandoned task is done after all. Its destination is known from its creation.
    fn late_completion(&mut self, id: TaskId) {
        if let Some((host, name)) = self.exceptions.given_up.get(&id).cloned() {
            self.confirm(host, &name);
        }
    }

    fn confirm(&mut self, host: HostAddr, name: &FileName) {
        self.record.holders.entry(name.clone()).or_default().insert(host);
        self.record.confirmed.insert((host, name.clone()), self.now);
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

    /// Records the answer of a node to a request for a link.
    pub fn opened(&mut self, by: links::AnsweringNode, id: ShareId, answer: links::LinkAnswer) {
        let verdict = self.shares.check(by, id, answer);
        self.check((links::NAME, verdict));
    }

    /// Records an answer to a job: it may promise leases.
    pub fn answered_job(&mut self, body: &[u8]) {
        let granted = serde_json::from_slice::<Granted>(body).map(|granted| granted.leases);
        let renewed = || serde_json::from_slice::<GrantedLease>(body).map(|lease| vec![lease]);
        for lease in granted.or_else(|_| renewed()).unwrap_or_default() {
            let left = u64::try_from(lease.left.0.as_millis()).unwrap_or(u64::MAX);
            self.leases.promise(self.now, lease.lease_id, left);
        }
    }

    /// Whether a later leader was elected: decisions of this epoch have no effect any more.
    pub fn is_deposed(&self, epoch: Epoch) -> bool {
        self.leaders.keys().next_back().is_some_and(|latest| *latest > epoch.0)
    }

    /// Checks a leader's decisions against its knowledge of the hosts.
    pub fn decided(&mut self, events: &[TaskEvent], knows: &holdings::LeaderKnowledge) {
        for event in events {
            let verdict = match event {
                TaskEvent::Created(task) => {
                    self.exceptions.planned(task);
                    self.truth(knows).check_planned(task)
                }
                event => self.truth(knows).check_removed(event),
            };
            self.check(verdict);
        }
    }

    fn truth<'a>(&'a self, knows: &'a holdings::LeaderKnowledge) -> holdings::GroundTruth<'a> {
        let (disks, programs) = (&self.on_disk, &self.programs);
        let (confirmed, clocks_agree) = (&self.record.confirmed, !self.clocks_jumped);
        holdings::GroundTruth { disks, confirmed, programs, clocks_agree, knows }
    }

    /// Checks a leader's plan against its knowledge of the disks.
    pub fn planned(&mut self, tasks: &[NewTask], knows: &room::RoomKnowledge<'_>) {
        let percent = self.settings.storage_limit_percent;
        self.check(room::check(&self.record, tasks, knows, percent));
    }

    /// Records a sign of life of a task, at the clock of the leader.
    pub fn sign_of_life(&mut self, node: usize, task: TaskId, at: Millis) {
        self.signs.entry(task).or_default().push((node, at));
    }

    /// Records that a worker deletes a report after a node accepted it.
    pub fn forgotten(&mut self, host: HostAddr, report: &Report) {
        self.check(reports::check(&self.record, host, report));
    }

    /// Records that a copy got its name on a disk.
    pub fn published(
        &mut self,
        host: HostAddr,
        name: &FileName,
        content: u64,
        task: Option<TaskId>,
        verified: bool,
    ) {
        self.copies += 1;
        self.check(right_bytes::check(&self.versions, host, name, content, verified));
        let others = self.on_disk.entry(name.clone()).or_default();
        // An old cfw repeats a copy while no node leads.
        let is_second = !others.is_empty() && !others.contains_key(&host);
        others.entry(host).or_insert(self.now);
        if is_second {
            let is_open = task.is_some_and(|task| self.record.open.contains_key(&task));
            self.exceptions.doubled(is_open);
        }
    }

    /// Records that a call deleted a copy.
    pub fn deleted(&mut self, host: HostAddr, name: &FileName) {
        let holders = self.on_disk.entry(name.clone()).or_default();
        holders.remove(&host);
        let others = !holders.is_empty();
        let verdict = self.removals.delete(host, name, others);
        self.check((removals::NAME, verdict));
    }

    /// Records that a file was added to a disk, or removed, by hand.
    pub fn by_hand(&mut self, host: HostAddr, name: &FileName, put: bool) {
        let holders = self.on_disk.entry(name.clone()).or_default();
        if put {
            holders.entry(host).or_insert(self.now);
        } else {
            holders.remove(&host);
            self.removals.excuse(name);
        }
    }
}
