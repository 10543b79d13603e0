//! What must hold, one file each, in the words of the design.

use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::task_manager::NewTask;

pub mod acknowledged;
pub mod back_off;
pub mod deposed;
pub mod holdings;
pub mod ignored;
pub mod liveness;
pub mod one_copy;
pub mod one_task;
pub mod reports;
pub mod right_bytes;
pub mod room;
pub mod same_pieces;
pub mod signs;
pub mod sources;
pub mod wires;

/// The name of an invariant, and what came of a check of it.
pub type InvariantCheck = (&'static str, Result<(), String>);

/// Copies beyond the first, which the promise of one copy allows: see [`one_copy`].
#[derive(Clone, Debug, Default)]
pub struct Exceptions {
    /// Their task had been given up or taken back when they arrived: nobody waited for them.
    pub late: u64,
    /// Another host held the file without anybody having been told.
    pub untold: u64,
    /// Every task that was ever planned: where it went, and with what.
    pub given_up: BTreeMap<TaskId, (HostAddr, FileName)>,
}

impl Exceptions {
    pub(super) fn planned(&mut self, task: &NewTask) {
        self.given_up.insert(task.id, (task.destination, task.name.clone()));
    }

    pub(super) fn doubled(&mut self, its_task_is_open: bool) {
        if its_task_is_open {
            self.untold += 1;
        } else {
            self.late += 1;
        }
    }
}
