//! The piece: tasks, backoffs, hosts, and the files of each host, as last confirmed. Pure.
//!
//! Names are kept as the numbers of the shared [`NameTable`]; events and snapshots have the names
//! themselves, because numbers are valid only within one process.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use reelyard_core::backoff::BackOff;
use reelyard_core::clock::Millis;
use reelyard_core::history::BoundedLog;
use reelyard_core::host::HostAddr;
use reelyard_core::manager::YardId;
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_protocol::worker::TaskId;
use roaring::RoaringBitmap;

use super::backoff::Blamed;
use super::ended_index::EndedIndex;
use super::hosts::host_record::HostRecord;
use super::recorded_inputs::InputsOnRecord;
use crate::task_manager::state::copy_record::CopyRecord;
use crate::task_manager::state::task::Task;

/// Tasks by number.
pub type TasksById = BTreeMap<TaskId, Arc<Task>>;

/// The files of one host, as last confirmed by the host or by a verified copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement {
    /// Numbers of the host's files.
    pub files: Arc<RoaringBitmap>,
    /// Whether the whole inventory was read at least once. Until then `files` is a part of it.
    pub complete: bool,
    /// When it was last confirmed or changed.
    pub confirmed: Millis,
}

/// The durable state of the TaskManager.
///
/// Its shards are shared (`Arc`) and copied on write, so that freezing and publishing it are cheap.
///
/// **Invariants:** no two open tasks copy one file, and no open task copies from a host to itself.
/// `by_file` holds exactly the files of `open`. Only destinations of `hosts` have placements. No task is
/// created with a host that is not active.
#[derive(Clone, Debug, Default)]
pub struct TaskBook {
    pub(in crate::task_manager) names: NameTable,
    pub(in crate::task_manager) hosts: Arc<BTreeMap<HostAddr, HostRecord>>,
    pub(in crate::task_manager) open: Arc<TasksById>,
    pub(in crate::task_manager) ended: Arc<TasksById>,
    ended_index: EndedIndex,
    pub(in crate::task_manager) by_file: HashMap<FileId, TaskId>,
    pub(in crate::task_manager) back_offs: Arc<BTreeMap<Blamed, BackOff>>,
    pub(in crate::task_manager) placements: BTreeMap<HostAddr, Placement>,
    pub(in crate::task_manager) last_planned_to: Option<HostAddr>,
    pub(in crate::task_manager) forgotten_to: Option<TaskId>,
    pub(in crate::task_manager) cluster: Option<YardId>,
    pub(in crate::task_manager) history: BoundedLog<CopyRecord>,
    pub(in crate::task_manager) inputs: Option<InputsOnRecord>,
}

impl TaskBook {
    /// An empty book over `names`.
    pub fn new(names: NameTable) -> Self {
        TaskBook { names, ..TaskBook::default() }
    }

    /// The table that the book's file numbers belong to.
    pub fn names(&self) -> &NameTable {
        &self.names
    }

    /// The hosts of the yard.
    pub fn hosts(&self) -> &Arc<BTreeMap<HostAddr, HostRecord>> {
        &self.hosts
    }

    /// A host of the yard.
    pub fn host(&self, addr: HostAddr) -> Option<&HostRecord> {
        self.hosts.get(&addr)
    }

    /// The open tasks.
    pub fn open(&self) -> &Arc<TasksById> {
        &self.open
    }

    /// The tasks that ended and are still in the list.
    pub fn ended(&self) -> &Arc<TasksById> {
        &self.ended
    }

    /// A task, open or ended.
    pub fn task(&self, id: TaskId) -> Option<&Arc<Task>> {
        self.open.get(&id).or_else(|| self.ended.get(&id))
    }

    /// The copies of a file that failed and are still in the list, the oldest first.
    pub fn failures_of(&self, name: &FileName) -> impl Iterator<Item = &Arc<Task>> {
        let failed = self.names.find(name.as_bytes()).map(|file| self.ended_index.failed(file));
        failed.into_iter().flatten().filter_map(|id| self.ended.get(&id))
    }

