//! Reports of other actors, and what must be logged because of them.

use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, FileName};
use reelyard_protocol::worker::TaskId;

use super::{TaskPieceContext, TaskPolicy};
use crate::catalog::load_balancer::rising::RisingHits;
use crate::catalog::ranking::Ranking;
use crate::catalog::sources::masters::Masters;
use crate::cfw_worker::{HostCallStatus, HostObserved};
use crate::heartbeat::HealthChanged;
use crate::remover::RemoverView;
use crate::task_manager::policy::foreign_managers::{ForeignManager, OwnLeadership};
use crate::task_manager::state::event::TaskEvent;
use crate::task_manager::state::task_book::TaskBook;

impl TaskPolicy {
    /// Takes the published view of the Remover.
    pub fn set_removals(&mut self, removals: Arc<RemoverView>) {
        self.hosts.set_rooms_made(removals.rooms_made.clone());
        self.removals = removals;
    }

    /// Takes a new ranking.
    pub fn set_ranking(&mut self, ranking: Arc<Ranking>) {
        self.input_guard.set_files(ranking.files_read());
        self.planner.set_ranking(ranking);
    }

    /// Takes new hot files.
    pub fn set_rising(&mut self, rising: &RisingHits) {
        self.planner.set_rising(rising);
    }

    /// This node leads. It plans by its inputs from now on, unless they have faults. Answers the record of the inputs, if
    /// it is due.
    pub fn check_inputs(&mut self, context: TaskPieceContext<'_>) -> Option<TaskEvent> {
        if !self.input_faults(context.book).is_empty() {
            return None;
        }
        self.input_guard.pass();
        let records = |event: &TaskEvent| matches!(event, TaskEvent::InputsRecorded(_));
        if context.in_flight.events().any(records) {
            return None;
        }
        self.input_guard.to_record(context.book.inputs(), context.now)
    }

    /// Takes a new listing of the masters.
    pub fn set_masters(&mut self, masters: Arc<Masters>) {
        self.input_guard.set_masters(masters.files.len());
        self.planner.set_masters(masters);
    }

    /// Takes a change of a host's health; false for a host that is not in the yard. If a host is up
    /// again, its CfwWorker reads it without a request.
    pub fn health_changed(&mut self, changed: &HealthChanged) -> bool {
        self.hosts.health_changed(changed)
    }

    /// Takes the observation of a host.
    pub fn observe(&mut self, seen: &HostObserved, book: &TaskBook) {
        let (came, left) = self.hosts.observe(seen);
        self.planner.came(seen.host, came.iter().map(FileId), book, &self.hosts);
        self.planner.left(left.iter().map(FileId), book, &self.hosts);
    }

    /// Takes the calls status of a host, and the managers that call it. `us` is this cluster and its
    /// epoch while this node leads. Answers whether this affects planning.
    pub fn record_call_status(
        &mut self,
        call_status: &HostCallStatus,
        us: Option<OwnLeadership>,
    ) -> bool {
        if let Some(us) = us {
            self.foreign_managers.record_worker_managers(call_status, us);
        }
        self.hosts.set_calls(call_status)
    }

    /// The signs of another manager of this yard that must be logged now.
    pub fn foreign_managers_to_log(&mut self, now: Millis) -> Vec<ForeignManager> {
        self.foreign_managers.due_for_log(now)
    }

    /// The hosts whose lists became unsteady, each with a file that was lost and came back.
    pub fn unsteady_lists_to_log(&mut self) -> Vec<(HostAddr, FileName)> {
        self.foreign_managers.unsteady_lists_to_log()
    }

    /// Records a change over cfm's protocol, if this cluster never made the task.
    pub fn record_cfm_change(&mut self, id: TaskId, context: TaskPieceContext<'_>) {
        if context.book.never_made(id) {
            self.foreign_managers.record_unknown_change(id, context.now);
        }
    }
}
