//! The course of a seed: faults, then the wait until all work ends.

use super::SimulationWorld;
use crate::simulation::hosts::host::SimulatedProgram;
use crate::simulation::invariants::liveness;
use crate::trace;

/// The longest time until all work ends after the faults are removed, in virtual milliseconds.
const PATIENCE: u64 = 20 * 60 * 1000;
/// The interval of checks for that end.
const LOOK_EVERY: u64 = 1000;

impl SimulationWorld {
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
