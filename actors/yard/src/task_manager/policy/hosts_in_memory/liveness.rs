//! Signs of life: time and progress of the last report of each task. In memory only, pure.

use std::collections::HashMap;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::worker::TaskId;
use serde::Serialize;

use crate::task_manager::state::task::Task;

/// The last sign of life of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TaskProgress {
    /// Wall clock when this node received the report.
    pub at: Millis,
    /// Bytes on the destination's disk.
    pub bytes: u64,
}

/// The last report on each open task. A new leader has no reports yet, so for every task it
/// uses the time when it began to lead.
#[derive(Clone, Debug, Default)]
pub struct TaskLiveness {
    since: Millis,
    by_task: HashMap<TaskId, TaskProgress>,
    /// When a host last ended a task. A busy host begins the next one only then.
    freed: HashMap<HostAddr, Millis>,
}

impl TaskLiveness {
    /// No signs yet; all tasks count as alive at `since`.
    pub fn starting(since: Millis) -> Self {
        TaskLiveness { since, ..TaskLiveness::default() }
    }

    /// When this node began to listen.
    pub fn since(&self) -> Millis {
        self.since
    }

    /// Records a sign of life of a task.
    pub fn record(&mut self, task: TaskId, at: Millis, bytes: Option<u64>) {
        let progress = self.by_task.entry(task).or_insert(TaskProgress { at, bytes: 0 });
        progress.at = progress.at.max(at);
        progress.bytes = bytes.unwrap_or(progress.bytes);
    }

    /// A task ended: no more reports are expected, and its destination is free for the next
    /// task.
    pub fn ended(&mut self, task: &Task, at: Millis) {
        self.by_task.remove(&task.id);
        self.freed.insert(task.destination, at);
    }

    /// The last sign of each task.
    pub fn all(&self) -> impl Iterator<Item = (TaskId, TaskProgress)> + '_ {
        self.by_task.iter().map(|(task, progress)| (*task, *progress))
    }

    /// The last sign of a task.
    pub fn of(&self, task: TaskId) -> Option<TaskProgress> {
        self.by_task.get(&task).copied()
    }

    /// When a working task last gave a sign of life.
    pub fn last(&self, task: &Task) -> Millis {
        let last_progress = self.of(task.id).map_or(Millis(i64::MIN), |progress| progress.at);
        last_progress.max(task.changed).max(self.since)
    }

    /// Since when a ready task could have begun.
    pub fn could_begin(&self, task: &Task) -> Millis {
        let freed = self.freed.get(&task.destination).copied().unwrap_or(Millis(i64::MIN));
        freed.max(task.created).max(self.since)
    }
}
