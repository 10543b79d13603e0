//! The TaskManager's memory about the hosts, the plan and the signs of life.
//! Pure: the actor around it has the mailbox, the timers and the journal.

mod due_work;
mod host_reads;
mod inputs;
mod on_applied;
mod planning;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_replication::InFlight;

use super::counters::TaskCounters;
use super::decision_context::TaskDecisionContext;
use super::foreign_managers::ForeignManagers;
use super::hosts_in_memory::hosts::HostTable;
use super::hosts_in_memory::liveness::TaskLiveness;
use super::input_guard::{InputFault, InputGuard};
use super::last_round::LastRound;
use crate::remover::RemoverView;
use crate::task_manager::policy::plan::Planner;
use crate::task_manager::settings::{HostSetting, TaskSettings};
use crate::task_manager::state::event::TaskEvent;
use crate::task_manager::state::task_book::TaskBook;
pub use on_applied::{AppliedEffects, Arrival};

/// The state of the piece that a decision reads.
#[derive(Clone, Copy)]
pub struct TaskPieceContext<'a> {
    /// The piece as applied.
    pub book: &'a TaskBook,
    /// Events that are decided but not yet applied.
    pub in_flight: &'a InFlight<TaskEvent>,
    /// The time of the decision.
    pub now: Millis,
}

impl TaskPieceContext<'_> {
    /// Whether the cluster has no id, and gets none by a commit under way.
    pub fn is_cluster_unnamed(&self) -> bool {
        let named = |event: &TaskEvent| matches!(event, TaskEvent::ClusterNamed { .. });
        self.book.cluster().is_none() && !self.in_flight.events().any(named)
    }
}

/// Everything that the TaskManager keeps in memory only.
#[derive(Debug, Default)]
pub struct TaskPolicy {
    pub(in crate::task_manager) settings: TaskSettings,
    pub(in crate::task_manager) planner: Planner,
    pub(in crate::task_manager) hosts: HostTable,
    /// Also says since when this node leads.
    pub(in crate::task_manager) liveness: TaskLiveness,
    pub(in crate::task_manager) last_round: Option<LastRound>,
    pub(in crate::task_manager) counters: TaskCounters,
    pub(in crate::task_manager) foreign_managers: ForeignManagers,
    pub(in crate::task_manager) input_guard: InputGuard,
    /// The removals in the last view of the Remover.
    removals: Arc<RemoverView>,
    /// Whether masters are being checked.
    looking: bool,
    /// Hosts whose files are being read.
    refreshing: BTreeSet<HostAddr>,
    /// Hosts that could not be asked, and when asking again makes sense.
    ask_again: BTreeMap<HostAddr, Millis>,
}

impl TaskPolicy {
    /// With these hosts. Nothing is known of any host.
    pub fn new(settings: TaskSettings, hosts: &[HostSetting]) -> Self {
        TaskPolicy { settings, hosts: HostTable::new(hosts), ..TaskPolicy::default() }
    }

    /// The hosts as last seen.
    pub fn hosts(&self) -> &HostTable {
        &self.hosts
    }

    /// The last signs of life of tasks, and the time since which this node listens.
    pub fn liveness(&self) -> &TaskLiveness {
        &self.liveness
    }

    /// The settings in force.
    pub fn settings(&self) -> &TaskSettings {
        &self.settings
    }

    /// The faults of the inputs that keep this node from planning and removing, if it leads or would lead.
    pub fn input_faults(&self, book: &TaskBook) -> Vec<InputFault> {
        self.input_guard.faults(book.inputs(), self.settings.check_inputs)
    }

    /// Uses these settings from now on, and records these hosts.
    pub fn change_settings(&mut self, settings: TaskSettings, hosts: &[HostSetting]) {
        self.hosts.configure(hosts);
        if settings != self.settings {
            self.settings = settings;
            self.planner.forget_looks();
        }
    }

    /// The state that a decision reads.
    pub fn decision_context<'a>(
        &'a self,
        context: TaskPieceContext<'a>,
    ) -> TaskDecisionContext<'a> {
        TaskDecisionContext {
            book: context.book,
            in_flight: context.in_flight,
            hosts: &self.hosts,
            liveness: &self.liveness,
            settings: &self.settings,
            now: context.now,
        }
    }

    /// This node leads from `now` on, and has no signs of life yet. Answers the hosts that must be read
    /// again, because the previous leader had later reports of them than this node.
    pub fn become_leader(&mut self, now: Millis) -> Vec<HostAddr> {
        self.liveness = TaskLiveness::starting(now);
        self.input_guard.leader_changed();
        let outdated = self.hosts.iter().filter(|(_, host)| host.is_outdated());
        outdated.map(|(addr, _)| addr).collect()
    }

    /// This node no longer leads.
    pub fn step_down(&mut self) {
        self.last_round = None;
        self.input_guard.leader_changed();
    }

    /// The whole piece was replaced by `book`.
    pub fn installed(&mut self, book: &TaskBook) {
        self.hosts.adopt_recorded(book);
        self.planner.set_stale();
        self.hosts.all_differ();
    }
}
