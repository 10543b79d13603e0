//! What there is to see of the TaskManager, read without queueing in its mailbox.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use roaring::RoaringBitmap;
use serde::{Serialize, Serializer};
use tokio::sync::watch;

use super::backoff::Blamed;
use super::copy_history::CopyRecord;
use super::foreign_managers::Stranger;
use super::host_record::HostRecord;
use super::host_roster::HostRosterViewHandle;
use super::liveness::TaskProgress;
use super::messages::{Task, TaskState};
use super::plan::{
    HostParticipation, LinkSays, PassedOver, PlannerWaits, Skip, Unusable, WantsRoom,
};
use super::state::TasksById;
use crate::backoff::BackOff;
use crate::clock::Millis;
use crate::durations::Durations;
use crate::event::Epoch;
use crate::heartbeat::Health;
use crate::history::BoundedLog;
use crate::host::{BitsPerSecond, HostAddr, HostKind, HostRole};
use crate::manager::ManagerId;
use crate::names::FileName;
use crate::wire::worker::{Blame, TaskId, TaskOrder, TaskOrders};

/// Where the TaskManager shows itself. Clones share the board, and it outlives a restart of the
/// actor.
#[derive(Clone)]
pub struct TaskViewHandle {
    view: Arc<ArcSwap<TaskManagerView>>,
    changes: Arc<watch::Sender<u64>>,
    host_roster: HostRosterViewHandle,
}

impl Default for TaskViewHandle {
    fn default() -> Self {
        TaskViewHandle {
            view: Arc::new(ArcSwap::from_pointee(TaskManagerView::default())),
            changes: Arc::new(watch::Sender::new(0)),
            host_roster: HostRosterViewHandle::default(),
        }
    }
}

impl TaskViewHandle {
    /// The view as it is now.
    pub fn view(&self) -> Arc<TaskManagerView> {
        self.view.load_full()
    }

    /// Counts the changes of open tasks, of their rates and of leadership: a long poll waits on it.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Where the hosts on record are shown.
    pub fn host_roster(&self) -> &HostRosterViewHandle {
        &self.host_roster
    }

    /// Shows a new view. Only progress and figures of hosts changing wakes nobody.
    pub(super) fn publish(&self, view: TaskManagerView) {
        let before = self.view.load();
        let wakes = before.epoch != view.epoch
            || !Arc::ptr_eq(&before.open, &view.open)
            || before.rates != view.rates;
        self.view.store(Arc::new(view));
        if wakes {
            self.changes.send_modify(|changes| *changes += 1);
        }
    }
}

/// The observable state of the TaskManager.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TaskManagerView {
    /// When it was made.
    pub at: Millis,
    /// The epoch this node leads in; none on a follower.
    pub epoch: Option<Epoch>,
    /// The open tasks.
    #[serde(serialize_with = "as_list")]
    pub open: Arc<TasksById>,
    /// The tasks that ended and are still in the list.
    #[serde(serialize_with = "as_list")]
    pub ended: Arc<TasksById>,
    /// What became of every copy that was planned, kept longer than the tasks themselves.
    #[serde(skip)]
    pub history: BoundedLog<CopyRecord>,
    /// How far open tasks are, where something was heard since this node leads.
    pub progress: BTreeMap<TaskId, TaskProgress>,
    /// Begun tasks that cfm's wire offers again: see `TaskPolicy::offered_again`.
    #[serde(skip)]
    pub offered_again: BTreeSet<TaskId>,
    /// The rate in force of each open task; those that nothing limits are left out.
    pub rates: BTreeMap<TaskId, BitsPerSecond>,
    /// Who backs off, those on probation included.
    #[serde(serialize_with = "as_pairs")]
    pub back_offs: Arc<BTreeMap<Blamed, BackOff>>,
    /// The hosts as planned with, by address.
    pub hosts: Vec<PlannedHost>,
    /// Which files each host holds, as last confirmed.
    #[serde(skip)]
    pub placements: BTreeMap<HostAddr, Arc<RoaringBitmap>>,
    /// The planner.
    pub plan: PlannerView,
    /// Who this node is to its hosts; none while that is not known.
    pub manager: Option<ManagerId>,
    /// Signs that somebody else manages this yard too.
    pub strangers: Vec<Stranger>,
    /// Counts of what this node did while it led, since the process started.
    pub counters: TaskCounters,
}

/// A host as planned with.
#[derive(Clone, Debug, Serialize)]
pub struct PlannedHost {
    /// The host.
    pub host: HostAddr,
    /// What is on record of it.
    pub record: HostRecord,
    /// What it is for.
    pub role: HostRole,
    /// Whether it answers.
    pub health: Health,
    /// What program answers.
    pub kind: HostKind,
    /// Files it holds, as last confirmed; none when its inventory was never read.
    pub files: Option<u64>,
    /// Open tasks that it serves.
    pub serving: usize,
    /// Open tasks that it fetches.
    pub fetching: usize,
    /// Bytes on their way to it.
    pub on_its_way: u64,
    /// Bytes it has room for under its limit once they have arrived; none while its disk is not
    /// known.
    pub room: Option<u64>,
    /// The most it may send now in all copies together; none for no limit.
    pub sends_below: Option<BitsPerSecond>,
    /// The most it may receive now.
    pub receives_below: Option<BitsPerSecond>,
    /// How busy its link is, for a source; none where that is not known.
    pub source_link: Option<LinkSays>,
    /// How busy its link is, for a destination.
    pub destination_link: Option<LinkSays>,
    /// Why it gives nothing as a source.
    pub no_source: Option<Unusable>,
    /// Why it takes nothing as a destination.
    pub no_destination: Option<Unusable>,
}

