//! The ranked files as cfm's dashboard shows them, from the views of the actors.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::names::{FileId, FileName, NameTable};
use reelyard_yard::catalog::views::CatalogView;
use reelyard_yard::task_manager::TaskManagerView;
use roaring::RoaringBitmap;

use super::legacy::{FileRow, FileTable};

/// A snapshot of the ranked files: hot files first, by hits, then by rank.
pub struct RankedFiles {
    names: NameTable,
    catalog: Arc<CatalogView>,
    tasks: Arc<TaskManagerView>,
    /// The ranked files that are hot, with their hits.
    hot: Vec<(FileId, u32)>,
    /// The hot files as a set.
    hot_set: RoaringBitmap,
    /// Positions of the hot files in the ranking, from 0, ascending.
    hot_positions: Vec<usize>,
    /// Master directories of the files with planned tasks.
    dirs: HashMap<FileName, String>,
}

impl RankedFiles {
    /// Takes the current state of the files.
    pub fn new(names: NameTable, catalog: Arc<CatalogView>, tasks: Arc<TaskManagerView>) -> Self {
        let is_ranked = |file: &FileId| {
            catalog.ranking.as_ref().is_some_and(|ranking| ranking.rank(*file).is_some())
        };
        let hot: Vec<_> =
            catalog.rising.hot().iter().filter(|(file, _)| is_ranked(file)).copied().collect();
        let hot_set: RoaringBitmap = hot.iter().map(|(file, _)| file.0).collect();
        let ranked = catalog.ranking.as_ref().map_or(&[][..], |ranking| ranking.by_grade());
        let positions = ranked.iter().enumerate().filter(|(_, file)| hot_set.contains(file.0));
        let hot_positions = positions.map(|(position, _)| position).collect();
        let planned = tasks.open.values().chain(tasks.ended.values());
        let dirs = planned.map(|task| (task.name.clone(), task.dir.clone())).collect();
        RankedFiles { names, tasks, hot, hot_set, hot_positions, dirs, catalog }
    }

    /// The directory of the master, as last listed.
    fn master_dir(&self, file: FileId) -> Option<&str> {
        let masters = self.catalog.masters.as_ref().filter(|all| all.files.contains(file.0))?;
        let only = match self.catalog.source_dirs.dirs.as_slice() {
            [only] => Some(only.path.as_str()),
            _ => None,
        };
        masters.dir_of(file).or(only)
    }

    fn row(&self, file: FileId, hits: u32) -> FileRow {
        let name = self.names.name(file);
        let ranking = self.catalog.ranking.as_ref();
        let holders = self.tasks.placements.iter().filter(|(_, files)| files.contains(file.0));
        let mut servers: Vec<IpAddr> = holders.map(|(host, _)| host.ip()).collect();
        servers.dedup();
        let planned = self.dirs.get(&name).map(String::as_str);
        let dir = planned.or_else(|| self.master_dir(file));
        let master = dir.map(|dir| format!("{}/{name}", dir.trim_end_matches('/')));
        FileRow {
            grade: ranking.and_then(|ranking| ranking.rank(file)).unwrap_or(0),
            size: ranking.and_then(|ranking| ranking.size(file)),
            hits,
            servers,
            master,
            name,
        }
    }
}

impl FileTable for RankedFiles {
    fn ranked(&self) -> Option<Millis> {
        self.catalog.grade_info.as_ref().and_then(|input| input.read_at)
    }

    fn risen(&self) -> Option<Millis> {
        self.catalog.event_log.as_ref().and(self.catalog.looked_at)
    }

    fn rows(&self, from: usize, most: usize) -> Vec<FileRow> {
        let hot = self.hot.iter().skip(from).map(|(file, hits)| self.row(*file, *hits));
        let ranked = self.catalog.ranking.as_ref().map_or(&[][..], |ranking| ranking.by_grade());
        let mut begin = from.saturating_sub(self.hot.len());
        for &position in &self.hot_positions {
            // Each hot file before the first cold file shifts that cold file by one position.
            if position > begin {
                break;
            }
            begin += 1;
        }
        let cold = ranked.iter().skip(begin).filter(|file| !self.hot_set.contains(file.0));
        hot.chain(cold.map(|file| self.row(*file, 0))).take(most).collect()
    }
}
