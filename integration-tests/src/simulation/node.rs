//! A node: a replica of the log, the pure state of its actors, and a model of the actors around them.
//!
//! The decisions are the code under test: [`TaskPolicy`], [`Ownership`], `TaskDecisionContext`. This module
//! models the mailboxes and timers of an actor.

mod calls;
mod journal;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use reelyard_core::clock::{Millis, SystemClock};
use reelyard_core::event::{Epoch, RequestId};
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_protocol::legacy::cfm::OldState;
use reelyard_protocol::worker::TaskId;
use reelyard_replication::{CommitBackoff, Ownership};
use reelyard_yard::task_manager::{
    TaskBook, TaskEvent, TaskPieceContext, TaskPolicy, TasksById, offered,
};

use super::context::Context;
use super::invariants::holdings::LeaderKnowledge;
use super::messages::{SimulatedCall, SimulatedMessage, SimulatedResponse};
use super::node_watch::HostWatch;
use super::operator::OperatorAction;
use super::parties::{Party, PartyTimer};
use super::proposer::SimulatedProposer;
use super::queue::SimulationEvent;
use super::replica::Replica;
use super::scene::{Scene, SceneInputs};
use crate::trace;
use calls::{PendingReports, Poll};

/// The timeout of a commit, in milliseconds.
const COMMIT_TIMEOUT: u64 = 5000;
/// The time in which changes are collected before a turn, in milliseconds.
const GATHERING: u64 = 5;
/// The number of entries between two snapshots.
const SNAPSHOT_EVERY: usize = 40;

/// The party that waits for a commit.
#[derive(Clone, Debug)]
pub enum CommitWaiter {
    /// The TaskManager, for its own decision.
    Itself,
    /// A call with reports of a worker, which may need several commits.
    Reports(u64),
    /// A change over cfm's wire.
    Change {
        /// The caller and the number of its call.
        caller: (Party, u64),
        /// The id of the task to change.
        id: TaskId,
        /// The requested state; `None` for a body without a status.
        to: Option<OldState>,
    },
    /// The operator, who repeats the request under the same id until an answer arrives.
    Operator {
        /// The task to cancel.
        id: TaskId,
        /// The id that makes a repetition safe.
        request: RequestId,
    },
}

/// A node of the control plane.
pub struct SimulatedNode {
    /// The index of the node in the world.
    pub id: usize,
    /// Whether its process runs.
    pub up: bool,
    /// The number of starts. Timers of earlier lives have no effect.
    pub life: u32,
    /// The error of its clock, in milliseconds.
    pub clock_off: i64,
    /// Its replica of the log.
    pub replica: Replica,
    /// The TaskManager's piece, and its commits in progress.
    pub own: Ownership<TaskBook>,
    /// The in-memory state of the TaskManager.
    pub policy: TaskPolicy,
    /// The pause of its own decisions after a commit without an outcome.
    pub pause: CommitBackoff,
    pub(super) names: NameTable,
    held: SystemClock,
    scene: Arc<Scene>,
    applied: u64,
    /// The time from which it applies its log, in virtual milliseconds.
    follows: u64,
    proposer: SimulatedProposer<CommitWaiter>,
    noticing: bool,
    wake: Option<u64>,
    pub(super) watches: BTreeMap<HostAddr, HostWatch>,
    pub(super) calls: BTreeMap<u64, (HostAddr, super::node_watch::PendingHostCall)>,
    polls: Vec<Poll>,
    poll_numbers: u64,
    takings: BTreeMap<u64, PendingReports>,
    taking_numbers: u64,
    shown: (Option<Epoch>, Arc<TasksById>),
    catalog_seen: [u64; 3],
}

