//! What the journal orders, and what the TaskManager does on it.

use actix::{Context, Handler};

use super::hosts::Landed;
use super::{GivenUp, Signs, TaskEvent, TaskManager, TaskOutcome};
use crate::cfw_worker::CopyArrived;
use crate::clock::Millis;
use crate::host::HostAddr;
use crate::journal::{AppliedEvent, Occasion, Order};
use crate::names::{FileId, FileName};

use super::TaskBook;

impl Handler<Order> for TaskManager {
    type Result = ();

    fn handle(&mut self, order: Order, ctx: &mut Context<Self>) {
        match self.seat.obey(order) {
            Occasion::Applied(events) => {
                let mut freed = false;
                for event in &events {
                    freed |= self.applied(event);
                }
                // Whoever became free gets its next copy at once; the rest can wait to be joined.
                if freed {
                    self.turn(ctx);
                } else {
                    self.show();
                    self.soon(ctx);
                }
            }
            Occasion::Installed => {
                self.planner.set_stale();
                self.hosts.all_differ();
                self.show();
            }
            Occasion::LeaderStarted(epoch) => {
                tracing::info!(%epoch, "planning copies");
                self.signs = Signs::starting(self.clock.now());
                self.turn(ctx);
            }
            Occasion::LeaderStopped => {
                self.last_round = None;
                self.show();
            }
            Occasion::Nothing => {}
        }
    }
}

impl TaskManager {
    /// Follows an applied event in what is kept in memory. Answers whether a host became free.
    fn applied(&mut self, applied: &AppliedEvent<TaskBook>) -> bool {
        let at = applied.at;
        match &applied.result {
            Ok(TaskOutcome::Applied) => {}
            Ok(TaskOutcome::AlreadySo) => return false,
            Err(refusal) => {
                self.counters.refused += 1;
                tracing::warn!(%refusal, "an event of tasks no longer held when it was applied");
                return false;
            }
        }
        // What a node applies before it leads is old: it is neither counted nor told again.
        if self.seat.epoch().is_some() {
            self.tell(&applied.event);
        }
        match &applied.event {
            TaskEvent::Completed { id, .. } => {
                if let Some(task) = self.seat.piece().task(*id).cloned() {
                    self.signs.ended(&task, at);
                    self.arrived(task.destination, &task.name, Some(task.size), at);
                }
                return true;
            }
            TaskEvent::Ended { id, .. } => {
                if let Some(task) = self.seat.piece().task(*id) {
                    self.signs.ended(task, at);
                }
                return true;
            }
            TaskEvent::Placed { host, name } => self.arrived(*host, name, None, at),
            TaskEvent::InventoryDiffered { host, added, removed, .. } => {
                let names = self.seat.piece().names();
                let ids = |names_of: &[FileName]| -> Vec<FileId> {
                    names_of.iter().map(|name| names.intern(name)).collect()
                };
                let (added, removed) = (ids(added), ids(removed));
                self.planner.came(added);
                self.planner.left(removed, self.seat.piece(), &self.hosts);
                self.hosts.set_differs(*host, true);
            }
            TaskEvent::HostsConfigured { .. } => {
                self.planner.set_stale();
                self.hosts.all_differ();
            }
            TaskEvent::Created(_)
            | TaskEvent::Began { .. }
            | TaskEvent::Claimed { .. }
            | TaskEvent::ClusterNamed { .. }
            | TaskEvent::Forgot { .. } => {}
        }
        false
    }

    /// Counts an event and tells the operator of it.
    fn tell(&mut self, event: &TaskEvent) {
        match event {
            TaskEvent::Created(_) => self.counters.created += 1,
            TaskEvent::Completed { id, .. } => {
                self.counters.completed += 1;
                if let Some(task) = self.seat.piece().task(*id) {
                    let (file, source, destination) = (&task.name, task.source, task.destination);
                    let took = humantime::format_duration(task.changed.since(task.created));
                    let size = task.size;
                    tracing::info!(%id, %file, %source, %destination, size, %took, "copy in place");
                }
            }
            TaskEvent::Ended { id, ending, .. } => {
                match ending.how {
                    GivenUp::Failed => self.counters.failed += 1,
                    GivenUp::Timeout => self.counters.timed_out += 1,
                    GivenUp::Cancelled => self.counters.cancelled += 1,
                }
                let (how, blame, reason) = (ending.how, ending.blame, &ending.reason);
                if let Some(task) = self.seat.piece().task(*id) {
                    let (file, source, destination) = (&task.name, task.source, task.destination);
                    tracing::info!(%id, %file, %source, %destination, ?how, ?blame, reason, "copy given up");
                }
            }
            _ => {}
        }
    }

    /// A copy is on a host: it takes room until the disk is read again, and the host's CfwWorker
    /// knows of it without asking. A node that is still catching up tells nobody: what it
    /// applies is old.
    fn arrived(&mut self, host: HostAddr, name: &FileName, size: Option<u64>, at: Millis) {
        let file = self.seat.piece().names().intern(name);
        self.hosts.landed(host, Landed { file, size: size.unwrap_or(0), at });
        self.planner.came([file]);
        if self.seat.epoch().is_some()
            && let Some(worker) = self.collaborators.arrived.get(&host)
        {
            worker.recipient().do_send(CopyArrived { file, size });
        }
    }
}
