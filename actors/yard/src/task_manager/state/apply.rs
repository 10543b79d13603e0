//! How events change the piece. Deterministic: the piece, the event and its time decide alone.

use std::sync::Arc;

use TaskOutcome::{AlreadySo, Applied};
use reelyard_core::backoff::BackOff;
use reelyard_core::clock::Millis;
use reelyard_core::event::PieceId;
use reelyard_core::host::{HostAddr, HostRole};
use reelyard_core::names::{FileName, NamePin};
use reelyard_protocol::worker::{ContentHash, TaskId};
use reelyard_replication::{FrozenPiece, Piece, UnreadableEvent};

use super::backoff::{BackingOff, Blamed};
use super::event::{
    GivenUp, NewTask, TaskApplyResult, TaskEnding, TaskEvent, TaskOutcome, TaskRefusal,
};
use super::recorded_inputs::InputsOnRecord;
use super::snapshot::{FrozenTaskBook, thaw_row};
use super::task_book::TaskBook;
use crate::task_manager::state::task::{Task, TaskState};

impl Piece for TaskBook {
    const ID: PieceId = PieceId::Tasks;
    const EVENT_VERSION: u8 = 1;

    type Event = TaskEvent;
    type Outcome = TaskOutcome;
    type Refusal = TaskRefusal;

    fn apply(&mut self, at: Millis, event: &TaskEvent) -> TaskApplyResult {
        match event {
            TaskEvent::HostsConfigured { hosts } => self.configure_hosts(hosts),
            TaskEvent::Created(task) => self.create(at, task),
            TaskEvent::Began { id } => self.begin(at, *id),
            TaskEvent::Claimed { id } => self.claim(at, *id),
            TaskEvent::Completed { id, size, hash } => self.complete(at, *id, *size, *hash, false),
            TaskEvent::Ended { id, ending, back_off } => {
                self.end(at, *id, ending, back_off.as_ref())
            }
            TaskEvent::Placed { host, name } => self.place(at, *host, name),
            TaskEvent::InventoryDiffered { host, added, removed, complete } => {
                self.differ(at, *host, added, removed, *complete)
            }
            TaskEvent::Forgot { tasks, back_offs } => self.forget(tasks, back_offs),
            TaskEvent::CompletedUnverified { id, size, hash } => {
                self.complete(at, *id, Some(*size), Some(*hash), true)
            }
            TaskEvent::ClusterNamed { cluster } => {
                let named = self.cluster.is_some();
                self.cluster.get_or_insert(*cluster);
                Ok(if named { AlreadySo } else { Applied })
            }
            TaskEvent::HostModeSet { host, mode, .. } => self.set_mode(*host, *mode),
            TaskEvent::HostAdded { host, role, .. } => self.add_host(*host, *role),
            TaskEvent::HostRemoved { host, .. } => self.remove_host(*host),
            TaskEvent::HostSilent { host, since } => self.record_silence(*host, *since),
            TaskEvent::HostLost { host } => self.presume_lost(*host),
            TaskEvent::HostRecovered { host } => self.record_recovery(*host),
            TaskEvent::HistoryForgotten { before } => {
                self.history.forget_before(*before);
                Ok(Applied)
            }
            TaskEvent::HostsNamed { named, dropped } => self.name_hosts(named, dropped),
            TaskEvent::InputsRecorded(inputs) => {
                self.inputs = Some(InputsOnRecord { at, inputs: *inputs });
                Ok(Applied)
            }
        }
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenTaskBook::of(self))
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        thaw_row(self, row)
    }

    fn emptied(&self) -> Self {
        TaskBook::new(self.names.clone())
    }

    fn pin_names(&self) -> Option<NamePin> {
        Some(self.names.pin())
    }
}

impl TaskBook {
    fn create(&mut self, at: Millis, task: &NewTask) -> TaskApplyResult {
        self.check_new(task)?;
        self.last_planned_to = Some(task.destination);
        self.insert_open(task.clone().into_task(at));
        Ok(Applied)
    }

    fn check_new(&self, task: &NewTask) -> Result<(), TaskRefusal> {
        if self.task(task.id).is_some() {
            return Err(TaskRefusal::IdTaken(task.id));
        }
        if task.source == task.destination {
            return Err(TaskRefusal::SameHost(task.source));
        }
        self.check_takes_part(task.source, HostRole::is_source)?;
        self.check_takes_part(task.destination, HostRole::is_destination)?;
        if let Some(by) = self.open_for(self.file(&task.name)) {
            return Err(TaskRefusal::FileBusy { name: task.name.clone(), by });
        }
        let served = self.open.values().filter(|open| open.source == task.source).count();
        if served >= task.source_cap as usize {
            return Err(TaskRefusal::SourceBusy(task.source));
        }
        Ok(())
    }

