//! The files of each host with the least demand, kept while neither the list of the host nor the ranking
//! changes. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use reelyard_core::host::HostAddr;
use reelyard_core::names::FileId;

use crate::catalog::ranking::Ranking;
use crate::cfw_worker::Inventory;
use crate::remover::policy::holders::CopyHolders;
use crate::remover::policy::looked_size::LookedSize;

/// How many files of a host are kept. Those that an exchange must spare are among them.
const MOST_FILES: usize = 256;

/// The files with the least demand for each byte, by host. Rounds are frequent and changes are rare, so
/// that a round must not sort all files.
#[derive(Debug, Default)]
pub struct LeastDemanded {
    ranking: Option<Arc<Ranking>>,
    hosts: BTreeMap<HostAddr, HostFiles>,
}

#[derive(Debug)]
struct HostFiles {
    /// The list that the files come from.
    inventory: Arc<Inventory>,
    files: Vec<FileId>,
}

impl LeastDemanded {
    /// Whether it was refreshed with this ranking.
    pub fn is_of(&self, ranking: &Arc<Ranking>) -> bool {
        self.ranking.as_ref().is_some_and(|known| Arc::ptr_eq(known, ranking))
    }

    /// The files of a host, least demand first. Empty for a host that was not refreshed.
    pub fn of(&self, host: HostAddr) -> &[FileId] {
        self.hosts.get(&host).map_or(&[], |host| &host.files)
    }

    /// Has the hosts sorted again that hold one of these files, whose sizes are known now.
    pub fn forget_hosts_of(&mut self, sized: &[(FileId, LookedSize)], holders: &CopyHolders) {
        self.hosts.retain(|addr, _| {
            let holder = holders.get(*addr);
            !holder.is_some_and(|holder| sized.iter().any(|(file, _)| holder.lists(*file)))
        });
    }

    /// Sorts the files of the hosts whose lists changed; those of all hosts after a change of the ranking.
    /// `may_go` says whether a file may be removed at all, and `size` is its size in bytes. A host is sorted again when
    /// it is listed, so a copy that another host gained or lost counts from then on.
    pub fn refresh(
        &mut self,
        holders: &CopyHolders,
        ranking: &Arc<Ranking>,
        may_go: impl Fn(FileId) -> bool,
        size: impl Fn(FileId) -> Option<u64>,
    ) {
        if !self.is_of(ranking) {
            self.ranking = Some(Arc::clone(ranking));
            self.hosts.clear();
        }
        self.hosts.retain(|addr, _| holders.get(*addr).is_some());
        let Some(demand) = ranking.demand() else { return };
        for (addr, holder) in holders.askable() {
            let Some(inventory) = &holder.inventory else { continue };
            let before = self.hosts.get(&addr);
            if before.is_some_and(|before| Arc::ptr_eq(&before.inventory, inventory)) {
                continue;
            }
            let mut scored: Vec<(f64, FileId)> = Vec::new();
            for file in inventory.files.iter().map(FileId).filter(|file| may_go(*file)) {
                let kept = holders.kept_demand(file, demand).per_day();
                scored.push((kept / demand.size_or_mean(size(file)), file));
            }
            let by_score = |a: &(f64, FileId), b: &(f64, FileId)| {
                a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1))
            };
            if scored.len() > MOST_FILES {
                scored.select_nth_unstable_by(MOST_FILES, by_score);
                scored.truncate(MOST_FILES);
            }
            scored.sort_unstable_by(by_score);
            let files = scored.into_iter().map(|(_, file)| file).collect();
            self.hosts.insert(addr, HostFiles { inventory: Arc::clone(inventory), files });
        }
    }
}
