//! The world of one seed: all parties, and the order of their events.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::names::FileName;
use reelyard_yard::catalog::MasterLook;

use tokio::time::Instant;

use crate::simulation::clients::job::SimulatedJob;
use crate::simulation::clients::visitor::SimulatedVisitor;
use crate::simulation::environment::context::Context;
use crate::simulation::environment::machine::SimulatedMachine;
use crate::simulation::environment::messages::SimulatedEnvelope;
use crate::simulation::environment::parties::{Party, PartyTimer};
use crate::simulation::environment::queue::SimulationEvent;
use crate::simulation::environment::runtime::{instant_at, millis_since, settle, wait_until};
use crate::simulation::hosts::disk::SimulatedCopy;
use crate::simulation::hosts::host::{SimulatedHost, SimulatedProgram};
use crate::simulation::invariants::liveness;
use crate::simulation::invariants::log::acknowledged;
use crate::simulation::judge::Judge;
use crate::simulation::node::SimulatedNode;
use crate::simulation::scene::operator::{self, OperatorAction};
use crate::simulation::scene::{MASTERS, Scene, SceneInputs};
use crate::trace;

/// The longest time until all work ends after the faults are removed, in virtual milliseconds.
const PATIENCE: u64 = 20 * 60 * 1000;
/// The interval of checks for that end.
const LOOK_EVERY: u64 = 1000;

/// All parties and their shared state.
pub struct SimulationWorld {
    /// The queue, random numbers, the network, the trace, the judge.
    pub context: Context,
    /// The configuration of the seed at the start.
    pub scene: Arc<Scene>,
    /// The current masters and inputs.
    pub yard: SceneInputs,
    /// The nodes, by index.
    pub nodes: Vec<SimulatedNode>,
    /// The hosts, by index.
    pub hosts: Vec<SimulatedHost>,
    /// The visitors with share links, by index.
    pub visitors: Vec<SimulatedVisitor>,
    /// The jobs that lease boxes, by index.
    pub jobs: Vec<SimulatedJob>,
    began: Instant,
}