    /// The task, if it is in one of the states that `allowed` allows.
    fn allowed(
        &self,
        id: TaskId,
        allowed: impl FnOnce(&Task) -> bool,
    ) -> Result<&Task, TaskRefusal> {
        let task = self.task(id).ok_or(TaskRefusal::NoSuchTask(id))?;
        if allowed(task) { Ok(task) } else { Err(TaskRefusal::Transition { id, from: task.state }) }
    }

    fn begin(&mut self, at: Millis, id: TaskId) -> TaskApplyResult {
        self.allowed(id, |task| task.state.is_open() && !task.claimed_done)?;
        self.alter(id, |task| {
            task.state = TaskState::Working;
            task.changed = at;
        });
        Ok(Applied)
    }

    /// A claim is also accepted from an ended task, because every claim is checked.
    fn claim(&mut self, at: Millis, id: TaskId) -> TaskApplyResult {
        self.allowed(id, |task| task.state != TaskState::Cancelled)?;
        self.alter(id, |task| {
            if task.state.is_open() {
                task.state = TaskState::Working;
            }
            task.claimed_done |= task.state != TaskState::Done;
            task.changed = at;
        });
        Ok(Applied)
    }

    fn complete(
        &mut self,
        at: Millis,
        id: TaskId,
        size: Option<u64>,
        hash: Option<ContentHash>,
        is_unverified: bool,
    ) -> TaskApplyResult {
        let task = self.allowed(id, |task| {
            task.state.is_open() || task.claimed_done || task.state == TaskState::Done
        })?;
        if task.state == TaskState::Done {
            return Ok(AlreadySo);
        }
        let (host, name, blamed) = (task.destination, task.name.clone(), Blamed::all_of(task));
        if let Some(task) = self.remove_open(id) {
            self.insert_ended(task);
        }
        self.alter(id, |task| {
            task.state = TaskState::Done;
            task.changed = at;
            task.claimed_done = false;
            task.size = size.unwrap_or(task.size);
            task.hash = hash;
            task.reason = None;
            task.is_unverified = is_unverified;
            task.blame = None;
        });
        self.record_end(id);
        for blamed in &blamed {
            self.succeeded(at, blamed);
        }
        // The host may have left the yard meanwhile. Then nothing is recorded.
        let _ = self.place(at, host, &name);
        Ok(Applied)
    }

    /// A copy was completed with `blamed` in it. The backoff of a file or a pair ends; that of
    /// a host ends step by step.
    fn succeeded(&mut self, at: Millis, blamed: &Blamed) {
        let Some(back_off) = self.back_offs.get(blamed) else { return };
        let left = blamed.host().and_then(|_| back_off.after_success(at));
        let back_offs = Arc::make_mut(&mut self.back_offs);
        match left {
            Some(left) => back_offs.insert(blamed.clone(), left),
            None => back_offs.remove(blamed),
        };
    }

    fn end(
        &mut self,
        at: Millis,
        id: TaskId,
        ending: &TaskEnding,
        back_off: Option<&BackingOff>,
    ) -> TaskApplyResult {
        // cfm allows the change to `timeout` from every state.
        let by_wire = ending.how == GivenUp::Timeout;
        self.allowed(id, |task| {
            task.state.is_open() || (by_wire && task.state != TaskState::Cancelled)
        })?;
        let was_open = self.remove_open(id).map(|task| self.insert_ended(task)).is_some();
        self.alter(id, |task| {
            task.state = ending.how.into();
            task.changed = at;
            task.claimed_done = false;
            task.reason = Some(ending.reason.clone());
            task.blame = ending.blame;
        });
        if was_open {
            self.record_end(id);
        }
        if let Some(BackingOff { blamed, until }) = back_off {
            let held = self.back_offs.get(blamed);
            let failed = ending.how != GivenUp::Cancelled;
            let back_off = BackOff::next(held, failed, at, *until, &ending.reason);
            Arc::make_mut(&mut self.back_offs).insert(blamed.clone(), back_off);
        }
        Ok(Applied)
    }

    fn place(&mut self, at: Millis, host: HostAddr, name: &FileName) -> TaskApplyResult {
        self.differ(at, host, std::slice::from_ref(name), &[], false)
    }

