//! The read view of the TaskManager: readers do not wait in its mailbox.

use crate::task_manager::policy::counters::TaskCounters;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use reelyard_core::backoff::BackOff;
use reelyard_core::clock::Millis;
use reelyard_core::event::Epoch;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::{BitsPerSecond, HostAddr, HostKind, HostRole};
use reelyard_core::manager::ManagerId;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{TaskId, TaskOrder, TaskOrders};
use roaring::RoaringBitmap;
use serde::{Serialize, Serializer};

use crate::done_copy::DoneCopy;
use crate::heartbeat::Health;
use crate::room::{CountedRoom, WantsRoom};
use crate::task_manager::messages::{LinkLoad, PlannerWaits, Skip, Unusable};
use crate::task_manager::policy::foreign_managers::ForeignManager;
use crate::task_manager::policy::hosts_in_memory::liveness::TaskProgress;
use crate::task_manager::policy::input_guard::InputFault;
use crate::task_manager::policy::plan::{HostParticipation, PassedOver};
use crate::task_manager::state::backoff::Blamed;
use crate::task_manager::state::copy_record::CopyRecord;
use crate::task_manager::state::hosts::host_record::HostRecord;
use crate::task_manager::state::task::{Task, TaskState};
use crate::task_manager::state::task_book::TasksById;

/// The observable state of the TaskManager at one moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TaskManagerView {
    /// Wall clock when the view was built.
    pub at: Millis,
    /// The epoch in which this node leads; none on a follower.
    pub epoch: Option<Epoch>,
    /// Tasks in state `Ready` or `Working`.
    #[serde(serialize_with = "as_list")]
    pub open: Arc<TasksById>,
    /// Ended tasks that are still in the list.
    #[serde(serialize_with = "as_list")]
    pub ended: Arc<TasksById>,
    /// The result of every planned copy, kept longer than the tasks themselves.
    #[serde(skip)]
    pub history: BoundedLog<CopyRecord>,
    /// The progress of open tasks with a report since this node leads.
    pub progress: BTreeMap<TaskId, TaskProgress>,
    /// Begun tasks that cfm's wire offers again: see `TaskPolicy::offered_again`.
    #[serde(skip)]
    pub offered_again: BTreeSet<TaskId>,
    /// The rate in force of each open task; tasks without a limit are left out.
    pub rates: BTreeMap<TaskId, BitsPerSecond>,
    /// All backoffs, probation included.
    #[serde(serialize_with = "as_pairs")]
    pub back_offs: Arc<BTreeMap<Blamed, BackOff>>,
    /// The hosts as the planner sees them, by address.
    pub hosts: Vec<PlannedHost>,
    /// The files of each host, as last confirmed.
    #[serde(skip)]
    pub placements: BTreeMap<HostAddr, Arc<RoaringBitmap>>,
    /// The planner's figures and its last round.
    pub plan: PlannerView,
    /// Faults of the inputs of this node, compared with those on record. While it leads with one, it plans and
    /// removes nothing.
    pub input_faults: Vec<InputFault>,
    /// Whether this node leads, and compared its inputs in this epoch without a fault.
    #[serde(skip)]
    pub inputs_passed: bool,
    /// The identity of this node towards its hosts; none while it is unknown.
    pub manager: Option<ManagerId>,
    /// Signs that another manager works on this yard.
    pub foreign_managers: Vec<ForeignManager>,
    /// Counts of this node's work as leader, since the process started.
    pub counters: TaskCounters,
}

