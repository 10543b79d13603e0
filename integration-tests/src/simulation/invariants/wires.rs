//! "Our destinations need one of our workers as their source, for its data port", unless they can fetch
//! from old cfws too; names that the old protocol cannot carry go only to our workers.

use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_protocol::legacy::cfm::carries;
use reelyard_yard::task_manager::NewTask;

use super::InvariantCheck;
use crate::simulation::scene::HostPlan;

/// Its name.
pub const NAME: &str = "wires";

/// What a host's program can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramCapabilities {
    /// Whether it is a Reelyard worker.
    pub ours: bool,
    /// Whether it fetches from old cfws.
    pub from_old: bool,
}

impl ProgramCapabilities {
    /// The program of a host.
    pub fn of(host: &HostPlan) -> Self {
        ProgramCapabilities { ours: host.ours, from_old: !host.ours || host.fetches_from_old }
    }
}

/// A task was created.
pub fn check(programs: &BTreeMap<HostAddr, ProgramCapabilities>, task: &NewTask) -> InvariantCheck {
    let program = |host| programs.get(&host).copied().unwrap_or_default();
    let (from, to) = (program(task.source), program(task.destination));
    let verdict = if !from.ours && !to.from_old {
        Err(format!("{} asks {} for a data port", task.id, task.source))
    } else if !to.ours && !carries(&task.name) {
        Err(format!("{} sends {:?} to an old cfw", task.id, task.name))
    } else {
        Ok(())
    };
    (NAME, verdict)
}
