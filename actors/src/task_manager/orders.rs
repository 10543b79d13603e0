//! What the journal orders, and what the TaskManager does on it.

use std::sync::Arc;

use actix::{Context, Handler};

use super::{Arrival, Blamed, GivenUp, TaskEvent, TaskManager, TaskOutcome};
use crate::cfw_worker::CopyArrived;
use crate::journal::{AppliedEvent, Occasion, Order};

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
                // Whoever is told can see it.
                self.tell_of_changes(&events);
            }
            Occasion::Installed => {
                self.dispatcher.installed(self.seat.piece());
                self.back_offs_told = Arc::clone(self.seat.piece().back_offs());
                self.show();
            }
            Occasion::LeaderStarted(epoch) => {
                tracing::info!(%epoch, "planning copies");
                for host in self.dispatcher.lead(self.clock.now()) {
                    self.refresh(host, ctx);
                }
                self.turn(ctx);
            }
            Occasion::LeaderStopped => {
                self.dispatcher.step_down();
                self.show();
            }
            Occasion::Nothing => {}
        }
    }
}

impl TaskManager {
    /// Follows an applied event and tells of it. Answers whether a host became free.
    fn applied(&mut self, applied: &AppliedEvent<TaskBook>) -> bool {
        let leads = self.seat.epoch().is_some();
        let followed = self.dispatcher.follow(applied, self.seat.piece(), leads);
        match &applied.result {
            // What a node applies before it leads is old: it is not told again.
            Ok(TaskOutcome::Applied) if leads => self.tell(&applied.event),
            Ok(_) => {}
            Err(refusal) => {
                tracing::warn!(%refusal, "an event of tasks no longer held when it was applied");
            }
        }
        if let Some(arrival) = followed.arrived.filter(|_| leads) {
            self.arrived(arrival);
        }
        followed.freed
    }

    /// Tells the operator of an event.
    fn tell(&self, event: &TaskEvent) {
        match event {
            TaskEvent::Created(task) => {
                let (id, file, size) = (task.id, &task.name, task.size);
                let (source, destination) = (task.source, task.destination);
                tracing::info!(%id, file = file.to_string(), %source, %destination, size, "copy planned");
            }
            TaskEvent::Completed { id, .. } | TaskEvent::CompletedUnverified { id, .. } => {
                if let Some(task) = self.seat.piece().task(*id) {
                    let (file, source, destination) = (&task.name, task.source, task.destination);
                    let took = humantime::format_duration(task.changed.since(task.created));
                    let size = task.size;
                    tracing::info!(%id, file = file.to_string(), %source, %destination, size, %took, "copy in place");
                }
            }
            TaskEvent::Ended { id, ending, back_off } => {
                let (how, blame, reason) = (ending.how, ending.blame, &ending.reason);
                if let Some(back_off) = back_off {
                    self.tell_of_back_off(&back_off.blamed, reason);
                }
                if let Some(task) = self.seat.piece().task(*id) {
                    let (file, source, destination) = (&task.name, task.source, task.destination);
                    let file = file.to_string();
                    // What somebody asked for needs nobody's attention.
                    if ending.how == GivenUp::Cancelled {
                        tracing::info!(%id, file, %source, %destination, ?how, reason, "copy cancelled");
                    } else {
                        tracing::warn!(%id, file, %source, %destination, ?how, ?blame, reason, "copy failed");
                    }
                }
            }
            _ => {}
        }
    }

    /// Warns of a host that gets nothing more for a while. A file that backs off costs nobody
    /// else anything.
    fn tell_of_back_off(&self, blamed: &Blamed, reason: &str) {
        let Some(held) = self.seat.piece().back_offs().get(blamed) else { return };
        if let Blamed::Source(_) | Blamed::Destination(_) | Blamed::Pair(..) = blamed {
            let (failures, until) = (held.failures, held.until);
            let lasts = humantime::format_duration(until.since(held.since));
            tracing::warn!(%blamed, reason, failures, %until, %lasts, "backs off: no copies are planned there until then");
        }
    }

    /// A copy is on a host: its CfwWorker knows of it without asking.
    fn arrived(&self, Arrival { host, file, size }: Arrival) {
        if let Some(worker) = self.collaborators.arrived.to(host) {
            worker.do_send(CopyArrived { file, size });
        }
    }
}
