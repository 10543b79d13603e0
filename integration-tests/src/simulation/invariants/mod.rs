//! The invariants, one file each, in the words of the design.

use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::task_manager::NewTask;

pub mod acknowledged;
pub mod back_off;
pub mod clean_boxes;
pub mod deposed;
pub mod holdings;
pub mod ignored;
pub mod leases;
pub mod links;
pub mod liveness;
pub mod one_copy;
pub mod one_task;
pub mod removals;
pub mod reports;
pub mod right_bytes;
pub mod room;
pub mod same_pieces;
pub mod signs;
pub mod sources;
pub mod wires;

/// The name of an invariant, and the result of its check.
pub type InvariantCheck = (&'static str, Result<(), String>);

/// Copies beyond the first that the invariant of one copy allows: see [`one_copy`].
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