impl SimulationWorld {
    /// The world of a seed, with all parties started.
    pub fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let scene = Arc::new(Scene::draw(&mut rng));
        let deeds = operator::draw(&scene, &mut rng);
        let mut context = Context::new(rng.u64(..), scene.nodes, Judge::new(&scene));
        context.network.lost_of_1000 = scene.lost_of_1000;
        let yard = scene.yard.clone();
        context.judge.versions = yard.versions.clone();
        let plans = scene.hosts.iter().enumerate();
        let hosts: Vec<SimulatedHost> =
            plans.map(|(id, plan)| SimulatedHost::new(id, plan, scene.nodes, &yard)).collect();
        let began = Instant::now();
        context.judge.clocks_jumped = scene.clocks.iter().any(|error| error.skew != 0);
        let machine = |(id, error): (usize, &_)| Arc::new(SimulatedMachine::new(id, began, *error));
        let machines = scene.clocks.iter().enumerate().map(machine).enumerate();
        let nodes = machines.map(|(id, machine)| SimulatedNode::new(id, &scene, machine)).collect();
        for host in &hosts {
            let program =
                if matches!(host.program, SimulatedProgram::Ours(_)) { "ours" } else { "cfw" };
            trace!(context, "host{} is {} {:?} {program}", host.id, host.addr, host.role);
            for name in host.disk.files.keys() {
                context.judge.by_hand(host.addr, name, true);
            }
        }
        for (at, deed) in deeds {
            context.queue.push(at, SimulationEvent::Done(deed));
        }
        let jobs = (0..scene.jobs).map(|id| SimulatedJob::new(id, scene.nodes)).collect();
        let visitors =
            (0..scene.visitors).map(|id| SimulatedVisitor::new(id, scene.nodes)).collect();
        let mut world =
            SimulationWorld { context, scene, yard, nodes, hosts, visitors, jobs, began };
        world.note_clocks();
        for node in &mut world.nodes {
            node.start(&mut world.context);
        }
        for host in &mut world.hosts {
            host.start(&mut world.context);
        }
        for visitor in &world.visitors {
            visitor.start(&mut world.context);
        }
        for job in &mut world.jobs {
            job.start(&mut world.context);
        }
        world
    }

    /// Runs the faults, then waits until all work ends.
    pub async fn run(&mut self) {
        let end = self.scene.trouble;
        while self.is_right() && self.step(end).await {}
        if !self.is_right() {
            return;
        }
        self.heal();
        let limit = self.context.now() + PATIENCE;
        while self.is_right() && self.context.now() < limit {
            let until = self.context.now() + LOOK_EVERY;
            while self.is_right() && self.step(until).await {}
            if self.is_right() && liveness::missing(self).is_empty() {
                return self.compare_pieces().await;
            }
        }
        if self.is_right() {
            let missing = liveness::missing(self).join("; ");
            self.context.judge.fail(liveness::NAME, missing);
        }
    }

    fn is_right(&self) -> bool {
        self.context.judge.broken.is_none()
    }

    /// Handles the next event. Returns false when no event is left until `until`.
    pub async fn step(&mut self, until: u64) -> bool {
        loop {
            self.serve().await;
            let next = self.context.queue.next_at().map_or(until, |next| next.min(until));
            if wait_until(instant_at(self.began, next), &self.context.bell).await {
                break;
            }
        }
        self.keep_time();
        let Some(event) = self.context.queue.next() else { return false };
        self.context.trace.mix(self.context.now());
        let SimulationWorld { context, yard, nodes, hosts, visitors, jobs, .. } = self;
        match event {
            SimulationEvent::Arrives(SimulatedEnvelope { from, to, letter }) => {
                // A cut or a missing process also loses messages in transit.
                if context.network.is_cut(from, to) {
                    return true;
                }
                match to {
                    Party::Node(id) => nodes[id].receive(context, from, letter),
                    Party::Host(id) => hosts[id].receive(context, yard, from, letter),
                    Party::Job(id) => jobs[id].receive(context, letter),
                    Party::Visitor(id) => visitors[id].receive(context, letter),
                }
            }
            SimulationEvent::Rings { party, life, timer } => match party {
                Party::Node(id) if nodes[id].life == life => nodes[id].ring(context, yard, timer),
                Party::Host(id) if hosts[id].life == life => hosts[id].ring(context, timer),
                Party::Visitor(id) => visitors[id].ring(context, timer),
                Party::Job(id) if jobs[id].life == life => jobs[id].ring(context, timer),
                _ => {}
            },
            SimulationEvent::Done(deed) => self.perform_action(deed),
        }
        self.check_acknowledged();
        true
    }

    /// Notes how far the clocks are ahead.
    fn note_clocks(&mut self) {
        for node in &self.nodes {
            let ahead = node.clock_ahead(&self.context);
            let most = &mut self.context.judge.shares.most_ahead;
            *most = ahead.max(*most);
        }
    }

    /// Lets all actors run, and carries out their requests, until nothing is left to do.
    async fn serve(&mut self) {
        loop {
            settle().await;
            self.keep_time();
            let mut busy = false;
            for node in &mut self.nodes {
                busy |= node.serve(&mut self.context);
            }
            self.check_acknowledged();
            if !busy || !self.is_right() {
                return;
            }
        }
    }

    fn keep_time(&mut self) {
        let now = millis_since(self.began);
        self.context.queue.advance_to(now);
        self.context.judge.now = now;
    }

    fn check_acknowledged(&mut self) {
        for at in std::mem::take(&mut self.context.judge.acknowledged) {
            let replicas = self.nodes.iter().map(|node| &node.replica);
            if let (invariant, Err(what)) = acknowledged::check_durable(at, replicas) {
                self.context.judge.fail(invariant, what);
            }
        }
    }

    fn perform_action(&mut self, deed: OperatorAction) {
        if !deed.lasts() {
            trace!(self.context, "{deed:?}");
        }
        let SimulationWorld { context, yard, nodes, hosts, jobs, .. } = self;
        match deed {
            OperatorAction::Kill(Party::Node(id)) if nodes[id].up => nodes[id].crash(context),
            OperatorAction::Kill(Party::Host(id)) if hosts[id].up => hosts[id].crash(context),
            OperatorAction::Start(Party::Node(id)) if !nodes[id].up => nodes[id].start(context),
            OperatorAction::Start(Party::Host(id)) if !hosts[id].up => hosts[id].start(context),
            OperatorAction::Kill(Party::Job(id)) if jobs[id].up => jobs[id].crash(context),
            OperatorAction::Start(Party::Job(id)) if !jobs[id].up => jobs[id].start(context),
            OperatorAction::Kill(_) | OperatorAction::Start(_) => {}
            OperatorAction::OwnerPanics(id, piece) if nodes[id].up => {
                nodes[id].owner_panics(context, yard, piece);
            }
            OperatorAction::OwnerPanics(..) => {}
            OperatorAction::Cut(a, b, both) => {
                context.network.cut(a, b);
                if both {
                    context.network.cut(b, a);
                }
            }
            OperatorAction::Join(a, b, both) => {
                context.network.join(a, b);
                if both {
                    context.network.join(b, a);
                }
            }
            OperatorAction::Slow(a, b, most) => context.network.slow(a, b, most),
            OperatorAction::Jump(Party::Node(id), by) => {
                nodes[id].machine.step_by(by);
                context.judge.clocks_jumped = true;
                self.note_clocks();
            }
            OperatorAction::Jump(Party::Host(id), by) => hosts[id].clock_off += by,
            OperatorAction::Jump(Party::Job(_) | Party::Visitor(_), _) => {}
            OperatorAction::PutPool { size } => match leading(nodes) {
                Some(node) => node.put_pool(context, size),
                None => context.queue.push(3000, SimulationEvent::Done(deed)),
            },
            OperatorAction::Pin(name, pinned) => {
                if let Some(node) = leading(nodes) {
                    node.pin(context, name, pinned);
                }
            }
            OperatorAction::RevokeLease => {
                if let Some(node) = leading(nodes) {
                    node.revoke_lease(context);
                }
            }
            OperatorAction::Cancel { task, request } => self.cancel(task, request),
            OperatorAction::LookUp { node, life, number, names } => {
                self.look_up((node, life, number), &names);
            }
            OperatorAction::Heat(name, hits) => {
                yard.hot.insert(name, hits);
                yard.changes[1] += 1;
            }
            OperatorAction::Cool(name) => {
                yard.hot.remove(&name);
                yard.changes[1] += 1;
            }
            OperatorAction::Rank(fewer) => {
                let mut names: Vec<FileName> = yard.masters.keys().cloned().collect();
                context.rng.shuffle(&mut names);
                names.truncate(names.len() - names.len() / 8 * fewer);
                yard.ranking = names;
                yard.changes[0] += 1;
            }
            OperatorAction::Write(name) => {
                let size = context.rng.u64(1..=40) * 1_000_000;
                yard.write(&name, size, true);
                yard.changes[2] += 1;
                context.judge.versions = yard.versions.clone();
            }
            OperatorAction::Remove(name) => {
                yard.masters.remove(&name);
                yard.changes[2] += 1;
            }
            OperatorAction::Fill(id, bytes) => {
                let disk = &mut hosts[id].disk;
                disk.other = disk.other.saturating_add_signed(bytes);
            }
            OperatorAction::Put(id, name) => {
                let host = &mut hosts[id];
                if host.role.is_destination() {
                    let copy = SimulatedCopy { content: 0, size: 1_000_000, task: None };
                    host.disk.files.insert(name.clone(), copy);
                    context.judge.by_hand(host.addr, &name, true);
                }
            }
            OperatorAction::Delete(id, name) => {
                let host = &mut hosts[id];
                if host.disk.files.remove(&name).is_some() {
                    context.judge.by_hand(host.addr, &name, false);
                }
            }
        }
    }

    /// Sends the operator's request to the leader. Without a leader it tries again later.
    fn cancel(
        &mut self,
        task: Option<reelyard_protocol::worker::TaskId>,
        request: reelyard_core::event::RequestId,
    ) {
        match leading(&mut self.nodes) {
            Some(node) => node.cancel(&mut self.context, task, request),
            None => self
                .context
                .queue
                .push(3000, SimulationEvent::Done(OperatorAction::Cancel { task, request })),
        }
    }

    /// Searches for masters on behalf of a node; the search may fail.
    fn look_up(&mut self, (node, life, number): (Party, u32, u64), names: &[FileName]) {
        let in_vain = self.context.chance(3);
        let look = |name: &FileName| match self.yard.masters.get(name) {
            Some(master) => MasterLook::Found {
                dir: Arc::from(MASTERS),
                size: master.size,
                modified: Millis(0),
            },
            None => MasterLook::Absent,
        };
        let seen = names.iter().map(|name| (name.clone(), look(name))).collect();
        let seen = (!in_vain).then_some(seen);
        let after = if in_vain { 6000 } else { 1 };
        self.context.after(after, node, life, PartyTimer::LookedUp { number, seen });
    }

    /// Removes all faults of links, clocks and disks, and restarts all parties.
    fn heal(&mut self) {
        trace!(self.context, "-- everything is healed --");
        self.context.queue.drop_actions();
        self.context.network.heal();
        self.context.astray = 0;
        let all: u64 = self.yard.masters.values().map(|master| master.size).sum();
        for node in &mut self.nodes {
            node.crash(&mut self.context);
            node.machine.set_right();
            node.start(&mut self.context);
        }
        for host in &mut self.hosts {
            host.crash(&mut self.context);
            host.clock_off = 0;
            host.disk.other = 0;
            host.boxes.failures = 0;
            host.disk.capacity = host.disk.capacity.max(10 * (host.disk.used() + all));
            if let SimulatedProgram::Old(old) = &mut host.program {
                old.faults = [0; 3];
            }
            host.start(&mut self.context);
        }
        for job in &mut self.jobs {
            job.retires = true;
        }
        for visitor in &mut self.visitors {
            visitor.retires = true;
        }
    }

    /// Checks that all nodes hold the same state after all work has ended.
    async fn compare_pieces(&mut self) {
        for node in &mut self.nodes {
            node.compare_now();
        }
        self.serve().await;
    }
}

/// A node that leads.
fn leading(nodes: &mut [SimulatedNode]) -> Option<&mut SimulatedNode> {
    nodes.iter_mut().find(|node| node.up && node.epoch().is_some())
}
