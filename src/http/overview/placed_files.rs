//! The files that hosts hold, as sets.

use std::collections::BTreeSet;

use reelyard_core::host::HostAddr;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::heartbeat::HeartbeatView;
use reelyard_yard::task_manager::TaskManagerView;
use roaring::{MultiOps, RoaringBitmap};

/// The files that hosts hold.
pub struct PlacedFiles {
    /// On any host.
    pub all: RoaringBitmap,
    /// Only on hosts that are down.
    pub out_of_reach: RoaringBitmap,
}

impl PlacedFiles {
    /// The files that a host holds that is not down.
    pub fn in_reach(&self) -> RoaringBitmap {
        &self.all - &self.out_of_reach
    }

    /// The files of all hosts, as last confirmed.
    pub fn new(tasks: &TaskManagerView, beats: &HeartbeatView) -> Self {
        PlacedFiles::of(tasks, &down_holders(tasks, beats))
    }

    /// The same if these hosts are down.
    pub fn of(tasks: &TaskManagerView, down: &BTreeSet<HostAddr>) -> Self {
        let placements = &tasks.placements;
        let all: RoaringBitmap = placements.values().map(|files| &**files).union();
        if down.is_empty() {
            return PlacedFiles { all, out_of_reach: RoaringBitmap::new() };
        }
        let up = placements.iter().filter(|(host, _)| !down.contains(host));
        let reachable: RoaringBitmap = up.map(|(_, files)| &**files).union();
        let out_of_reach = &all - reachable;
        PlacedFiles { all, out_of_reach }
    }
}

/// The hosts that hold files and are down.
pub fn down_holders(tasks: &TaskManagerView, beats: &HeartbeatView) -> BTreeSet<HostAddr> {
    tasks.placements.keys().copied().filter(|host| beats.is_down(*host)).collect()
}

/// The files that no other host holds. None for a host without a list of files.
pub fn only_here(tasks: &TaskManagerView, host: HostAddr) -> Option<RoaringBitmap> {
    let mut only = RoaringBitmap::clone(tasks.placements.get(&host)?);
    for (other, files) in &tasks.placements {
        if *other != host {
            only -= &**files;
        }
    }
    Some(only)
}

/// The files that the console lists: all with a grade, and hot ones without.
pub fn listed_files(catalog: &CatalogView) -> RoaringBitmap {
    let mut listed =
        catalog.ranking.as_ref().map(|ranking| ranking.set().clone()).unwrap_or_default();
    listed.extend(catalog.rising.hot().iter().map(|(file, _)| file.0));
    listed
}
