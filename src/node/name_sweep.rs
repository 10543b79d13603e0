//! Drops unused file names. They come from hosts with changing lists, from files that left the
//! yard, and from files that were hot once.

use std::sync::Arc;
use std::time::Duration;

use reelyard_core::names::NameTable;
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::cfw_worker::CfwWorkerView;
use reelyard_yard::remover::RemoverView;
use reelyard_yard::task_manager::TaskManagerView;
use roaring::RoaringBitmap;

use super::actors::Wiring;

/// Interval of the sweep. By then the view of an actor must contain everything it has received.
const INTERVAL: Duration = Duration::from_secs(60);

/// The views that show which names are in use.
pub struct NamesInUse<'a> {
    /// Names in the ranking and other inputs.
    pub catalog: &'a CatalogView,
    /// Names in tasks and placements.
    pub tasks: &'a TaskManagerView,
    /// Names in removals and pins.
    pub removals: &'a RemoverView,
}

impl NamesInUse<'_> {
    /// The file ids in use. Names that views store as text are looked up in the table, which also
    /// keeps them.
    pub fn files<'h>(
        &self,
        names: &NameTable,
        hosts: impl Iterator<Item = &'h CfwWorkerView>,
    ) -> RoaringBitmap {
        let NamesInUse { catalog, tasks, removals } = self;
        let mut files = RoaringBitmap::new();
        if let Some(ranking) = &catalog.ranking {
            files |= ranking.set();
        }
        if let Some(masters) = &catalog.masters {
            files |= &masters.files;
        }
        files.extend(catalog.rising.hot().iter().map(|(file, _)| file.0));
        for placed in tasks.placements.values() {
            files |= &**placed;
        }
        files.extend(tasks.history.newest_first().map(|(_, record)| record.file.0));
        files.extend(tasks.plan.wants_room.iter().map(|wanted| wanted.file.0));
        for task in tasks.open.values().chain(tasks.ended.values()) {
            files.extend(names.find(task.name.as_bytes()).map(|file| file.0));
        }
        files.extend(removals.open.keys().map(|(_, file)| file.0));
        files.extend(removals.pins.keys().map(|file| file.0));
        files.extend(removals.doubts.keys().map(|(_, file)| file.0));
        files.extend(removals.rooms_made.values().map(|room| room.file.0));
        files.extend(removals.history.newest_first().map(|(_, record)| record.file.0));
        for held in hosts.filter_map(|host| host.held.as_ref()) {
            files |= &held.files;
        }
        files
    }
}

/// Sweeps the table periodically, until the task is aborted.
pub async fn sweep(names: NameTable, actors: Arc<Wiring>) {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let (names, actors) = (names.clone(), Arc::clone(&actors));
        let swept = tokio::task::spawn_blocking(move || {
            let hosts: Vec<_> =
                actors.hosts.present().values().map(|host| host.view.load()).collect();
            let in_use = NamesInUse {
                catalog: &actors.catalog_view.load(),
                tasks: &actors.task_views.load(),
                removals: &actors.remover_views.load(),
            };
            let live = in_use.files(&names, hosts.iter().map(|host| &**host));
            names.sweep(&live)
        });
        match swept.await {
            Ok(Some(swept)) if swept.forgotten > 0 => {
                let (forgotten, kept) = (swept.forgotten, swept.kept);
                tracing::info!(forgotten, kept, "dropped unused file names");
            }
            Ok(Some(_)) => {}
            Ok(None) => tracing::debug!("unused file names are kept during a long read"),
            Err(error) => tracing::error!(%error, "the sweep of file names failed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;
    use reelyard_core::host::{HostAddr, HostRole};
    use reelyard_yard::catalog::load_balancer::rising::RisingHits;
    use reelyard_yard::catalog::ranking::Ranking;
    use reelyard_yard::catalog::sources::masters::Masters;
    use reelyard_yard::cfw_worker::Inventory;

    use super::*;

    #[test]
    fn a_name_in_any_view_is_in_use() {
        let names = NameTable::new();
        let text: Vec<String> = (0..7).map(|number| format!("{number}.mpg")).collect();
        let files: Vec<_> = names.intern_all(text.iter().map(|name| name.as_bytes()));
        let files: Vec<_> = files.into_iter().map(Result::unwrap).collect();
        let set = |index: usize| RoaringBitmap::from_iter([files[index].0]);
        let catalog = CatalogView {
            ranking: Some(Arc::new(Ranking::from_files_wanting([(files[0], 1)]))),
            masters: Some(Arc::new(Masters { files: set(1), ..Masters::default() })),
            rising: Arc::new(RisingHits::new([(files[2], 9)], &names)),
            ..CatalogView::default()
        };
        let addr: HostAddr = "10.0.0.21:8888".parse().unwrap();
        let tasks = TaskManagerView {
            placements: [(addr, Arc::new(set(3)))].into(),
            ..TaskManagerView::default()
        };
        let held = Inventory { files: set(4), ..Inventory::default() };
        let host = CfwWorkerView {
            held: Some(Arc::new(held)),
            ..CfwWorkerView::unasked(addr, HostRole::Destination)
        };
        let doubts = Arc::new([((addr, files[5]), Millis(9))].into());
        let removals = RemoverView { doubts, ..RemoverView::default() };
        let in_use = NamesInUse { catalog: &catalog, tasks: &tasks, removals: &removals };
        let live = in_use.files(&names, [&host].into_iter());
        assert_eq!(live.iter().collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
        names.sweep(&live).unwrap();
        names.sweep(&live).unwrap();
        assert_eq!((names.len(), names.find(b"6.mpg")), (6, None));
    }
}
