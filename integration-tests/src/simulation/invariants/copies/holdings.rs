//! A leader uses only what a host reported; a missing copy is better than a wrong one. These events must not
//! happen:
//!
//! - A leader records a copy as gone, although the copy was on the disk before the request for the list and
//!   still is.
//! - A leader records a copy as gone, although it saw the copy recorded after its arrival.
//! - A leader plans a copy of a file that was on some disk before the request for that host's list.
//!
//! A leader may use a list that is older than another leader's record, where it cannot know that. A snapshot
//! does not contain the arrival times of copies, and clocks that jumped may differ.
//!
//! The true disks decide here. The record does not decide, because it follows the leaders.

use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_yard::task_manager::{NewTask, TaskEvent};

use crate::simulation::invariants::InvariantCheck;
use crate::simulation::invariants::plans::wires::ProgramCapabilities;

/// The name of the invariant in a violation.
pub const NAME: &str = "holdings";

/// The knowledge of a leader, in virtual milliseconds.
pub struct LeaderKnowledge {
    /// The request time of the last list of each host.
    pub lists: BTreeMap<HostAddr, u64>,
    /// The time from which it follows the log.
    pub follows: u64,
}

/// The holders of each file, and the time of arrival in virtual milliseconds.
pub type OnDisk = BTreeMap<FileName, BTreeMap<HostAddr, u64>>;

/// The true state of the disks, and the knowledge of a leader.
pub struct GroundTruth<'a> {
    /// The true holders of each file.
    pub disks: &'a OnDisk,
    /// The time of the last record of each copy.
    pub confirmed: &'a BTreeMap<(HostAddr, FileName), u64>,
    /// The capabilities of the program on each host.
    pub programs: &'a BTreeMap<HostAddr, ProgramCapabilities>,
    /// Whether the clocks of all nodes always agreed.
    pub clocks_agree: bool,
    /// The knowledge of the leader.
    pub knows: &'a LeaderKnowledge,
}

impl GroundTruth<'_> {
    /// The time from which `host` truly has a file; `None` when its list cannot name the file.
    fn since(&self, host: HostAddr, name: &FileName) -> Option<u64> {
        // The list of an old cfw has one name per line.
        let is_ours = self.programs.get(&host).is_some_and(|program| program.ours);
        let is_listed = is_ours || !name.as_bytes().contains(&b'\n');
        self.disks.get(name)?.get(&host).copied().filter(|_| is_listed)
    }

    /// Checks a leader's decision on an event.
    pub fn check_removed(&self, event: &TaskEvent) -> InvariantCheck {
        let TaskEvent::InventoryDiffered { host, removed, .. } = event else {
            return (NAME, Ok(()));
        };
        let is_there = |name: &&FileName| {
            self.since(*host, name).is_some_and(|since| {
                let is_listed = self.knows.lists.get(host).is_none_or(|asked| since < *asked);
                let confirmed = self.confirmed.get(&(*host, (*name).clone())).copied();
                let is_known = |at| since <= at && self.knows.follows < at && self.clocks_agree;
                is_listed || confirmed.is_some_and(is_known)
            })
        };
        let wrong = removed.iter().find(is_there);
        let what =
            wrong.map(|name| format!("{host} has {name:?}, and never reported that it is gone"));
        (NAME, what.map_or(Ok(()), Err))
    }

    /// Checks a task that a leader plans.
    pub fn check_planned(&self, task: &NewTask) -> InvariantCheck {
        let mut lists = self.knows.lists.iter();
        let holder = lists.find(|(host, asked)| {
            self.since(**host, &task.name).is_some_and(|since| since < **asked)
        });
        let what = holder.map(|(host, _)| {
            format!("{} copies {:?}, which {host} reported before", task.id, task.name)
        });
        (NAME, what.map_or(Ok(()), Err))
    }
}
