//! A copy is planned only where it fits, by the knowledge of the planner. That is the last report of the
//! disk, later arrivals, and all copies in progress there, decided ones included.

use std::collections::BTreeMap;

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;
use reelyard_protocol::legacy::cfw::DiskFigures;
use reelyard_yard::task_manager::NewTask;

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::judge::record::JudgeRecord;

/// The name of the invariant in a violation.
pub const NAME: &str = "room";

/// The knowledge of a leader that has applied all entries.
pub struct RoomKnowledge<'a> {
    /// The disk of each host, with the time of the request by the leader's clock.
    pub disks: &'a BTreeMap<HostAddr, (DiskFigures, Millis)>,
    /// The latest request time of all reports of each disk. Earlier copies are in the figures, also after the
    /// leader's clock was set back.
    pub latest_reports: &'a BTreeMap<HostAddr, Millis>,
    /// Its planned tasks whose commits have no outcome yet.
    pub decided: Vec<&'a NewTask>,
    /// The index of its snapshot. It does not know when earlier copies arrived.
    pub rebuilt_from: u64,
}

/// Checks planned tasks before any of them is committed. A disk may be used up to `percent`.
pub fn check(
    record: &JudgeRecord,
    tasks: &[NewTask],
    knows: &RoomKnowledge<'_>,
    percent: u32,
) -> InvariantCheck {
    let mut coming: BTreeMap<HostAddr, u64> = BTreeMap::new();
    let is_new = |task: &&&NewTask| !record.open.contains_key(&task.id);
    for task in record.open.values().chain(knows.decided.iter().filter(is_new).copied()) {
        *coming.entry(task.destination).or_default() += task.size;
    }
    for task in tasks {
        let coming = coming.entry(task.destination).or_default();
        *coming += task.size;
        let known = knows.disks.get(&task.destination);
        let Some(((disk, _), at)) = known.zip(knows.latest_reports.get(&task.destination)) else {
            return (NAME, Err(format!("{} goes to a disk that is not known", task.id)));
        };
        let landed = record.landed.iter().filter(|((host, _), (_, arrived, index))| {
            *host == task.destination && *arrived >= *at && *index > knows.rebuilt_from
        });
        let landed: u64 = landed.map(|(_, (size, ..))| size).sum();
        let full = u128::from(disk.used + *coming + landed);
        if full * 100 > u128::from(disk.used + disk.avail) * u128::from(percent) {
            let what = format!("{} does not fit {}: {full} bytes there", task.id, task.destination);
            return (NAME, Err(what));
        }
    }
    (NAME, Ok(()))
}