    /// Whether a copy to `host` succeeded that is still in the list.
    pub fn has_done_at(&self, host: HostAddr) -> bool {
        self.ended_index.has_done_at(host)
    }

    /// The open task that copies `file`.
    pub fn open_for(&self, file: FileId) -> Option<TaskId> {
        self.by_file.get(&file).copied()
    }

    /// Every remembered backoff, including those that have ended.
    pub fn back_offs(&self) -> &Arc<BTreeMap<Blamed, BackOff>> {
        &self.back_offs
    }

    /// The backoff that blocks `blamed` at `now`.
    pub fn held_back(&self, blamed: &Blamed, now: Millis) -> Option<&BackOff> {
        self.back_offs.get(blamed).filter(|back_off| back_off.holds(now))
    }

    /// Whether the backoff of `blamed` has ended and no success has closed it yet. Then it gets one copy at
    /// a time, as a trial.
    pub fn on_probation(&self, blamed: &Blamed, now: Millis) -> bool {
        self.back_offs.get(blamed).is_some_and(|back_off| !back_off.holds(now))
    }

    /// The files of a host that were ever confirmed.
    pub fn placement(&self, host: HostAddr) -> Option<&Placement> {
        self.placements.get(&host)
    }

    /// Every host's placements.
    pub fn placements(&self) -> &BTreeMap<HostAddr, Placement> {
        &self.placements
    }

    /// The destination of the task that was created last, even if that task is forgotten. If destinations
    /// take turns, the next turn is behind it.
    pub fn last_planned_to(&self) -> Option<HostAddr> {
        self.last_planned_to
    }

    /// The highest number of a task that left the list. A higher number that is not in the list never
    /// belonged to a task.
    pub fn forgotten_to(&self) -> Option<TaskId> {
        self.forgotten_to
    }

    /// The id of this cluster; none before it first led.
    pub fn cluster(&self) -> Option<YardId> {
        self.cluster
    }

    /// The inputs by which a leader planned last; none before the first leader with inputs.
    pub fn inputs(&self) -> Option<&InputsOnRecord> {
        self.inputs.as_ref()
    }

    /// The number of a file's name.
    pub(in crate::task_manager) fn file(&self, name: &FileName) -> FileId {
        self.names.intern(name)
    }

    pub(in crate::task_manager) fn insert_open(&mut self, task: Task) {
        self.by_file.insert(self.file(&task.name), task.id);
        Arc::make_mut(&mut self.open).insert(task.id, Arc::new(task));
    }

    pub(in crate::task_manager) fn insert_ended(&mut self, task: Task) {
        self.drop_ended(task.id);
        self.ended_index.enter(self.file(&task.name), &task);
        Arc::make_mut(&mut self.ended).insert(task.id, Arc::new(task));
    }

    /// Removes an ended task from the list. Answers whether it was there.
    pub(in crate::task_manager) fn drop_ended(&mut self, id: TaskId) -> bool {
        if !self.ended.contains_key(&id) {
            return false;
        }
        let Some(task) = Arc::make_mut(&mut self.ended).remove(&id) else { return false };
        self.ended_index.leave(self.file(&task.name), &task);
        true
    }

    /// Removes an open task from the open tasks.
    pub(in crate::task_manager) fn remove_open(&mut self, id: TaskId) -> Option<Task> {
        let task = Arc::make_mut(&mut self.open).remove(&id)?;
        self.by_file.remove(&self.file(&task.name));
        Some(Arc::unwrap_or_clone(task))
    }

    /// Changes a task in its place.
    pub(in crate::task_manager) fn alter(&mut self, id: TaskId, change: impl FnOnce(&mut Task)) {
        if self.open.contains_key(&id) {
            if let Some(task) = Arc::make_mut(&mut self.open).get_mut(&id) {
                change(Arc::make_mut(task));
            }
            return;
        }
        let Some(file) = self.ended.get(&id).map(|task| self.file(&task.name)) else { return };
        if let Some(task) = Arc::make_mut(&mut self.ended).get_mut(&id) {
            self.ended_index.leave(file, task);
            change(Arc::make_mut(task));
            self.ended_index.enter(file, task);
        }
    }
}
