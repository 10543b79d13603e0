//! The invariants, one file each, grouped by subject.

use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::task_manager::NewTask;

pub mod boxes;
pub mod copies;
pub mod fencing;
pub mod links;
pub mod liveness;
pub mod log;
pub mod plans;

/// The name of an invariant, and the result of its check.
pub type InvariantCheck = (&'static str, Result<(), String>);

/// Copies beyond the first that the invariant of one copy allows: see [`plans::one_copy`].
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// Copies of tasks that were abandoned or withdrawn before the arrival.
    pub late: u64,
    /// Copies of files that another host held without a report to any node.
    pub unasked: u64,
    /// The destination and file of every planned task.
    pub given_up: BTreeMap<TaskId, (HostAddr, FileName)>,
}

impl Exceptions {
    pub(super) fn planned(&mut self, task: &NewTask) {
        self.given_up.insert(task.id, (task.destination, task.name.clone()));
    }

    pub(super) fn doubled(&mut self, its_task_is_open: bool) {
        if its_task_is_open {
            self.unasked += 1;
        } else {
            self.late += 1;
        }
    }
}