impl SimulatedNode {
    /// A node that was never started.
    pub fn new(id: usize, scene: &Arc<Scene>) -> Self {
        let names = NameTable::new();
        SimulatedNode {
            id,
            up: false,
            life: 0,
            clock_off: 0,
            replica: Replica::new(id, scene.nodes),
            own: Ownership::new(TaskBook::new(names.clone())),
            policy: TaskPolicy::new(scene.settings.clone(), &scene.host_settings()),
            pause: CommitBackoff::default(),
            names,
            held: SystemClock::default(),
            scene: Arc::clone(scene),
            applied: 0,
            follows: 0,
            proposer: SimulatedProposer::default(),
            noticing: false,
            wake: None,
            watches: BTreeMap::new(),
            calls: BTreeMap::new(),
            polls: Vec::new(),
            poll_numbers: 0,
            takings: BTreeMap::new(),
            taking_numbers: 0,
            shown: Default::default(),
            catalog_seen: [0; 3],
        }
    }

    /// The identity of this node in the network.
    pub fn party(&self) -> Party {
        Party::Node(self.id)
    }

    /// The wall clock of this node, with its error.
    pub fn clock(&self, context: &Context) -> Millis {
        self.held
            .show(Millis(context.wall().0 + self.clock_off), Duration::from_millis(context.now()))
    }

    /// Starts the process from its durable state.
    pub fn start(&mut self, context: &mut Context) {
        let mut replica = std::mem::replace(&mut self.replica, Replica::new(self.id, 1));
        replica.restart(context.now(), &mut context.rng);
        let (life, clock_off) = (self.life + 1, self.clock_off);
        *self = SimulatedNode {
            life,
            clock_off,
            replica,
            up: true,
            ..SimulatedNode::new(self.id, &self.scene)
        };
        context.network.set_gone(self.party(), false);
        trace!(context, "{} starts, log ends at {}", self.party(), self.replica.last());
        self.install(context);
        let after = self.replica.next_tick(context.now()).saturating_sub(context.now());
        context.after(after, self.party(), life, PartyTimer::Raft);
        context.after(1, self.party(), life, PartyTimer::Catalog);
        let hosts: Vec<HostAddr> = self.scene.hosts.iter().map(|host| host.addr).collect();
        for host in hosts {
            let draw = context.rng.u64(0..500);
            self.watches.insert(host, HostWatch::new(self.clock(context)));
            context.after(draw, self.party(), life, PartyTimer::Watch(host));
        }
    }

    /// Ends the process as SIGKILL does: only durable state remains.
    pub fn crash(&mut self, context: &mut Context) {
        self.up = false;
        self.life += 1;
        context.network.set_gone(self.party(), true);
        trace!(context, "{} is killed", self.party());
    }

    /// Simulates a panic of the TaskManager. It restarts, and the journal rebuilds its piece.
    pub fn owner_panics(&mut self, context: &mut Context, yard: &SceneInputs) {
        trace!(context, "{}: the TaskManager panics", self.party());
        self.proposer.session += 1;
        let names = self.names.clone();
        self.own = Ownership::new(TaskBook::new(names));
        self.policy = TaskPolicy::new(self.scene.settings.clone(), &self.scene.host_settings());
        self.wake = None;
        self.takings.clear();
        let applied = self.applied;
        self.install(context);
        while self.applied < applied {
            self.apply_next(context);
        }
        self.catalog_seen = [0; 3];
        self.see_catalog(context, yard);
        self.health_again(context);
        for host in self.watches.keys().copied().collect::<Vec<_>>() {
            self.report_again(context, host);
        }
        self.proposer.leading = None;
        self.notice(context);
        self.show(context);
    }

    /// Replaces the piece by the content of the snapshot.
    fn install(&mut self, context: &mut Context) {
        let (index, rows) = match self.replica.snapshot() {
            Some(snapshot) => (snapshot.index, snapshot.rows.to_vec()),
            None => (0, Vec::new()),
        };
        if let Err(error) = self.own.install(index, &rows) {
            context.judge.fail("snapshot", format!("a snapshot does not read: {error}"));
        }
        self.applied = index;
        self.policy.installed(self.own.piece());
        self.follows = context.now();
        context.judge.installed(self.id, index, self.own.piece());
    }

