//! A copy is planned only where it fits, by the knowledge of the planner. That is the last report of the
//! disk, later arrivals, and all copies in progress there, decided ones included.

use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_replication::Ownership;
use reelyard_yard::task_manager::plan::PlanningRound;
use reelyard_yard::task_manager::{TaskBook, TaskEvent, TaskPolicy};

use super::InvariantCheck;

/// The name of the invariant in a violation.
pub const NAME: &str = "room";

/// Checks a planned round before any of it is committed.
pub fn check(
    round: &PlanningRound,
    policy: &TaskPolicy,
    own: &Ownership<TaskBook>,
) -> InvariantCheck {
    let mut coming: BTreeMap<HostAddr, u64> = BTreeMap::new();
    for task in own.piece().open().values() {
        *coming.entry(task.destination).or_default() += task.size;
    }
    for event in own.in_flight().events() {
        if let TaskEvent::Created(task) = event
            && own.piece().task(task.id).is_none()
        {
            *coming.entry(task.destination).or_default() += task.size;
        }
    }
    let percent = u128::from(policy.settings().storage_limit_percent);
    for task in &round.tasks {
        let coming = coming.entry(task.destination).or_default();
        *coming += task.size;
        let Some(host) = policy.hosts().get(task.destination) else {
            return (NAME, Err(format!("{} goes to an unknown host", task.id)));
        };
        let Some((disk, at)) = host.disk else {
            return (NAME, Err(format!("{} goes to a disk that is not known", task.id)));
        };
        let landed = host.landed.values().filter(|copy| copy.at >= at).map(|copy| copy.size);
        let full = u128::from(disk.used + *coming) + landed.map(u128::from).sum::<u128>();
        if full * 100 > u128::from(disk.used + disk.avail) * percent {
            let what = format!("{} does not fit {}: {full} bytes there", task.id, task.destination);
            return (NAME, Err(what));
        }
    }
    (NAME, Ok(()))
}
