//! Removes copies from a disk that is over its limit. Pure.
//!
//! The files with the least demand for each byte come first, until at most the low-water mark is in use. While demand
//! does not decide, files without a grade come first, then the worst grades.
//! After that, no copy is removed until the disk is over the limit again. Between the two marks nothing
//! is removed, and the planner adds cold files only up to the low-water mark. So a removed file does not
//! come back at once.

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;
use reelyard_protocol::legacy::cfw::DiskFigures;

use crate::remover::policy::decision_context::RemoverDecisionContext;
use crate::remover::policy::disk_space::relief::Relief;
use crate::remover::policy::holders::{CopyHolder, CopyHolderStatus};
use crate::remover::policy::round::{Removal, RemovalProposal};
use crate::remover::state::reason::{Reason, Spared};

impl RemoverDecisionContext<'_> {
    /// Proposes removals from every disk over its limit. While removals run, or the disk was not read
    /// since the last one, the remaining excess is unknown and nothing is proposed.
    pub fn propose_relief(&self, proposal: &mut RemovalProposal) {
        let at_work = self.book.hosts_at_work();
        let serving =
            self.holders.askable().filter(|(_, host)| host.status == CopyHolderStatus::Serves);
        for (addr, host) in serving.filter(|(addr, _)| !at_work.contains(addr)) {
            self.relieve(addr, host, proposal);
        }
    }

    fn relieve(&self, addr: HostAddr, host: &CopyHolder, proposal: &mut RemovalProposal) {
        let Some(disk) = host.present_disk() else { return };
        let (limit, low_water) = self.marks(disk);
        let used = disk.used.saturating_sub(proposal.bytes_from(addr));
        let over = used > limit || (used > low_water && proposal.relieving.contains(&addr));
        if !over {
            proposal.relieving.remove(&addr);
            return;
        }
        proposal.relieving.insert(addr);
        let mut relief = Relief { used, limit, low_water, goes: 0, falls_short: false };
        if let Some(why) = self.keeps_all(host) {
            proposal.spare(why, 1);
        } else {
            self.choose_victims(addr, host, &mut relief, proposal);
        }
        proposal.reliefs.insert(addr, relief);
    }

    /// The limit and the low-water mark of a disk, in bytes.
    pub fn marks(&self, disk: &DiskFigures) -> (u64, u64) {
        let limit = disk.mark(self.settings.storage_limit_percent);
        (limit, disk.mark(self.settings.low_water_percent).min(limit))
    }

    fn choose_victims(
        &self,
        addr: HostAddr,
        host: &CopyHolder,
        relief: &mut Relief,
        proposal: &mut RemovalProposal,
    ) {
        let need = relief.used - relief.low_water;
        for file in self.worst_first(host) {
            if relief.goes >= need || proposal.is_full(addr, self.settings) {
                return;
            }
            if let Some(why) = self.spares(addr, file, proposal) {
                proposal.spare(why, 1);
                continue;
            }
            let Relief { used, limit, low_water, .. } = *relief;
            let reason = Reason::OverLimit { used, limit, low_water, grade: self.grade(file) };
            let size = self.size(file);
            proposal.add(Removal { host: addr, file, size, reason, keeper: None });
            match size {
                Some(size) => relief.goes = relief.goes.saturating_add(size),
                // The next read of the disk shows how much it was.
                None => return,
            }
        }
        relief.falls_short = relief.goes < need;
    }

    /// The files on a host that may be touched, worst first: those without a grade, then by grade. While the
    /// order of demand is in force, the demand for each byte decides.
    pub(in crate::remover) fn worst_first(&self, host: &CopyHolder) -> Vec<FileId> {
        let (Some(listed), Some(masters)) = (host.files(), &self.inputs.masters) else {
            return Vec::new();
        };
        let files = (listed & &masters.files) - &*self.inputs.ignored;
        if let Some(demand) = self.demand_in_force() {
            return self.least_demand_first(files.iter().map(FileId), demand);
        }
        let rank = |file: &u32| self.grade(FileId(*file)).map_or(u32::MAX, |grade| grade);
        let mut files: Vec<(u32, u32)> = files.iter().map(|file| (rank(&file), file)).collect();
        files.sort_unstable_by(|a, b| b.cmp(a));
        files.into_iter().map(|(_, file)| FileId(file)).collect()
    }

    /// Whether another copy of a file with several copies is going. The rest of them then has more demand than was
    /// counted. Without this rule one round could remove all of them.
    fn loses_another(&self, file: FileId, proposal: &RemovalProposal) -> bool {
        self.holders.listed(file) > 1
            && proposal.under_way.going.iter().any(|(_, going)| *going == file)
    }

    /// Why this copy is not removed to make room; none if it may be removed.
    pub fn spares(
        &self,
        addr: HostAddr,
        file: FileId,
        proposal: &RemovalProposal,
    ) -> Option<Spared> {
        let copy = (addr, file);
        let under_way = &proposal.under_way;
        if let Some(why) = self.untouchable(file) {
            Some(why)
        } else if self.inputs.hot.contains(file.0) {
            Some(Spared::Hot)
        } else if self.arrivals.fresh.contains(&copy) {
            Some(Spared::CopiedLately)
        } else if under_way.going.contains(&copy) || self.loses_another(file, proposal) {
            Some(Spared::UnderWay)
        } else if under_way.keeping.contains(&copy) {
            Some(Spared::Wanted)
        } else if self.book.is_doubted(copy, self.now) {
            Some(Spared::InDoubt)
        } else {
            None
        }
    }
}
