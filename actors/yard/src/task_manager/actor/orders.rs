//! Applies the journal's events and carries out their effects.

use std::sync::Arc;
use std::time::Duration;

use actix::{Context, Handler};
use reelyard_core::clock::Millis;
use reelyard_core::display_text::word;
use reelyard_core::event::Epoch;
use reelyard_core::manager::ManagerIdentity;
use reelyard_replication::{
    AppliedEvent, JournalCommand, Owner, OwnerCommands, OwnerTicks, Replicated,
};

use crate::cfw_worker::CopyArrived;
use crate::changes::YardChange;
use crate::task_manager::views::changes::changes_of;
use crate::task_manager::{
    Arrival, Blamed, GivenUp, HostRoster, RecordedFile, TaskBook, TaskEvent, TaskManager,
    TaskManagerView, TaskOutcome, TaskState,
};

/// How long changes are collected before a tick, so that many changes cause one round.
const BATCH_DELAY: Duration = Duration::from_millis(5);

/// How long changes wait at most after a long tick.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

impl Handler<JournalCommand> for TaskManager {
    type Result = ();

    fn handle(&mut self, command: JournalCommand, ctx: &mut Context<Self>) {
        self.handle_journal_command(command, ctx);
    }
}

impl Owner for TaskManager {
    type Piece = TaskBook;
    type View = TaskManagerView;
    type Change = YardChange;

    const NAME: &'static str = "task-manager";
    const SUBJECT: &'static str = "tasks";
    // The Remover would decide by an old view without the latest copies.
    const KEEPS_EARLIER_VIEW: bool = false;

    fn shell(&mut self) -> &mut Replicated<TaskBook, TaskManagerView, YardChange> {
        &mut self.replica
    }

    /// A tick examines all hosts. With thousands of hosts, the next tick waits as long as the last one took.
    fn batch_delay(&self) -> Duration {
        (self.decisions_took + self.view_took).clamp(BATCH_DELAY, LONGEST_PAUSE)
    }

    fn on_applied(&mut self, entry: &[AppliedEvent<TaskBook>], ctx: &mut Context<Self>) {
        let mut freed = false;
        for event in entry {
            freed |= self.applied(event);
        }
        // A host that became free gets its next copy at once. Other changes can wait for more.
        if freed {
            self.run_tick(ctx);
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
        self.run_tick(ctx);
    }

    fn on_leader_stopped(&mut self, _: &mut Context<Self>) {
        self.policy.step_down();
    }

    fn build_view(&mut self) -> TaskManagerView {
        let began = self.clock.timer();
        let (now, epoch) = (self.clock.now(), self.replica.epoch());
        let (policy, context) = self.at(now);
        let (cluster, mut view) = (context.book.cluster(), policy.view(context, epoch));
        if let (Some(identity), Some(cluster)) = (&self.manager_identity, cluster) {
            identity.set_cluster(cluster);
        }
        view.counters.uncommitted = self.replica.uncommitted();
        view.manager = self.manager_identity.as_ref().and_then(ManagerIdentity::id);
        self.view_took = self.clock.timer() - began;
        view
    }

    fn is_news(before: &TaskManagerView, after: &TaskManagerView) -> bool {
        after.is_news_after(before)
    }

    fn on_view_published(&mut self) {
        if self.replica.is_caught_up() {
            let hosts = self.replica.piece().hosts();
            HostRoster::publish(&self.host_roster, hosts, self.incarnation);
        }
    }

    fn changes_of(&mut self, entry: &[AppliedEvent<TaskBook>]) -> Vec<(Millis, YardChange)> {
        changes_of(entry, self.replica.piece(), &mut self.published_back_offs)
    }

    fn tick(&mut self, ctx: &mut Context<Self>) {
        let began = self.clock.timer();
        self.decide(ctx);
        self.decisions_took = self.clock.timer() - began;
    }
}

impl TaskManager {
    /// Records an applied event and publishes it. Returns whether a host became free.
    fn applied(&mut self, applied: &AppliedEvent<TaskBook>) -> bool {
        let leads = self.replica.epoch().is_some();
        let followed_at = (!leads).then(|| self.clock.now());
        let followed = self.policy.on_applied(applied, self.replica.piece(), followed_at);
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
            TaskEvent::InputsRecorded(inputs) => {
                let rows = |file: Option<RecordedFile>| file.map(|file| file.rows);
                let (grades, history) = (rows(inputs.grade_info), rows(inputs.hitcount_history));
                let masters = inputs.masters;
                tracing::info!(grades, history, masters, "the inputs of this leader are on record");
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
