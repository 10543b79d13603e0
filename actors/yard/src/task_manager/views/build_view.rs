//! How the view is made. Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use reelyard_core::event::Epoch;
use reelyard_core::host::HostKind;
use reelyard_protocol::worker::TaskId;

use crate::bandwidth::BandwidthInForce;
use crate::task_manager::policy::hosts_in_memory::hosts::HostState;
use crate::task_manager::policy::hosts_in_memory::rates::CopyRateContext;
use crate::task_manager::policy::memory::{TaskPieceContext, TaskPolicy};
use crate::task_manager::policy::plan::HostParticipation;
use crate::task_manager::state::hosts::host_record::HostRecord;
use crate::task_manager::state::task::{Task, TaskState};
use crate::task_manager::state::task_book::TaskBook;
use crate::task_manager::views::task_manager_view::{
    PlannedHost, PlannerView, RoundView, SkippedFile, TaskManagerView,
};

impl TaskPolicy {
    /// The read view. `epoch` is the one in which this node leads. The actor adds the id of the leader.
    pub fn view(&self, context: TaskPieceContext<'_>, epoch: Option<Epoch>) -> TaskManagerView {
        let TaskPieceContext { book, now, .. } = context;
        let open = book.open();
        let in_force = self.settings.bandwidth.at(now);
        let progress = self.liveness.all().filter(|(task, _)| open.contains_key(task));
        let placements = book.placements().iter().map(|(host, held)| (*host, held.files.clone()));
        TaskManagerView {
            at: now,
            epoch,
            open: open.clone(),
            ended: book.ended().clone(),
            history: book.history().clone(),
            progress: progress.collect(),
            offered_again: epoch.map(|_| self.offered_again(context)).unwrap_or_default(),
            rates: CopyRateContext { hosts: &self.hosts, in_force }.rates(open),
            back_offs: Arc::clone(book.back_offs()),
            hosts: self.planned_hosts(book, in_force),
            placements: placements.collect(),
            plan: self.plan_view(book),
            input_faults: self.input_faults(book),
            inputs_passed: epoch.is_some() && self.input_guard.has_passed(),
            manager: None,
            foreign_managers: self.foreign_managers.at(now).cloned().collect(),
            counters: self.counters,
        }
    }

    /// The begun tasks of old cfws. Such a host asks for tasks only while it works on none. If a host
    /// gets its own task again, it was restarted during the copy, and begins it again. A new leader
    /// offers no tasks of a host until it has read the host's list, because the copy may already exist. A
    /// task that was begun repeatedly for longer than the time-out is no longer offered: it ends.
    pub fn offered_again(&self, context: TaskPieceContext<'_>) -> BTreeSet<TaskId> {
        let TaskPieceContext { book, now, .. } = context;
        let is_offered = |task: &&Arc<Task>| {
            let is_begun = task.state == TaskState::Working && !task.claimed_done;
            let is_read = |host: &HostState| {
                let is_there = host.lists(book.file(&task.name));
                host.kind == HostKind::Cfw
                    && host.was_read_since(self.liveness.since())
                    && !is_there
            };
            is_begun
                && now.since(task.created) < self.settings.timeout
                && self.hosts.get(task.destination).is_some_and(is_read)
        };
        book.open().values().filter(is_offered).map(|task| task.id).collect()
    }

    fn planned_hosts(&self, book: &TaskBook, in_force: BandwidthInForce<'_>) -> Vec<PlannedHost> {
        let parts = self.last_round.as_ref().map(|last| &last.round.parts);
        let part = |host| -> Option<&HostParticipation> { parts?.get(&host) };
        let hosts = self.hosts.iter().map(|(addr, host)| {
            let placement = book.placement(addr).filter(|held| held.complete);
            PlannedHost {
                host: addr,
                record: book.host(addr).copied().unwrap_or(HostRecord::new(host.role, true)),
                role: host.role,
                health: host.health,
                kind: host.kind,
                files: placement.map(|held| held.files.len()),
                serving: 0,
                fetching: 0,
                on_its_way: 0,
                room: host.room(self.settings.storage_limit_percent),
                most_room: host.most_room(self.settings.storage_limit_percent),
                sends_below: in_force.source(addr).filter(|_| host.role.is_source()),
                receives_below: in_force.destination(addr).filter(|_| host.role.is_destination()),
                source_link: None,
                destination_link: None,
                no_source: None,
                no_destination: None,
            }
            .with_part(part(addr))
        });
        hosts.collect()
    }

    fn plan_view(&self, book: &TaskBook) -> PlannerView {
        let (graded, wanted, too_big) = self.planner.counts();
        let names = book.names();
        let last = self.last_round.as_ref().map(|last| RoundView {
            at: last.at,
            took_us: u64::try_from(last.took.as_micros()).unwrap_or(u64::MAX),
            planned: last.round.tasks.len(),
            to_look_up: last.round.to_look_up.len(),
            waiting: last.round.waiting.clone(),
            skipped: last.round.skipped.clone(),
            examples: last
                .round
                .examples
                .iter()
                .map(|&(file, why)| SkippedFile { file: names.name(file), why })
                .collect(),
        });
        let wants_room = self.last_round.as_ref().map(|last| last.round.wants_room.clone());
        let (wants_room, passed_over) =
            (wants_room.unwrap_or_default(), self.planner.passed_over());
        PlannerView { graded, wanted, too_big, passed_over, wants_room, last }
    }
}
