//! A node: a replica of the log, and the process with the real actors. This module models the journal and the
//! observers around the owners.

mod agents;
mod box_calls;
mod calls;
mod deletions;
mod hooks;
mod journal;
mod outbox;
mod process;
mod share_calls;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::clock::{Clock, Millis};
use reelyard_core::event::{Commit, Epoch, PieceId, RequestId};
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_yard::catalog::load_balancer::rising::RisingHits;
use reelyard_yard::catalog::ranking::{RankedFile, Ranking};
use reelyard_yard::catalog::sources::masters::Masters;
use reelyard_yard::catalog::{MasterLook, MastersChanged, RankingChanged, RisingChanged};
use reelyard_yard::remover::{Intent, RemovalBook, RemovalEvent};
use reelyard_yard::task_manager::{NewTask, TaskBook, TaskEvent};

use tokio::task::AbortHandle;

use crate::simulation::environment::context::Context;
use crate::simulation::environment::machine::SimulatedMachine;
use crate::simulation::environment::messages::{SimulatedMessage, SimulatedResponse};
use crate::simulation::environment::parties::{Party, PartyTimer};
use crate::simulation::environment::queue::SimulationEvent;
use crate::simulation::invariants::copies::holdings::LeaderKnowledge;
use crate::simulation::invariants::plans::room::RoomKnowledge;
use crate::simulation::pieces;
use crate::simulation::raft::proposer::SimulatedProposer;
use crate::simulation::raft::replica::Replica;
use crate::simulation::scene::operator::OperatorAction;
use crate::simulation::scene::{Scene, SceneInputs};
use crate::trace;
use outbox::{HookRequest, LookReply, NodeRequest, PendingDeletion, PendingReply};
use process::NodeProcess;
use watch::{HostWatch, PendingHostCall};

/// The timeout of a commit, in milliseconds.
const COMMIT_TIMEOUT: u64 = 5000;
/// The number of entries between two snapshots.
const SNAPSHOT_EVERY: usize = 40;

/// A node of the control plane.
pub struct SimulatedNode {
    /// The index of the node in the world.
    pub id: usize,
    /// Whether its process runs.
    pub up: bool,
    /// The number of starts. Timers of earlier lives have no effect.
    pub life: u32,
    /// The clocks of its machine.
    pub machine: Arc<SimulatedMachine>,
    /// Its replica of the log.
    pub replica: Replica,
    pub(super) process: Option<NodeProcess>,
    pub(super) scene: Arc<Scene>,
    hosted: journal::HostedOwners,
    applied: u64,
    /// The index of the snapshot from which the owners were last rebuilt.
    rebuilt_from: u64,
    /// The time from which it applies its log, in virtual milliseconds.
    follows: u64,
    /// The end of the log when the process started.
    log_at_start: u64,
    proposer: SimulatedProposer<PendingReply>,
    /// The planned tasks of commits without an outcome.
    decided: BTreeMap<RequestId, Vec<NewTask>>,
    noticing: bool,
    pub(super) watches: BTreeMap<HostAddr, HostWatch>,
    pub(super) calls: BTreeMap<u64, (HostAddr, PendingHostCall)>,
    /// The disk of each host, as the TaskManager last received it, with the time of the request.
    pub(super) reported_disks: BTreeMap<HostAddr, (DiskFigures, Millis)>,
    /// The latest request time of all disks that the TaskManager received of each host.
    pub(super) latest_reports: BTreeMap<HostAddr, Millis>,
    looks: BTreeMap<u64, LookReply>,
    /// The deletions that no host has answered yet.
    deletions: BTreeMap<u64, PendingDeletion>,
    /// The calls to the hosts of boxes.
    hooks: BTreeMap<u64, HookRequest>,
    /// The calls that are not answered yet, by caller and its number.
    open_calls: BTreeMap<(Party, u64), AbortHandle>,
    look_numbers: u64,
    catalog_seen: [u64; 3],
}

impl SimulatedNode {
    /// A node that was never started.
    pub fn new(id: usize, scene: &Arc<Scene>, machine: Arc<SimulatedMachine>) -> Self {
        SimulatedNode {
            id,
            up: false,
            life: 0,
            machine,
            replica: Replica::new(id, scene.nodes),
            process: None,
            scene: Arc::clone(scene),
            hosted: journal::HostedOwners::default(),
            applied: 0,
            rebuilt_from: 0,
            follows: 0,
            log_at_start: 0,
            proposer: SimulatedProposer::default(),
            decided: BTreeMap::new(),
            noticing: false,
            watches: BTreeMap::new(),
            calls: BTreeMap::new(),
            reported_disks: BTreeMap::new(),
            latest_reports: BTreeMap::new(),
            looks: BTreeMap::new(),
            deletions: BTreeMap::new(),
            hooks: BTreeMap::new(),
            open_calls: BTreeMap::new(),
            look_numbers: 0,
            catalog_seen: [0; 3],
        }
    }

    /// The identity of this node in the network.
    pub fn party(&self) -> Party {
        Party::Node(self.id)
    }