    /// Handles a timer.
    pub fn ring(&mut self, context: &mut Context, yard: &SceneInputs, timer: PartyTimer) {
        match timer {
            PartyTimer::Raft => {
                let now = context.now();
                let out = self.replica.tick(now, &mut context.rng);
                self.post(context, out);
                let after = self.replica.next_tick(now) - now;
                context.after(after.min(1000), self.party(), self.life, PartyTimer::Raft);
                self.advance(context);
            }
            PartyTimer::Notice => {
                self.noticing = false;
                self.take_notice(context);
            }
            PartyTimer::Write { entry } => self.write(context, entry),
            PartyTimer::CommitIsOver { proposal } => {
                let mut back = Vec::new();
                self.proposer.is_over(proposal, &mut back);
                self.settle_all(context, back);
            }
            PartyTimer::Turn { at } if self.wake == Some(at) => {
                self.wake = None;
                self.turn(context);
            }
            PartyTimer::Watch(host) => self.watch(context, host),
            PartyTimer::CallIsOver(id) => self.answered(context, id, None),
            PartyTimer::Catalog => {
                self.see_catalog(context, yard);
                let after = context.rng.u64(500..3000);
                context.after(after, self.party(), self.life, PartyTimer::Catalog);
            }
            PartyTimer::LookedUp { asked, seen } => {
                let id = |name: &FileName| self.names.intern(name);
                let asked: Vec<FileId> = asked.iter().map(id).collect();
                let seen = seen.unwrap_or_default();
                let seen: Vec<_> = seen.into_iter().map(|(name, look)| (id(&name), look)).collect();
                let now = self.clock(context);
                self.policy.looked(asked, seen, now);
                self.turn(context);
            }
            PartyTimer::PollIsOver(number) => {
                if let Some(position) = self.polls.iter().position(|poll| poll.number == number) {
                    let poll = self.polls.remove(position);
                    let answer =
                        self.orders(context, poll.host).unwrap_or(SimulatedResponse::status(503));
                    context.answer(self.party(), poll.caller.0, poll.caller.1, answer);
                }
            }
            _ => {}
        }
    }

    /// Handles a message.
    pub fn receive(&mut self, context: &mut Context, from: Party, letter: SimulatedMessage) {
        match letter {
            SimulatedMessage::Raft(rpc) => self.raft(context, from, rpc),
            SimulatedMessage::Answer { id, answer } => self.answered(context, id, Some(answer)),
            SimulatedMessage::Call { id, call } => match call {
                SimulatedCall::Orders { host, known, wait } => {
                    self.poll(context, (from, id), host, known, wait);
                }
                SimulatedCall::Reports { host, body } => {
                    self.take_reports(context, (from, id), host, &body)
                }
                SimulatedCall::Tasks => {
                    let book = self.own.piece();
                    let tasks = book.open().values().chain(book.ended().values());
                    let now = self.clock(context);
                    let piece_context =
                        TaskPieceContext { book, in_flight: self.own.in_flight(), now };
                    let again = match self.own.epoch() {
                        Some(_) => self.policy.offered_again(piece_context),
                        None => Default::default(),
                    };
                    let tasks: Vec<_> = tasks.map(|task| offered(task, &again)).collect();
                    let tasks = tasks.iter().map(AsRef::as_ref);
                    let body = reelyard_yard::task_manager::cfm_list::write_tasks(tasks, now);
                    context.answer(self.party(), from, id, SimulatedResponse::ok(body));
                }
                SimulatedCall::Patch { id: task, body } => {
                    self.change(context, (from, id), &task, &body)
                }
                _ => context.answer(self.party(), from, id, SimulatedResponse::status(404)),
            },
        }
    }

    /// The policy and the context of a decision.
    pub fn at(&mut self, now: Millis) -> (&mut TaskPolicy, TaskPieceContext<'_>) {
        let SimulatedNode { policy, own, .. } = self;
        (policy, TaskPieceContext { book: own.piece(), in_flight: own.in_flight(), now })
    }

