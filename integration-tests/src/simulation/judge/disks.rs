//! The true content of the disks: copies that are published, deleted, and changed by hand.

use std::collections::BTreeMap;

use reelyard_core::event::RequestId;
use reelyard_core::host::HostAddr;
use reelyard_core::names::FileName;
use reelyard_protocol::worker::TaskId;
use reelyard_yard::remover::Intent;

use super::Judge;
use crate::simulation::invariants::copies::{removals, right_bytes};

impl Judge {
    /// Records that a copy got its name on a disk.
    pub fn published(
        &mut self,
        host: HostAddr,
        name: &FileName,
        content: u64,
        task: Option<TaskId>,
        verified: bool,
    ) {
        self.copies += 1;
        self.check(right_bytes::check(&self.versions, host, name, content, verified));
        let others = self.on_disk.entry(name.clone()).or_default();
        // An old cfw repeats a copy while no node leads.
        let is_second = !others.is_empty() && !others.contains_key(&host);
        others.entry(host).or_insert(self.now);
        if is_second {
            let is_open = task.is_some_and(|task| self.record.open.contains_key(&task));
            self.exceptions.doubled(is_open);
        }
    }

    /// Checks a leader's removals against its knowledge of the hosts.
    pub fn removes(
        &mut self,
        request: RequestId,
        intents: &[Intent],
        lists: &BTreeMap<HostAddr, u64>,
    ) {
        let verdict = self.removals.decide(self.now, request, intents, lists);
        self.check((removals::NAME, verdict));
    }

    /// Records that a call deleted a copy.
    pub fn deleted(&mut self, host: HostAddr, name: &FileName) {
        let holders = self.on_disk.entry(name.clone()).or_default();
        holders.remove(&host);
        let others = !holders.is_empty();
        let verdict = self.removals.delete(host, name, others);
        self.check((removals::NAME, verdict));
    }

    /// Records that a file was added to a disk, or removed, by hand.
    pub fn by_hand(&mut self, host: HostAddr, name: &FileName, put: bool) {
        let holders = self.on_disk.entry(name.clone()).or_default();
        if put {
            holders.entry(host).or_insert(self.now);
        } else {
            holders.remove(&host);
            self.removals.lose(name, self.now);
        }
    }
}