    /// The present time by the clock of the process.
    pub fn clock(&self) -> Millis {
        self.process.as_ref().map_or(Millis(0), |process| process.clock.now())
    }

    /// The epoch in which its TaskManager decides.
    pub fn epoch(&self) -> Option<Epoch> {
        self.process.as_ref()?.tasks_view.load().epoch
    }

    /// Starts the process from its durable state.
    pub fn start(&mut self, context: &mut Context) {
        let mut replica = std::mem::replace(&mut self.replica, Replica::new(self.id, 1));
        replica.restart(context.now(), &mut context.rng);
        let clock = Clock::of_machine(self.machine.clone());
        let process = NodeProcess::start(&self.scene, clock, &context.wake, context.rng.fork());
        let life = self.life + 1;
        let new = SimulatedNode::new(self.id, &self.scene, Arc::clone(&self.machine));
        let log_at_start = replica.last();
        *self =
            SimulatedNode { life, replica, up: true, process: Some(process), log_at_start, ..new };
        context.network.set_gone(self.party(), false);
        trace!(context, "{} starts, log ends at {}", self.party(), self.replica.last());
        self.install(context);
        let after = self.replica.next_tick(context.now()).saturating_sub(context.now());
        context.after(after, self.party(), life, PartyTimer::Raft);
        context.after(1, self.party(), life, PartyTimer::Catalog);
        let hosts: Vec<HostAddr> = self.scene.hosts.iter().map(|host| host.addr).collect();
        for host in hosts {
            let draw = context.rng.u64(0..500);
            self.watches.insert(host, HostWatch::new(self.clock()));
            context.after(draw, self.party(), life, PartyTimer::Watch(host));
        }
    }

    /// Ends the process as SIGKILL does: only durable state remains.
    pub fn crash(&mut self, context: &mut Context) {
        self.up = false;
        self.life += 1;
        self.process = None;
        context.network.set_gone(self.party(), true);
        trace!(context, "{} is killed", self.party());
    }

    /// Ends the owner of a piece as a panic does. It restarts, and the journal rebuilds its piece.
    pub fn owner_panics(&mut self, context: &mut Context, yard: &SceneInputs, piece: PieceId) {
        trace!(context, "{}: the owner of {piece:?} panics", self.party());
        let Some(process) = &mut self.process else { return };
        process.restart_owner(piece);
        if !matches!(piece, PieceId::Tasks | PieceId::Removals) {
            return;
        }
        // The observers send their state to the new incarnation.
        self.reported_disks.clear();
        self.latest_reports.clear();
        self.catalog_seen = [0; 3];
        self.see_catalog(yard);
        self.health_again();
        for host in self.watches.keys().copied().collect::<Vec<_>>() {
            self.report_again(host);
        }
    }

    /// Carries out the requests of the actors. Returns whether there was anything to do.
    pub fn serve(&mut self, context: &mut Context) -> bool {
        let Some(process) = &mut self.process else { return false };
        if let Some(panic) = process.panicked() {
            context.judge.fail("panic", format!("an actor of node{} panicked: {panic}", self.id));
            return false;
        }
        let requests = process.outbox.take();
        // An owner decides on an entry before the journal gets its answer.
        let mut busy = self.advance(context) || !requests.is_empty();
        for request in requests {
            self.carry_out(context, request);
        }
        busy |= self.advance(context);
        busy
    }

    fn carry_out(&mut self, context: &mut Context, request: NodeRequest) {
        match request {
            NodeRequest::Register(piece, owner) => self.register(context, piece, owner),
            NodeRequest::Commit(commit, reply) => self.take_commit(context, &commit, reply),
            NodeRequest::CaughtUp(piece, reply) => self.catches_up(piece, reply),
            NodeRequest::LookUp(files, reply) => self.look_up(context, &files, reply),
            NodeRequest::Refresh(host, reply) => self.refresh(context, host, reply),
            NodeRequest::Arrived(host, file) => self.arrived(host, file),
            NodeRequest::Delete(host, delete, reply) => self.delete(context, host, delete, reply),
            NodeRequest::Hook(request) => self.ask_box_host(context, request),
            NodeRequest::Answer { caller, answer } => {
                self.open_calls.remove(&caller);
                if matches!(caller.0, Party::Job(_)) {
                    context.judge.answered_job(&answer.body);
                }
                context.answer(self.party(), caller.0, caller.1, answer);
            }
            NodeRequest::Again(after, action) => {
                context.queue.push(after, SimulationEvent::Done(action));
            }
        }
    }

    /// Checks the decisions of a commit by what its leader knows. A deposed leader may act on old lists:
    /// the invariant `deposed` holds that its decisions change nothing.
    fn check_decision(&mut self, context: &mut Context, commit: &Commit) {
        if context.judge.is_deposed(commit.epoch) {
            return;
        }
        match commit.piece {
            PieceId::Tasks => self.check_plan(context, commit),
            PieceId::Removals => {
                let intents: Vec<Intent> = pieces::decided::<RemovalBook>(commit)
                    .into_iter()
                    .filter_map(|event| match event {
                        RemovalEvent::Intended(intent) => Some(intent),
                        _ => None,
                    })
                    .collect();
                context.judge.removes(commit.request, &intents, &self.reported_lists());
            }
            _ => {}
        }
    }