/// A host as the planner sees it.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedHost {
    /// The address, which is its identity.
    pub host: HostAddr,
    /// Its durable record: role, mode and silence.
    pub record: HostRecord,
    /// Whether it serves masters, takes copies, or both.
    pub role: HostRole,
    /// The result of its latest probes.
    pub health: Health,
    /// The program that answers there.
    pub kind: HostKind,
    /// Its files, as last confirmed. None if its inventory was never read.
    pub files: Option<u64>,
    /// Open tasks with this host as source.
    pub serving: usize,
    /// Open tasks with this host as destination.
    pub fetching: usize,
    /// Bytes of the running copies to it that have not arrived.
    pub on_its_way: u64,
    /// Bytes below its limit that stay free once these copies have arrived; none while its disk is
    /// unknown.
    pub room: Option<u64>,
    /// The same if the last read of its disk included every copy that had begun. The Remover removes no
    /// more than this figure demands.
    #[serde(skip)]
    pub most_room: Option<CountedRoom>,
    /// The limit for all copies that it sends together; none means no limit.
    pub sends_below: Option<BitsPerSecond>,
    /// The limit for all copies that it receives together; none means no limit.
    pub receives_below: Option<BitsPerSecond>,
    /// The load of its link, for a source; none while unknown.
    pub source_link: Option<LinkLoad>,
    /// The load of its link, for a destination; none while unknown.
    pub destination_link: Option<LinkLoad>,
    /// The reason why it serves no new copy; none if it can.
    pub no_source: Option<Unusable>,
    /// Why it takes no new copy; none if it can.
    pub no_destination: Option<Unusable>,
}

/// The planner's current figures.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlannerView {
    /// Files in the ranking.
    pub graded: usize,
    /// Graded files that want a copy and have none, including those with running copies.
    pub wanted: u64,
    /// Graded files larger than the room on any destination.
    pub too_big: u64,
    /// The files that no round plans, by reason.
    #[serde(skip)]
    pub passed_over: PassedOver,
    /// The hottest files that fit on no destination.
    #[serde(skip)]
    pub wants_room: Vec<WantsRoom>,
    /// The last round; none before the first round of this leader.
    pub last: Option<RoundView>,
}

/// One round of planning.
#[derive(Clone, Debug, Serialize)]
pub struct RoundView {
    /// Wall clock when the round began.
    pub at: Millis,
    /// Duration of the round in microseconds.
    pub took_us: u64,
    /// Number of copies that the round planned.
    pub planned: usize,
    /// Number of masters that must be looked up first.
    pub to_look_up: usize,
    /// The resource that limits further copies; none if there is no limit.
    pub waiting: Option<PlannerWaits>,
    /// Number of examined files without a copy, by reason.
    pub skipped: BTreeMap<Skip, u64>,
    /// The best-graded of the skipped files.
    pub examples: Vec<SkippedFile>,
}

/// A file that got no copy.
#[derive(Clone, Debug, Serialize)]
pub struct SkippedFile {
    /// The name of the skipped file.
    pub file: FileName,
    /// The reason why the round skipped it.
    pub why: Skip,
}

/// The task as the list shows it, if the tasks in `again` are offered again.
pub fn offered(task: &Arc<Task>, again: &BTreeSet<TaskId>) -> Arc<Task> {
    if task.state == TaskState::Working && again.contains(&task.id) {
        Arc::new(Task { state: TaskState::Ready, ..Task::clone(task) })
    } else {
        Arc::clone(task)
    }
}

/// The copies that arrived, the latest first.
pub fn done_copies(history: &BoundedLog<CopyRecord>) -> impl Iterator<Item = DoneCopy> {
    let ended = history.newest_first().map(|(_, copy)| copy);
    ended.filter(|copy| copy.state == TaskState::Done).map(|copy| DoneCopy {
        host: copy.destination,
        file: copy.file,
        hits: copy.hits,
        at: copy.at,
    })
}

impl TaskManagerView {
    /// Whether long polls wake for this view after `before`: for tasks, rates and leadership, not for
    /// progress or figures of hosts.
    pub(in crate::task_manager) fn is_news_after(&self, before: &TaskManagerView) -> bool {
        before.epoch != self.epoch
            || !Arc::ptr_eq(&before.open, &self.open)
            || before.rates != self.rates
    }

    /// Whether the leader of `epoch` may plan and remove by its inputs. A view of an earlier epoch does not say so, and
    /// neither does one from before the comparison.
    pub fn allows_inputs(&self, epoch: Option<Epoch>) -> bool {
        self.inputs_passed && self.epoch == epoch
    }

