//! A Reelyard destination needs a Reelyard source, for its data port, unless it can fetch from old cfws too.
//! Names that the old protocol cannot carry go only to Reelyard workers.

use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_protocol::legacy::cfm::carries;
use reelyard_yard::task_manager::NewTask;

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::scene::HostPlan;

/// The name of the invariant in a violation.
pub const NAME: &str = "wires";

/// The capabilities of a host's program.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProgramCapabilities {
    /// Whether it is a Reelyard worker.
    pub ours: bool,
    /// Whether it fetches from old cfws.
    pub from_old: bool,
}

impl ProgramCapabilities {
    /// The capabilities of a host's program.
    pub fn of(host: &HostPlan) -> Self {
        ProgramCapabilities { ours: host.ours, from_old: !host.ours || host.fetches_from_old }
    }
}

/// Checks a new task.
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