    fn check_plan(&mut self, context: &mut Context, commit: &Commit) {
        let events = pieces::decided::<TaskBook>(commit);
        let knows = LeaderKnowledge { lists: self.reported_lists(), follows: self.follows };
        context.judge.decided(&events, &knows);
        let tasks: Vec<NewTask> = events
            .into_iter()
            .filter_map(|event| match event {
                TaskEvent::Created(task) => Some(task),
                _ => None,
            })
            .collect();
        if tasks.is_empty() {
            return;
        }
        // A leader that has not applied all entries yet is deposed already.
        if self.applied == context.judge.record.history.len() as u64 {
            let knows = RoomKnowledge {
                disks: &self.reported_disks,
                latest_reports: &self.latest_reports,
                decided: self.decided.values().flatten().collect(),
                rebuilt_from: self.rebuilt_from,
            };
            context.judge.planned(&tasks, &knows);
        }
        self.decided.insert(commit.request, tasks);
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
                self.finish_commits(context, back);
            }
            PartyTimer::Watch(host) => self.watch(context, host),
            PartyTimer::CallIsOver(id) => self.call_ended(context, id, None),
            PartyTimer::Catalog => {
                self.see_catalog(yard);
                let after = context.rng.u64(500..3000);
                context.after(after, self.party(), self.life, PartyTimer::Catalog);
            }
            PartyTimer::LookedUp { number, seen } => self.looked_up(number, seen),
            _ => {}
        }
    }

    /// Handles a message.
    pub fn receive(&mut self, context: &mut Context, from: Party, letter: SimulatedMessage) {
        match letter {
            SimulatedMessage::Raft(rpc) => self.raft(context, from, rpc),
            SimulatedMessage::Answer { id, answer } => self.call_ended(context, id, Some(answer)),
            SimulatedMessage::Call { id, call } => self.call(context, (from, id), call),
        }
    }

    /// Handles the answer to a call, or its timeout.
    fn call_ended(&mut self, context: &mut Context, id: u64, answer: Option<SimulatedResponse>) {
        if let Some(request) = self.hooks.remove(&id) {
            SimulatedNode::box_host_answered(request, answer);
        } else if let Some(deletion) = self.deletions.remove(&id) {
            self.deletion_answered(context, deletion, answer);
        } else {
            self.answered(context, id, answer);
        }
    }

    /// The Catalog sends its changed inputs.
    fn see_catalog(&mut self, yard: &SceneInputs) {
        let Some(process) = &self.process else { return };
        let (manager, remover) = (&process.task_manager.addr, &process.remover.addr);
        let [ranking, hot, masters] = yard.changes.map(|changes| changes + 1);
        let id = |name: &FileName| process.names.intern(name);
        let seen = std::mem::replace(&mut self.catalog_seen, [ranking, hot, masters]);
        if seen[0] != ranking {
            let ranked = |name| RankedFile { file: id(name), size: None, listed_on: Vec::new() };
            let ranking = Arc::new(Ranking::from_files(yard.ranking.iter().map(ranked)));
            remover.do_send(RankingChanged(Arc::clone(&ranking)));
            manager.do_send(RankingChanged(ranking));
        }
        if seen[1] != hot {
            let hot = yard.hot.iter().map(|(name, hits)| (id(name), *hits));
            let rising = Arc::new(RisingHits::new(hot, &process.names));
            remover.do_send(RisingChanged(Arc::clone(&rising)));
            manager.do_send(RisingChanged(rising));
        }
        if seen[2] != masters {
            let files = yard.masters.keys().map(|name| id(name).0).collect();
            let masters = Arc::new(Masters { files, ..Masters::default() });
            remover.do_send(MastersChanged(Arc::clone(&masters)));
            manager.do_send(MastersChanged(masters));
        }
    }

    fn look_up(&mut self, context: &mut Context, files: &[FileId], reply: LookReply) {
        let Some(process) = &self.process else { return };
        let names = files.iter().map(|file| process.names.name(*file)).collect();
        self.look_numbers += 1;
        let number = self.look_numbers;
        self.looks.insert(number, reply);
        let (node, life) = (self.party(), self.life);
        let look = OperatorAction::LookUp { node, life, number, names };
        context.queue.push(context.rng.u64(1..50), SimulationEvent::Done(look));
    }

    fn looked_up(&mut self, number: u64, seen: Option<Vec<(FileName, MasterLook)>>) {
        let Some(process) = &self.process else { return };
        let (Some(reply), Some(seen)) = (self.looks.remove(&number), seen) else { return };
        let id = |(name, look): (FileName, MasterLook)| (process.names.intern(&name), look);
        // An owner that ended waits no more.
        let _ = reply.send(seen.into_iter().map(id).collect());
    }

    /// The index up to which every piece has applied the log.
    pub fn applied(&self) -> u64 {
        self.applied
    }
}
