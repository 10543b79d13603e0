//! The world of one seed: all parties, and the order of their events.

mod actions;
mod course;

use std::sync::Arc;

use tokio::time::Instant;

use crate::simulation::clients::job::SimulatedJob;
use crate::simulation::clients::visitor::SimulatedVisitor;
use crate::simulation::environment::context::Context;
use crate::simulation::environment::machine::{ClockError, SimulatedMachine};
use crate::simulation::environment::messages::SimulatedEnvelope;
use crate::simulation::environment::parties::Party;
use crate::simulation::environment::queue::SimulationEvent;
use crate::simulation::environment::runtime::{
    instant_at, millis_since, run_until_idle, wait_until,
};
use crate::simulation::hosts::host::{SimulatedHost, SimulatedProgram};
use crate::simulation::invariants::log::acknowledged;
use crate::simulation::judge::Judge;
use crate::simulation::node::SimulatedNode;
use crate::simulation::scene::operator;
use crate::simulation::scene::{Scene, SceneInputs};
use crate::trace;

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

/// Two clocks with this skew, in milliseconds, and with their drift stay within the clock bound.
const LARGEST_SKEW: i64 = 300;

impl SimulationWorld {
    /// The world of a seed, with all parties started.
    pub fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let scene = Arc::new(Scene::draw(&mut rng));
        let actions = operator::draw(&scene, &mut rng);
        let mut context = Context::new(rng.u64(..), scene.nodes, Judge::new(&scene));
        context.network.lost_of_1000 = scene.lost_of_1000;
        let yard = scene.yard.clone();
        context.judge.versions = yard.versions.clone();
        let plans = scene.hosts.iter().enumerate();
        let hosts: Vec<SimulatedHost> =
            plans.map(|(id, plan)| SimulatedHost::new(id, plan, scene.nodes, &yard)).collect();
        let began = Instant::now();
        context.judge.clocks_jumped = scene.clocks.iter().any(|error| error.skew != 0);
        let is_far = |error: &ClockError| error.skew.abs() > LARGEST_SKEW;
        context.judge.leases.clocks_were_apart = scene.clocks.iter().any(is_far);
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
        for (at, action) in actions {
            context.queue.push(at, SimulationEvent::Done(action));
        }
        let jobs = (0..scene.jobs).map(|id| SimulatedJob::new(id, scene.nodes)).collect();
        let visitors =
            (0..scene.visitors).map(|id| SimulatedVisitor::new(id, scene.nodes)).collect();
        let mut world =
            SimulationWorld { context, scene, yard, nodes, hosts, visitors, jobs, began };
        world.record_clocks();
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

    pub(super) fn is_right(&self) -> bool {
        self.context.judge.broken.is_none()
    }

    /// Handles the next event. Returns false when no event is left until `until`.
    pub async fn step(&mut self, until: u64) -> bool {
        loop {
            self.serve().await;
            let next = self.context.queue.next_at().map_or(until, |next| next.min(until));
            if wait_until(instant_at(self.began, next), &self.context.wake).await {
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
            SimulationEvent::Done(action) => self.perform_action(action),
        }
        self.check_acknowledged();
        true
    }

    /// Records how far the clocks are ahead.
    fn record_clocks(&mut self) {
        for node in &self.nodes {
            let ahead = node.clock_ahead(&self.context);
            let most = &mut self.context.judge.shares.most_ahead;
            *most = ahead.max(*most);
        }
    }

    /// Lets all actors run, and carries out their requests, until nothing is left to do.
    pub(super) async fn serve(&mut self) {
        loop {
            run_until_idle().await;
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
}
