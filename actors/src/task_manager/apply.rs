//! How events change the piece. Deterministic: the piece, the event and its time decide alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::back_off::{BackOff, BackingOff, Blamed};
use super::event::{Ending, GivenUp, NewTask, TaskEvent, TaskOutcome, TaskRefusal};
use super::messages::{Task, TaskState};
use super::snapshot::{FrozenBook, thaw_row};
use super::state::TaskBook;
use crate::clock::Millis;
use crate::event::PieceId;
use crate::host::{HostAddr, HostRole};
use crate::journal::{FrozenPiece, Piece, UnreadableEvent};
use crate::names::FileName;
use crate::wire::worker::{ContentHash, TaskId};

use TaskOutcome::{AlreadySo, Applied};

type Applying = Result<TaskOutcome, TaskRefusal>;

impl Piece for TaskBook {
    const ID: PieceId = PieceId::Tasks;
    const EVENT_VERSION: u8 = 1;

    type Event = TaskEvent;
    type Outcome = TaskOutcome;
    type Refusal = TaskRefusal;

    fn apply(&mut self, at: Millis, event: &TaskEvent) -> Applying {
        match event {
            TaskEvent::HostsConfigured { hosts } => self.configure_hosts(hosts),
            TaskEvent::Created(task) => self.create(at, task),
            TaskEvent::Began { id } => self.begin(at, *id),
            TaskEvent::Claimed { id } => self.claim(at, *id),
            TaskEvent::Completed { id, size, hash } => self.complete(at, *id, *size, *hash),
            TaskEvent::Ended { id, ending, back_off } => {
                self.end(at, *id, ending, back_off.as_ref())
            }
            TaskEvent::Placed { host, name } => self.place(at, *host, name),
            TaskEvent::InventoryDiffered { host, added, removed, complete } => {
                self.differ(at, *host, added, removed, *complete)
            }
            TaskEvent::Forgot { tasks, back_offs } => self.forget(tasks, back_offs),
        }
    }

    fn freeze(&self) -> Box<dyn FrozenPiece> {
        Box::new(FrozenBook::of(self))
    }

    fn thaw(&mut self, row: &[u8]) -> Result<(), UnreadableEvent> {
        thaw_row(self, row)
    }

    fn emptied(&self) -> Self {
        TaskBook::new(self.names.clone())
    }
}

impl TaskBook {
    fn configure_hosts(&mut self, hosts: &[(HostAddr, HostRole)]) -> Applying {
        let hosts: BTreeMap<HostAddr, HostRole> = hosts.iter().copied().collect();
        if *self.hosts == hosts {
            return Ok(AlreadySo);
        }
        self.placements.retain(|host, _| hosts.get(host).is_some_and(|role| role.is_destination()));
        let known = |host: &HostAddr| hosts.contains_key(host);
        Arc::make_mut(&mut self.back_offs).retain(|blamed, _| match blamed {
            Blamed::Source(host) | Blamed::Destination(host) => known(host),
            Blamed::Pair(source, destination) => known(source) && known(destination),
            Blamed::File(_) => true,
        });
        self.hosts = Arc::new(hosts);
        Ok(Applied)
    }

    fn create(&mut self, at: Millis, task: &NewTask) -> Applying {
        self.check_new(task)?;
        self.put_open(task.clone().into_task(at));
        Ok(Applied)
    }

    fn check_new(&self, task: &NewTask) -> Result<(), TaskRefusal> {
        if self.task(task.id).is_some() {
            return Err(TaskRefusal::IdTaken(task.id));
        }
        if task.source == task.destination {
            return Err(TaskRefusal::SameHost(task.source));
        }
        let role = |host: &HostAddr| self.hosts.get(host).copied();
        if !role(&task.source).is_some_and(HostRole::is_source) {
            return Err(TaskRefusal::UnknownHost(task.source));
        }
        if !role(&task.destination).is_some_and(HostRole::is_destination) {
            return Err(TaskRefusal::UnknownHost(task.destination));
        }
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

    fn begin(&mut self, at: Millis, id: TaskId) -> Applying {
        self.allowed(id, |task| task.state.is_open() && !task.claimed_done)?;
        self.alter(id, |task| {
            task.state = TaskState::Working;
            task.changed = at;
        });
        Ok(Applied)
    }

    /// A claim is also taken from a task that was given up: what it says is checked all the same.
    fn claim(&mut self, at: Millis, id: TaskId) -> Applying {
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
    ) -> Applying {
        let task = self.allowed(id, |task| {
            task.state.is_open() || task.claimed_done || task.state == TaskState::Done
        })?;
        if task.state == TaskState::Done {
            return Ok(AlreadySo);
        }
        let (host, name, blamed) = (task.destination, task.name.clone(), Blamed::all_of(task));
        if let Some(task) = self.take_open(id) {
            self.put_ended(task);
        }
        self.alter(id, |task| {
            task.state = TaskState::Done;
            task.changed = at;
            task.claimed_done = false;
            task.size = size.unwrap_or(task.size);
            task.hash = hash;
            task.reason = None;
            task.blame = None;
        });
        if blamed.iter().any(|blamed| self.back_offs.contains_key(blamed)) {
            Arc::make_mut(&mut self.back_offs).retain(|held, _| !blamed.contains(held));
        }
        // The host may have left the yard meanwhile: then there is nothing to record.
        let _ = self.place(at, host, &name);
        Ok(Applied)
    }

    fn end(
        &mut self,
        at: Millis,
        id: TaskId,
        ending: &Ending,
        back_off: Option<&BackingOff>,
    ) -> Applying {
        // cfm lets a task go to `timeout` from every state that it knows (spec 2.1).
        let by_wire = ending.how == GivenUp::Timeout;
        self.allowed(id, |task| {
            task.state.is_open() || (by_wire && task.state != TaskState::Cancelled)
        })?;
        if let Some(task) = self.take_open(id) {
            self.put_ended(task);
        }
        self.alter(id, |task| {
            task.state = ending.how.into();
            task.changed = at;
            task.claimed_done = false;
            task.reason = Some(ending.reason.clone());
            task.blame = ending.blame;
        });
        if let Some(BackingOff { blamed, until }) = back_off {
            let failures = self.back_offs.get(blamed).map_or(0, |standing| standing.failures);
            let back_off = BackOff {
                failures: failures.saturating_add(1),
                since: at,
                until: *until,
                reason: ending.reason.clone(),
            };
            Arc::make_mut(&mut self.back_offs).insert(blamed.clone(), back_off);
        }
        Ok(Applied)
    }

    fn place(&mut self, at: Millis, host: HostAddr, name: &FileName) -> Applying {
        self.differ(at, host, std::slice::from_ref(name), &[], false)
    }

    fn differ(
        &mut self,
        at: Millis,
        host: HostAddr,
        added: &[FileName],
        removed: &[FileName],
        complete: bool,
    ) -> Applying {
        if !self.hosts.get(&host).is_some_and(|role| role.is_destination()) {
            return Err(TaskRefusal::UnknownHost(host));
        }
        let ids = |names: &[FileName]| {
            let ids = self.names.intern_all(names.iter().map(FileName::as_bytes));
            // A `FileName` is a name already: none is dropped here.
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

    fn forget(&mut self, tasks: &[TaskId], back_offs: &[Blamed]) -> Applying {
        if tasks.iter().any(|id| self.ended.contains_key(id)) {
            let ended = Arc::make_mut(&mut self.ended);
            for id in tasks {
                ended.remove(id);
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
