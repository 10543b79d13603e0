//! The files of a host that exist nowhere else, and those that cannot leave.

use reelyard_api::{DrainView, Stays, StaysView};
use reelyard_core::host::HostAddr;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::remover::RemoverView;
use reelyard_yard::task_manager::{HostRecord, TaskManagerView};
use roaring::{MultiOps, RoaringBitmap};

/// The files of every host, as last confirmed.
pub struct HostHoldings<'a> {
    tasks: &'a TaskManagerView,
    catalog: &'a CatalogView,
    pinned: RoaringBitmap,
}

impl<'a> HostHoldings<'a> {
    /// Reads the current views.
    pub fn new(
        tasks: &'a TaskManagerView,
        catalog: &'a CatalogView,
        removals: &RemoverView,
    ) -> Self {
        let pinned = removals.pins.keys().map(|file| file.0).collect();
        HostHoldings { tasks, catalog, pinned }
    }

    /// The files of `host`. None if they are not known yet.
    pub fn of(&self, host: HostAddr) -> Option<DrainView> {
        let held = self.tasks.placements.get(&host)?;
        let elsewhere = self.elsewhere(host);
        let ignored = &**held & self.tasks.plan.passed_over.ignored();
        let masterless = match &self.catalog.masters {
            Some(masters) => (&**held - &masters.files) - &ignored,
            None => RoaringBitmap::new(),
        };
        let pinned = ((&**held & &self.pinned) - &ignored) - &masterless;
        let stays = [
            (Stays::Ignored, ignored.len()),
            (Stays::NoMaster, masterless.len()),
            (Stays::Pinned, pinned.len()),
        ];
        let stays = stays.into_iter().filter(|(_, files)| *files > 0);
        Some(DrainView {
            left: held.len(),
            only_here: held.len() - held.intersection_len(&elsewhere),
            stays: stays.map(|(why, files)| StaysView { why, files }).collect(),
        })
    }

    /// The files of all other hosts whose copies count.
    fn elsewhere(&self, but: HostAddr) -> RoaringBitmap {
        let counts = |host: &HostAddr| {
            record(self.tasks, *host).is_some_and(|record| record.counts() && *host != but)
        };
        let others = self.tasks.placements.iter().filter(|(host, _)| counts(host));
        others.map(|(_, files)| &**files).union()
    }
}

/// The recorded state of a host.
pub fn record(tasks: &TaskManagerView, host: HostAddr) -> Option<HostRecord> {
    tasks.host(host).map(|planned| planned.record)
}