    /// Every task in the list, by number.
    pub fn tasks(&self) -> Vec<&Arc<Task>> {
        let mut tasks: Vec<&Arc<Task>> = self.open.values().chain(self.ended.values()).collect();
        tasks.sort_unstable_by_key(|task| task.id);
        tasks
    }

    /// All tasks as cfm's wire lists them for old cfws: a task that is offered again is ready.
    pub fn tasks_for_cfws(&self) -> Vec<Arc<Task>> {
        let tasks = self.tasks().into_iter();
        tasks.map(|task| offered(task, &self.offered_again)).collect()
    }

    /// A task, open or ended.
    pub fn task(&self, id: TaskId) -> Option<&Arc<Task>> {
        self.open.get(&id).or_else(|| self.ended.get(&id))
    }

    /// One host as the planner sees it.
    pub fn host(&self, addr: HostAddr) -> Option<&PlannedHost> {
        let place = self.hosts.binary_search_by_key(&addr, |planned| planned.host).ok()?;
        self.hosts.get(place)
    }

    /// All active backoffs at the time of the view.
    pub fn left_alone(&self) -> impl Iterator<Item = (&Blamed, &BackOff)> {
        self.back_offs.iter().filter(|(_, back_off)| back_off.holds(self.at))
    }

    /// The orders for `host`, best first. None when this node does not lead: the worker then asks
    /// the leader.
    pub fn orders_for(&self, host: HostAddr) -> Option<TaskOrders> {
        let epoch = self.epoch?;
        let mut tasks: Vec<&Arc<Task>> =
            self.open.values().filter(|task| task.destination == host).collect();
        tasks.sort_by_key(|task| (std::cmp::Reverse(task.hits), task.grade, task.id));
        let tasks = tasks.into_iter().map(|task| self.order(task)).collect();
        Some(TaskOrders { manager: self.manager, ..TaskOrders::new(epoch, tasks) })
    }

    fn order(&self, task: &Task) -> TaskOrder {
        let source = self.host(task.source);
        let data_port = source.and_then(|host| match host.kind {
            HostKind::Reelyard { data_addr, data_tls, .. } => Some((data_addr, data_tls)),
            HostKind::Unknown | HostKind::Cfw => None,
        });
        TaskOrder {
            id: task.id,
            name: task.name.clone(),
            dir: task.dir.clone(),
            source: task.source,
            source_data: data_port.map(|(addr, _)| addr),
            source_data_tls: data_port.is_some_and(|(_, tls)| tls),
            source_tls: false,
            size: task.size,
            copy_speed: self.rate_of(task),
            tickets: None,
        }
    }

    /// The rate limit of `task`: the current one, or that at its end.
    pub fn rate_of(&self, task: &Task) -> Option<BitsPerSecond> {
        if task.state.is_open() { self.rates.get(&task.id).copied() } else { task.copy_speed }
    }
}

impl PlannedHost {
    /// Adds the host's part in the last round.
    pub(in crate::task_manager) fn with_part(mut self, part: Option<&HostParticipation>) -> Self {
        if let Some(part) = part {
            self.serving = part.serving;
            self.fetching = part.fetching;
            self.on_its_way = part.on_its_way;
            self.room = part.room;
            self.most_room = part.most_room;
            self.source_link = part.source_link;
            self.destination_link = part.destination_link;
            self.no_source = part.no_source;
            self.no_destination = part.no_destination;
        }
        self
    }
}

fn as_list<S: Serializer>(tasks: &Arc<TasksById>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(tasks.values().map(|task| &**task))
}

fn as_pairs<S: Serializer>(
    back_offs: &Arc<BTreeMap<Blamed, BackOff>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(back_offs.iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_allowed_in_the_epoch_of_their_comparison_only() {
        let view = TaskManagerView { epoch: Some(Epoch(2)), ..TaskManagerView::default() };
        assert!(!view.allows_inputs(Some(Epoch(2))), "nothing is compared yet");
        let view = TaskManagerView { inputs_passed: true, ..view };
        assert!(view.allows_inputs(Some(Epoch(2))));
        assert!(!view.allows_inputs(Some(Epoch(3))) && !view.allows_inputs(None));
    }
}