    fn differ(
        &mut self,
        at: Millis,
        host: HostAddr,
        added: &[FileName],
        removed: &[FileName],
        complete: bool,
    ) -> TaskApplyResult {
        if !self.hosts.get(&host).is_some_and(|record| record.role.is_destination()) {
            return Err(TaskRefusal::UnknownHost(host));
        }
        let ids = |names: &[FileName]| {
            let ids = self.names.intern_all(names.iter().map(FileName::as_bytes));
            // A `FileName` is always a valid name, so none is dropped here.
            ids.into_iter().flatten().map(|id| id.0).collect::<Vec<u32>>()
        };
        let (added, removed) = (ids(added), ids(removed));
        let placement = self.placements.entry(host).or_default();
        let files = Arc::make_mut(&mut placement.files);
        files.extend(added);
        for file in removed {
            files.remove(file);
        }
        placement.complete |= complete;
        placement.confirmed = at;
        Ok(Applied)
    }

    fn forget(&mut self, tasks: &[TaskId], back_offs: &[Blamed]) -> TaskApplyResult {
        for id in tasks {
            if self.drop_ended(*id) {
                self.forgotten_to = self.forgotten_to.max(Some(*id));
            }
        }
        if back_offs.iter().any(|blamed| self.back_offs.contains_key(blamed)) {
            let held = Arc::make_mut(&mut self.back_offs);
            for blamed in back_offs {
                held.remove(blamed);
            }
        }
        Ok(Applied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task_manager::samples::{host, name, new_task};

    fn book() -> TaskBook {
        let mut book = TaskBook::default();
        let hosts = vec![
            (host(1), HostRole::Both),
            (host(2), HostRole::Source),
            (host(21), HostRole::Destination),
        ];
        book.apply(Millis(0), &TaskEvent::HostsConfigured { hosts }).unwrap();
        book
    }

    fn create(book: &mut TaskBook, task: NewTask) -> TaskApplyResult {
        book.apply(Millis(0), &TaskEvent::Created(task))
    }

    fn fail(id: i64, blamed: Blamed, until: i64) -> TaskEvent {
        let ending = TaskEnding { how: GivenUp::Failed, reason: "broke".to_owned(), blame: None };
        let back_off = Some(BackingOff { blamed, until: Millis(until) });
        TaskEvent::Ended { id: TaskId(id), ending, back_off }
    }

    #[test]
    fn a_task_is_created_only_where_nothing_is_in_its_way() {
        let mut book = book();
        create(&mut book, new_task(1, "a.mpg")).unwrap();
        let of = |id, file: &str| NewTask { source_cap: 2, ..new_task(id, file) };
        let refused = [
            (of(1, "b.mpg"), TaskRefusal::IdTaken(TaskId(1))),
            (new_task(2, "b.mpg"), TaskRefusal::SourceBusy(host(1))),
            (
                NewTask { source: host(2), ..of(2, "a.mpg") },
                TaskRefusal::FileBusy { name: name("a.mpg"), by: TaskId(1) },
            ),
            (NewTask { destination: host(1), ..of(2, "b.mpg") }, TaskRefusal::SameHost(host(1))),
            (
                NewTask { source: host(21), destination: host(1), ..of(2, "b.mpg") },
                TaskRefusal::UnknownHost(host(21)),
            ),
            (NewTask { destination: host(2), ..of(2, "b.mpg") }, TaskRefusal::UnknownHost(host(2))),
            (NewTask { destination: host(9), ..of(2, "b.mpg") }, TaskRefusal::UnknownHost(host(9))),
        ];
        for (task, refusal) in refused {
            assert_eq!(create(&mut book, task), Err(refusal));
        }
        assert_eq!(book.open().len(), 1);
        create(&mut book, of(2, "b.mpg")).unwrap();
    }

    #[test]
    fn a_completed_task_places_its_file_and_clears_its_back_offs() {
        let mut book = book();
        let others = Blamed::Destination(host(1));
        let blamed = [Blamed::Source(host(1)), Blamed::File(name("a.mpg")), others.clone()];
        for (id, blamed) in (1..).zip(blamed) {
            create(&mut book, new_task(id, "a.mpg")).unwrap();
            book.apply(Millis(1), &fail(id, blamed, 50)).unwrap();
        }
        create(&mut book, new_task(9, "a.mpg")).unwrap();
        let done = TaskEvent::Completed { id: TaskId(9), size: Some(5), hash: None };
        assert_eq!(book.apply(Millis(2), &done), Ok(Applied));
        assert_eq!(book.apply(Millis(3), &done), Ok(AlreadySo));
        let task = book.task(TaskId(9)).unwrap();
        assert_eq!((task.state, task.size, task.changed), (TaskState::Done, 5, Millis(2)));
        let file = book.file(&name("a.mpg"));
        assert!(book.placement(host(21)).unwrap().files.contains(file.0));
        assert!(!book.placement(host(21)).unwrap().complete);
        assert_eq!(book.back_offs().keys().collect::<Vec<_>>(), [&others]);
    }

    #[test]
    fn an_unverified_copy_says_so() {
        let mut book = book();
        create(&mut book, new_task(1, "a.mpg")).unwrap();
        let hash = ContentHash([3; 32]);
        let done = TaskEvent::CompletedUnverified { id: TaskId(1), size: 5, hash };
        assert_eq!(book.apply(Millis(2), &done), Ok(Applied));
        assert_eq!(book.apply(Millis(3), &done), Ok(AlreadySo));
        let task = book.task(TaskId(1)).unwrap();
        assert_eq!((task.state, task.size, task.hash), (TaskState::Done, 5, Some(hash)));
        assert!(task.is_unverified && task.reason.is_none());
        assert!(task.reason_in_words().unwrap().contains("not compared"));
        assert!(book.placement(host(21)).is_some());
    }

    #[test]
    fn failures_in_a_row_are_counted() {
        let mut book = book();
        let blamed = Blamed::File(name("a.mpg"));
        for id in 1..4 {
            create(&mut book, new_task(id, "a.mpg")).unwrap();
            book.apply(Millis(id), &fail(id, blamed.clone(), 100 + id)).unwrap();
        }
        let held = book.held_back(&blamed, Millis(102)).unwrap();
        assert_eq!((held.failures, held.since, held.until), (3, Millis(3), Millis(103)));
        assert!(book.held_back(&blamed, Millis(103)).is_none());
    }

    #[test]
    fn a_copy_that_is_taken_back_is_no_failure() {
        let mut book = book();
        let blamed = Blamed::File(name("a.mpg"));
        let take_back = |id: i64, until| {
            let ending =
                TaskEnding { how: GivenUp::Cancelled, reason: "cancelled".to_owned(), blame: None };
            let back_off = Some(BackingOff { blamed: blamed.clone(), until: Millis(until) });
            TaskEvent::Ended { id: TaskId(id), ending, back_off }
        };
        let mut held = Vec::new();
        let events = [
            take_back(1, 100),
            take_back(2, 200),
            fail(3, blamed.clone(), 1000),
            take_back(4, 300),
            take_back(5, 2000),
        ];
        for (id, event) in (1..).zip(events) {
            create(&mut book, new_task(id, "a.mpg")).unwrap();
            book.apply(Millis(id), &event).unwrap();
            let back_off = &book.back_offs()[&blamed];
            held.push((back_off.failures, back_off.until.0, back_off.reason.clone()));
        }
        let expected = [
            (0, 100, "cancelled"),
            (0, 200, "cancelled"),
            (1, 1000, "broke"),
            (1, 1000, "broke"),
            (1, 2000, "cancelled"),
        ];
        assert_eq!(held, expected.map(|(failures, until, why)| (failures, until, why.to_owned())));
    }

    #[test]
    fn a_host_is_trusted_again_step_by_step() {
        let mut book = book();
        let blamed = Blamed::Destination(host(21));
        for id in 1..5 {
            create(&mut book, new_task(id, "a.mpg")).unwrap();
            book.apply(Millis(id), &fail(id, blamed.clone(), 100)).unwrap();
        }
        let failures = |book: &TaskBook| book.back_offs().get(&blamed).map(|held| held.failures);
        let mut left = vec![failures(&book)];
        for id in 10..13 {
            create(&mut book, new_task(id, &format!("{id}.mpg"))).unwrap();
            let done = TaskEvent::Completed { id: TaskId(id), size: None, hash: None };
            book.apply(Millis(50), &done).unwrap();
            left.push(failures(&book));
            assert_eq!(book.on_probation(&blamed, Millis(50)), left.last() != Some(&None));
        }
        assert_eq!(left, [Some(4), Some(2), Some(1), None]);
    }

    #[test]
    fn an_ended_task_cannot_fail_or_begin() {
        let mut book = book();
        create(&mut book, new_task(1, "a.mpg")).unwrap();
        let done = TaskEvent::Completed { id: TaskId(1), size: None, hash: None };
        book.apply(Millis(1), &done).unwrap();
        let refused = Err(TaskRefusal::Transition { id: TaskId(1), from: TaskState::Done });
        let failing = fail(1, Blamed::Source(host(1)), 9);
        assert_eq!(book.apply(Millis(2), &failing), refused);
        assert_eq!(book.apply(Millis(2), &TaskEvent::Began { id: TaskId(1) }), refused);
        assert!(book.back_offs().is_empty());
    }
}