    pub(super) fn soon(&mut self, context: &mut Context) {
        self.wake_after(context, GATHERING);
    }

    fn wake_after(&mut self, context: &mut Context, millis: u64) {
        let at = context.now() + millis;
        if self.wake.is_some_and(|planned| planned <= at) {
            return;
        }
        self.wake = Some(at);
        context.after(millis, self.party(), self.life, PartyTimer::Turn { at });
    }

    fn turn(&mut self, context: &mut Context) {
        let now = self.clock(context);
        if let Some(left) = self.pause.left(now) {
            self.wake_after(context, u64::try_from(left.as_millis()).unwrap_or(1000).max(1));
        } else if self.own.epoch().is_some() {
            let (policy, piece_context) = self.at(now);
            let due = policy.due(piece_context);
            let knows = LeaderKnowledge { lists: self.reported_lists(), follows: self.follows };
            context.judge.due(&due, &knows);
            self.commit(context, due, || CommitWaiter::Itself);
            let (policy, piece_context) = self.at(now);
            let round = policy.round(piece_context);
            context.judge.planned(&round, (&self.policy, &self.own), &knows);
            let created = round.tasks.into_iter().map(TaskEvent::Created).collect();
            self.commit(context, created, || CommitWaiter::Itself);
            self.look_up(context, round.to_look_up);
            let (policy, piece_context) = self.at(now);
            for host in policy.claims_to_check(piece_context) {
                self.refresh(context, host);
            }
            let (policy, piece_context) = self.at(now);
            let sleep = policy.sleep(piece_context).max(Duration::from_millis(20));
            self.wake_after(context, u64::try_from(sleep.as_millis()).unwrap_or(1000));
        }
        self.show(context);
    }

    /// Publishes changes to the workers that wait for them.
    pub(super) fn show(&mut self, context: &mut Context) {
        let (epoch, open) = (self.own.epoch(), self.own.piece().open());
        if self.shown.0 == epoch && Arc::ptr_eq(&self.shown.1, open) {
            return;
        }
        self.shown = (epoch, Arc::clone(open));
        if !self.polls.is_empty() {
            let board = self.board(context);
            for poll in std::mem::take(&mut self.polls) {
                self.hold_or_answer(context, &board, poll);
            }
        }
    }

    fn see_catalog(&mut self, context: &mut Context, yard: &SceneInputs) {
        use reelyard_yard::catalog::load_balancer::rising::RisingHits;
        use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
        use reelyard_yard::catalog::sources::masters::Masters;
        let [ranking, hot, masters] = yard.changes.map(|changes| changes + 1);
        let id = |name: &FileName| self.names.intern(name);
        let seen = std::mem::replace(&mut self.catalog_seen, [ranking, hot, masters]);
        if seen[0] != ranking {
            let ranked = |name| RankedFile { file: id(name), size: None, listed_on: Vec::new() };
            self.policy.set_ranking(Arc::new(Ranking::from_files(yard.ranking.iter().map(ranked))));
        }
        if seen[1] != hot {
            let hot = yard.hot.iter().map(|(name, hits)| (id(name), *hits));
            self.policy.set_rising(&RisingHits::new(hot, &self.names));
        }
        if seen[2] != masters {
            let files = yard.masters.keys().map(|name| id(name).0).collect();
            self.policy.set_masters(Arc::new(Masters { files, ..Masters::default() }));
        }
        if seen != self.catalog_seen {
            self.soon(context);
        }
    }

    fn look_up(&mut self, context: &mut Context, files: Vec<FileId>) {
        if self.policy.begin_looking(&files) {
            let names = files.into_iter().map(|file| self.names.name(file)).collect();
            let party = self.party();
            context.queue.push(
                context.rng.u64(1..50),
                SimulationEvent::Done(OperatorAction::LookUp {
                    node: party,
                    life: self.life,
                    names,
                }),
            );
        }
    }

    /// The index up to which every piece has applied the log.
    pub fn applied(&self) -> u64 {
        self.applied
    }
}