/// The planner as it stands.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PlannerView {
    /// Files in the ranking.
    pub graded: usize,
    /// Graded files that want a copy and have none, those under way included.
    pub wanted: u64,
    /// Files larger than the room on any destination.
    pub too_big: u64,
    /// Which files no round takes up, and why.
    #[serde(skip)]
    pub passed_over: PassedOver,
    /// The hottest files that fit nowhere.
    #[serde(skip)]
    pub wants_room: Vec<WantsRoom>,
    /// The last round; none before the first one of this leader.
    pub last: Option<RoundView>,
}

/// One round of planning.
#[derive(Clone, Debug, Serialize)]
pub struct RoundView {
    /// When.
    pub at: Millis,
    /// How long it took, in microseconds.
    pub took_us: u64,
    /// Copies planned.
    pub planned: usize,
    /// Masters to be looked at first.
    pub to_look_up: usize,
    /// What more copies wait for.
    pub waiting: Option<PlannerWaits>,
    /// How many of the files that were looked at got no copy, by reason.
    pub skipped: BTreeMap<Skip, u64>,
    /// The best of them.
    pub examples: Vec<SkippedFile>,
}

/// A file that got no copy.
#[derive(Clone, Debug, Serialize)]
pub struct SkippedFile {
    /// The file.
    pub file: FileName,
    /// Why.
    pub why: Skip,
}

/// Counts of what this node did while it led, since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounters {
    /// Rounds of planning.
    pub rounds: u64,
    /// How long they took.
    pub round_time: Durations,
    /// Tasks created.
    pub created: u64,
    /// Tasks that ended with a copy in place.
    pub completed: u64,
    /// How many of these could not be compared with their source.
    pub unverified: u64,
    /// Bytes of all of them.
    pub copied_bytes: u64,
    /// Tasks that failed.
    pub failed: u64,
    /// Tasks that timed out.
    pub timed_out: u64,
    /// Tasks taken back.
    pub cancelled: u64,
    /// Who was blamed for those that failed or timed out.
    pub blamed: BlameCounts,
    /// Reports taken from our workers.
    pub reports: u64,
    /// Events whose precondition no longer held when they came to be applied.
    pub refused: u64,
    /// Commits that came back without an outcome.
    pub uncommitted: u64,
}

/// How often each was blamed for a copy that was given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BlameCounts {
    /// The source.
    pub source: u64,
    /// The destination.
    pub destination: u64,
    /// The file.
    pub file: u64,
    /// Source and destination together.
    pub pair: u64,
    /// Nobody.
    pub nobody: u64,
}

impl BlameCounts {
    /// One more copy was given up.
    pub(super) fn note(&mut self, blame: Option<Blame>) {
        let count = match blame {
            Some(Blame::Source) => &mut self.source,
            Some(Blame::Destination) => &mut self.destination,
            Some(Blame::File) => &mut self.file,
            Some(Blame::Pair) => &mut self.pair,
            None => &mut self.nobody,
        };
        *count += 1;
    }
}

/// A task as it is listed where these are offered again.
pub fn offered(task: &Arc<Task>, again: &BTreeSet<TaskId>) -> Arc<Task> {
    if task.state == TaskState::Working && again.contains(&task.id) {
        Arc::new(Task { state: TaskState::Ready, ..Task::clone(task) })
    } else {
        Arc::clone(task)
    }
}

impl TaskManagerView {
    /// Every task in the list, by number.
    pub fn tasks(&self) -> Vec<&Arc<Task>> {
        let mut tasks: Vec<&Arc<Task>> = self.open.values().chain(self.ended.values()).collect();
        tasks.sort_unstable_by_key(|task| task.id);
        tasks
    }

    /// The same as cfm's wire lists it for old cfws: what is offered again is ready.
    pub fn tasks_for_cfws(&self) -> Vec<Arc<Task>> {
        let tasks = self.tasks().into_iter();
        tasks.map(|task| offered(task, &self.offered_again)).collect()
    }

    /// A task, open or ended.
    pub fn task(&self, id: TaskId) -> Option<&Arc<Task>> {
        self.open.get(&id).or_else(|| self.ended.get(&id))
    }

    /// A host as planned with.
    pub fn host(&self, addr: HostAddr) -> Option<&PlannedHost> {
        let place = self.hosts.binary_search_by_key(&addr, |planned| planned.host).ok()?;
        self.hosts.get(place)
    }

    /// Who is left alone at the time of the view.
    pub fn left_alone(&self) -> impl Iterator<Item = (&Blamed, &BackOff)> {
        self.back_offs.iter().filter(|(_, back_off)| back_off.holds(self.at))
    }

    /// What `host` is to do or is doing, best first; none when this node does not lead and its
    /// leader is to be asked.
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
        let source_data = source.and_then(|host| match host.kind {
            HostKind::Reelyard { data_addr, .. } => Some(data_addr),
            HostKind::Unknown | HostKind::Cfw => None,
        });
        TaskOrder {
            id: task.id,
            name: task.name.clone(),
            dir: task.dir.clone(),
            source: task.source,
            source_data,
            size: task.size,
            copy_speed: self.rate_of(task),
        }
    }

    /// The rate that `task` keeps below: in force now, or when it ended.
    pub fn rate_of(&self, task: &Task) -> Option<BitsPerSecond> {
        if task.state.is_open() { self.rates.get(&task.id).copied() } else { task.copy_speed }
    }
}

impl PlannedHost {
    /// Fills in how the host took part in the last round.
    pub(super) fn with_part(mut self, part: Option<&HostParticipation>) -> Self {
        if let Some(part) = part {
            self.serving = part.serving;
            self.fetching = part.fetching;
            self.on_its_way = part.on_its_way;
            self.room = part.room;
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
