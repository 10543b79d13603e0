//! Applies the journal's events and carries out their effects.

use std::sync::Arc;

use actix::{Context, Handler};
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::shown_text::word;
use reelyard_replication::{AppliedEvent, JournalCommand, Owner, Replicated};

use crate::cfw_worker::CopyArrived;
use crate::changes::YardChange;
use crate::task_manager::{
    Arrival, Blamed, GivenUp, TaskBook, TaskEvent, TaskManager, TaskOutcome, TaskState,
};

impl Handler<JournalCommand> for TaskManager {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.obey(command, ctx);
    }
}

impl Owner for TaskManager {
    type Piece = TaskBook;
    type Change = YardChange;

    const NAME: &'static str = "task-manager";
    const SUBJECT: &'static str = "tasks";

    fn shell(&mut self) -> &mut Replicated<TaskBook, YardChange> {
        &mut self.replica
    }

    fn commit_time(&self) -> Millis {
        self.clock.now()
    }

    fn on_applied(&mut self, entry: &[AppliedEvent<TaskBook>], ctx: &mut Context<Self>) {
        let mut freed = false;
        for event in entry {
            freed |= self.applied(event);
        }
        // A host that became free gets its next copy at once. Other changes can wait for more.
        if freed {
            self.run_turn(ctx);
        } else {
            self.soon(ctx);
        }
    }

    fn on_installed(&mut self, _: &mut Context<Self>) {
        self.policy.installed(self.replica.piece());
        self.published_back_offs = Arc::clone(self.replica.piece().back_offs());
    }

    fn on_leader_started(&mut self, epoch: Epoch, ctx: &mut Context<Self>) {
        tracing::info!(%epoch, "planning copies");
        for host in self.policy.become_leader(self.clock.now()) {
            self.refresh(host, ctx);
        }
        self.run_turn(ctx);
    }

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {
        self.policy.step_down();
    }

    fn publish_view(&mut self) {
        self.build_view();
    }

    fn changes_of(&mut self, entry: &[AppliedEvent<TaskBook>]) -> Vec<(Millis, YardChange)> {
        self.changes_of_entry(entry)
    }

    fn take_turn(&mut self, ctx: &mut Context<Self>) {
        let began = self.clock.timer();
        self.decide(ctx);
        self.decisions_took = self.clock.timer() - began;
    }
}

impl TaskManager {
    /// Records an applied event and publishes it. Returns whether a host became free.
    fn applied(&mut self, applied: &AppliedEvent<TaskBook>) -> bool {
        let leads = self.replica.epoch().is_some();
        let followed = self.policy.on_applied(applied, self.replica.piece(), leads);
        match &applied.result {
            // A node applies old events before it leads: they are not logged again.
            Ok(TaskOutcome::Applied) if leads => self.log_event(&applied.event),
            Ok(_) => {}
            Err(refusal) => {
                tracing::warn!(%refusal, "a task event was out of date when it was applied: ignored");
            }
        }
        if let Some(arrival) = followed.arrived.filter(|_| leads) {
            self.arrived(arrival);
        }
        followed.freed
    }

    /// Logs an event for the operator.
    fn log_event(&self, event: &TaskEvent) {
        match event {
            TaskEvent::Created(task) => {
                let (id, file, size) = (task.id, &task.name, task.size);
                let (source, destination) = (task.source, task.destination);
                tracing::info!(%id, file = file.to_string(), %source, %destination, size, "copy planned");
            }
            TaskEvent::Completed { id, .. } | TaskEvent::CompletedUnverified { id, .. } => {
                if let Some(task) = self.replica.piece().task(*id) {
                    let (file, source, destination) = (&task.name, task.source, task.destination);
                    let took = humantime::format_duration(task.changed.since(task.created));
                    let size = task.size;
                    tracing::info!(%id, file = file.to_string(), %source, %destination, size, %took, "copy in place");
                }
            }
            TaskEvent::Ended { id, ending, back_off } => {
                let reason = &ending.reason;
                let how = TaskState::from(ending.how).to_string();
                let blame = ending.blame.map(|blame| word(&blame));
                if let Some(back_off) = back_off {
                    self.warn_of_back_off(&back_off.blamed, reason);
                }
                if let Some(task) = self.replica.piece().task(*id) {
                    let (file, source, destination) = (&task.name, task.source, task.destination);
                    let file = file.to_string();
                    // A requested cancellation is no fault: it is logged as information only.
                    if ending.how == GivenUp::Cancelled {
                        tracing::info!(%id, file, %source, %destination, how, reason, "copy cancelled");
                    } else {
                        tracing::warn!(%id, file, %source, %destination, how, blame, reason, "copy failed");
                    }
                }
            }
            _ => {}
        }
    }

    /// Warns of a host that gets no copies for a while. A file in backoff affects no other file.
    fn warn_of_back_off(&self, blamed: &Blamed, reason: &str) {
        let Some(held) = self.replica.piece().back_offs().get(blamed) else { return };
        if let Blamed::Source(_) | Blamed::Destination(_) | Blamed::Pair(..) = blamed {
            let (failures, until) = (held.failures, held.until);
            let lasts = humantime::format_duration(until.since(held.since));
            tracing::warn!(%blamed, reason, failures, %until, %lasts, "in backoff: no copies are planned \
                there until then");
        }
    }

    /// A copy exists on a host: its CfwWorker gets the file without a call.
    fn arrived(&self, Arrival { host, file, size }: Arrival) {
        if let Some(worker) = self.collaborators.arrived.to(host) {
            worker.do_send(CopyArrived { file, size });
        }
    }
}
