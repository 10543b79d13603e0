//! The tasks of copies: decided, recorded, reported.

use reelyard_core::clock::Millis;
use reelyard_core::event::Commit;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::{Report, TaskId};
use reelyard_yard::task_manager::{NewTask, TaskEvent};

use super::Judge;
use crate::simulation::invariants::copies::{holdings, reports};
use crate::simulation::invariants::plans::{
    back_off, ignored, one_copy, one_task, progress, room, sources, wires,
};

impl Judge {
    /// Records a copy that is done. Its master may have another size than when the copy was planned.
    fn completed(&mut self, index: u64, commit: &Commit, id: TaskId, size: Option<u64>) {
        let Some(task) = self.record.open.remove(&id) else {
            return self.late_completion(id);
        };
        let copy = (task.destination, task.name.clone());
        self.record.landed.insert(copy, (size.unwrap_or(task.size), commit.at, index));
        self.confirm(task.destination, &task.name);
    }

    /// Records the first effect of an event of a task.
    pub(super) fn task_event(&mut self, index: u64, commit: &Commit, event: &TaskEvent) {
        let record = &self.record;
        match event {
            TaskEvent::Created(task) => {
                for verdict in [
                    one_task::check(record, task),
                    sources::check(record, task, self.settings.copies_per_source),
                    ignored::check(task),
                    one_copy::check(record, task),
                    wires::check(&self.programs, task),
                ] {
                    self.check(verdict);
                }
                self.record.open.insert(task.id, task.clone());
            }
            TaskEvent::Completed { id, size, .. } => self.completed(index, commit, *id, *size),
            TaskEvent::CompletedUnverified { id, size, .. } => {
                self.completed(index, commit, *id, Some(*size));
            }
            TaskEvent::Ended { id, ending, back_off } => {
                let leader = self.leaders.get(&commit.epoch.0).copied();
                let open = self.record.open.get(id);
                if let Some(task) = open.filter(|task| self.is_ours(task.destination)) {
                    let progress = self.progress.get(id).map_or(&[][..], Vec::as_slice);
                    let timeout = self.settings.timeout;
                    let verdict =
                        progress::check(task, ending, leader, commit.at, progress, timeout);
                    self.check(verdict);
                }
                if let Some(back_off) = back_off {
                    let cap = self.settings.back_off.cap;
                    self.check(back_off::check(back_off, commit.at, cap));
                }
                self.record.open.remove(id);
            }
            TaskEvent::Placed { host, name } => {
                self.record.landed.insert((*host, name.clone()), (0, commit.at, index));
                self.confirm(*host, name);
            }
            TaskEvent::InventoryDiffered { host, added, removed, .. } => {
                for name in added {
                    self.confirm(*host, name);
                }
                for name in removed {
                    if let Some(holders) = self.record.holders.get_mut(name) {
                        holders.remove(host);
                    }
                }
            }
            _ => {}
        }
    }

    /// Records that an abandoned task is done after all. Its destination is known from its creation.
    fn late_completion(&mut self, id: TaskId) {
        if let Some((host, name)) = self.exceptions.given_up.get(&id).cloned() {
            self.confirm(host, &name);
        }
    }

    fn confirm(&mut self, host: HostAddr, name: &FileName) {
        self.record.holders.entry(name.clone()).or_default().insert(host);
        self.record.confirmed.insert((host, name.clone()), self.now);
    }

    /// Checks a leader's decisions against its knowledge of the hosts.
    pub fn decided(&mut self, events: &[TaskEvent], knows: &holdings::LeaderKnowledge) {
        for event in events {
            let verdict = match event {
                TaskEvent::Created(task) => {
                    self.exceptions.planned(task);
                    self.truth(knows).check_planned(task)
                }
                event => self.truth(knows).check_removed(event),
            };
            self.check(verdict);
        }
    }

    fn truth<'a>(&'a self, knows: &'a holdings::LeaderKnowledge) -> holdings::GroundTruth<'a> {
        let (disks, programs) = (&self.on_disk, &self.programs);
        let (confirmed, clocks_agree) = (&self.record.confirmed, !self.clocks_jumped);
        holdings::GroundTruth { disks, confirmed, programs, clocks_agree, knows }
    }

    /// Checks a leader's plan against its knowledge of the disks.
    pub fn planned(&mut self, tasks: &[NewTask], knows: &room::RoomKnowledge<'_>) {
        let percent = self.settings.storage_limit_percent;
        self.check(room::check(&self.record, tasks, knows, percent));
    }

    /// Records a sign of life of a task, at the clock of the leader.
    pub fn sign_of_life(&mut self, node: usize, task: TaskId, at: Millis) {
        self.progress.entry(task).or_default().push((node, at));
    }

    /// Records that a worker deletes a report after a node accepted it.
    pub fn forgotten(&mut self, host: HostAddr, report: &Report) {
        self.check(reports::check(&self.record, host, report));
    }
}
