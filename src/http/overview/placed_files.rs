//! The files that hosts hold, as sets.

use std::collections::BTreeSet;

use reelyard_core::host::HostAddr;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::heartbeat::{Health, HeartbeatView};
use reelyard_yard::task_manager::TaskManagerView;
use roaring::{MultiOps, RoaringBitmap};

/// The files that hosts hold.
pub struct PlacedFiles {
    /// On any host.
    pub all: RoaringBitmap,
    /// Only on hosts that are down.
    pub out_of_reach: RoaringBitmap,
    /// Hosts that are down.
    pub down: BTreeSet<HostAddr>,
}

impl PlacedFiles {
    /// The files of all hosts, as last confirmed.
    pub fn new(tasks: &TaskManagerView, beats: &HeartbeatView) -> Self {
        let placements = &tasks.placements;
        let is_down =
            |host: &HostAddr| beats.of(*host).is_some_and(|beat| beat.health == Health::Down);
        let down: BTreeSet<HostAddr> =
            placements.keys().copied().filter(|host| is_down(host)).collect();
        let all: RoaringBitmap = placements.values().map(|files| &**files).union();
        if down.is_empty() {
            return PlacedFiles { all, out_of_reach: RoaringBitmap::new(), down };
        }
        let up = placements.iter().filter(|(host, _)| !down.contains(host));
        let reachable: RoaringBitmap = up.map(|(_, files)| &**files).union();
        let out_of_reach = &all - reachable;
        PlacedFiles { all, out_of_reach, down }
    }
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
