//! "Missing beats wrong": a leader says of a host only what the host told. A copy that was on a disk
//! before the host was asked for its list, and still is, is never put on record as gone, nor is one
//! that this leader saw put on record since it got there; and no copy is planned of a file that lay on
//! some disk before its host was asked for its list.
//!
//! Not held against a leader: that its list is older than what another one put on record, where it
//! cannot know. A snapshot does not say when copies arrived, and clocks that jumped may differ.
//!
//! The true disks decide here, not the record: that one follows what leaders say.

use std::collections::BTreeMap;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_yard::task_manager::{NewTask, TaskEvent};

use super::InvariantCheck;
use super::wires::ProgramCapabilities;

/// Its name.
pub const NAME: &str = "told";

/// What a leader knows, in virtual milliseconds.
pub struct LeaderKnowledge {
    /// When the list was asked for that it last had of each host.
    pub lists: BTreeMap<HostAddr, u64>,
    /// Since when it follows the log.
    pub follows: u64,
}

/// Who holds a file, and since when, in virtual milliseconds.
pub type OnDisk = BTreeMap<FileName, BTreeMap<HostAddr, u64>>;

/// What is true of the disks, and what a leader was told of them.
pub struct GroundTruth<'a> {
    /// The disks.
    pub disks: &'a OnDisk,
    /// When each copy was last put on record.
    pub confirmed: &'a BTreeMap<(HostAddr, FileName), u64>,
    /// The programs there.
    pub programs: &'a BTreeMap<HostAddr, ProgramCapabilities>,
    /// Whether all nodes' clocks always told the same.
    pub clocks_agree: bool,
    /// What the leader knows.
    pub knows: &'a LeaderKnowledge,
}

impl GroundTruth<'_> {
    /// Since when `host` truly has a file, if a list of it can tell.
    fn since(&self, host: HostAddr, name: &FileName) -> Option<u64> {
        // The list of an old cfw has a name a line.
        let is_ours = self.programs.get(&host).is_some_and(|program| program.ours);
        let is_told = is_ours || !name.as_bytes().contains(&b'\n');
        self.disks.get(name)?.get(&host).copied().filter(|_| is_told)
    }

    /// The leader decides on an event.
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
        let what = wrong.map(|name| format!("{host} has {name:?}, and never said that it is gone"));
        (NAME, what.map_or(Ok(()), Err))
    }

    /// The leader plans a task.
    pub fn check_planned(&self, task: &NewTask) -> InvariantCheck {
        let mut lists = self.knows.lists.iter();
        let holder = lists.find(|(host, asked)| {
            self.since(**host, &task.name).is_some_and(|since| since < **asked)
        });
        let what = holder.map(|(host, _)| {
            format!("{} copies {:?}, which {host} told that it has", task.id, task.name)
        });
        (NAME, what.map_or(Ok(()), Err))
    }
}
