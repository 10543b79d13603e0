//! The search over all files: which ones match the state of the page, and in which order they are shown.
//!
//! Sets of files are combined whole. Only the rows of the page are sorted.

use reelyard_api::FileState;
use reelyard_console::pages::files::{FileStateFilter, FilesPageQuery};
use reelyard_core::host::HostAddr;
use reelyard_core::names::{FileId, NameTable};
use reelyard_core::page_order::{PageRange, page_by_number};
use reelyard_yard::task_manager::Skip;
use roaring::RoaringBitmap;

use super::sized_files::{page_by_size, sized_files};
use crate::http::api::yard_calls::files::FileListSnapshot;
use crate::http::overview::yard_model::reasons::passed;
use crate::http::overview::{KeptNameOrder, PlacedFiles};

/// A search over all files.
pub struct FileSearch<'a> {
    /// The files and all about them.
    pub files: &'a FileListSnapshot,
    /// The files that hosts hold.
    pub placed: &'a PlacedFiles,
    /// The names of the files.
    pub names: &'a NameTable,
    /// The state of the page.
    pub query: &'a FilesPageQuery,
    /// The listed files.
    pub listed: &'a RoaringBitmap,
    /// The order of the listed files by their names.
    pub by_name: &'a KeptNameOrder,
}

/// The rows of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundFiles {
    /// The files of the page.
    pub shown: Vec<FileId>,
    /// How many files match.
    pub matching: usize,
}

impl FileSearch<'_> {
    /// The matching files from this position on, at most `rows`.
    pub fn page(&self, first: usize, rows: usize) -> FoundFiles {
        let wanted = self.wanted();
        let matching = wanted.as_ref().map_or(self.files.len(), |files| files.len() as usize);
        let first = first.min(matching);
        let page =
            PageRange { positions: first..first + rows, descending: self.query.sort.descending };
        FoundFiles { shown: self.in_order(wanted.as_ref(), &page), matching }
    }

    /// The files that match. None if all do.
    fn wanted(&self) -> Option<RoaringBitmap> {
        let mut wanted: Option<RoaringBitmap> = None;
        let mut keep = |files: &RoaringBitmap| match &mut wanted {
            Some(wanted) => *wanted &= files,
            None => wanted = Some(self.listed & files),
        };
        if let Some(state) = self.query.state {
            keep(&self.in_state(state));
        }
        if !self.query.host.is_empty() {
            let host = self.query.host.parse::<HostAddr>().ok();
            let held = host.and_then(|host| self.files.snapshot.tasks.placements.get(&host));
            keep(&held.map(|held| RoaringBitmap::clone(held)).unwrap_or_default());
        }
        let sought = self.query.q.trim();
        if !sought.is_empty() {
            keep(&self.names.containing(sought.as_bytes()));
        }
        if !self.query.reason.is_empty() {
            keep(&self.with_reason());
        }
        wanted
    }

    fn in_state(&self, state: FileStateFilter) -> RoaringBitmap {
        let not_placed = |states: &[FileState]| {
            let mut files = RoaringBitmap::new();
            for (state, of_state) in self.files.states_unplaced(self.not_placed(), self.names) {
                if states.contains(&state) {
                    files |= of_state;
                }
            }
            files
        };
        match state {
            FileStateFilter::Placed => self.placed.in_reach(),
            FileStateFilter::Hot => self.files.hits.keys().map(|file| file.0).collect(),
            FileStateFilter::OutOfReach => self.placed.out_of_reach.clone(),
            FileStateFilter::Ignored => {
                self.files.snapshot.tasks.plan.passed_over.ignored().clone()
            }
            FileStateFilter::Copying => not_placed(&[FileState::Copying]),
            FileStateFilter::Waiting => not_placed(&[FileState::Waiting, FileState::BackingOff]),
            FileStateFilter::Problem => not_placed(&PROBLEMS),
        }
    }

    /// The files with the reason of the planner that the page names.
    fn with_reason(&self) -> RoaringBitmap {
        let is_sought =
            |skip: Skip| passed(skip).is_some_and(|why| why.api_word() == self.query.reason);
        let mut files = RoaringBitmap::new();
        if is_sought(Skip::Placed) {
            files |= self.listed & &self.placed.all;
        }
        let (reasons, waiting) = self.files.snapshot.reasons_of(self.not_placed(), self.names);
        // A round that finds no free source does not examine them.
        if is_sought(Skip::NoPair) {
            files |= waiting - self.in_state(FileStateFilter::Copying);
        }
        for (_, of_reason) in reasons.into_iter().filter(|(skip, _)| is_sought(*skip)) {
            files |= of_reason;
        }
        files
    }

    fn not_placed(&self) -> RoaringBitmap {
        self.listed - &self.placed.all
    }

    fn in_order(&self, wanted: Option<&RoaringBitmap>, page: &PageRange) -> Vec<FileId> {
        let catalog = &self.files.snapshot.catalog;
        let ranking = catalog.ranking.as_deref();
        let by = |key: &dyn Fn(FileId) -> u64| {
            // In the order of their ids, the values of neighbours are near each other in memory.
            let files = wanted.unwrap_or(self.listed).iter();
            page_by_number(files.map(|file| (key(FileId(file)), file)), page)
        };
        let shown = match self.query.sort.key.as_str() {
            "rank" => by(&|file| {
                u64::from(ranking.and_then(|ranking| ranking.rank(file)).unwrap_or(u32::MAX))
            }),
            "size" => {
                let files = wanted.unwrap_or(self.listed);
                return page_by_size(files, catalog.master_sizes.all(), ranking, page);
            }
            "requests" => by(&|file| {
                self.files.requests_a_day(file).map_or(0, |day| (day * 1000.0) as u64 + 1)
            }),
            "score" => {
                let files = wanted.unwrap_or(self.listed);
                let key = |(file, size): (FileId, Option<u64>)| {
                    let score = self.files.order_score(file, size);
                    (score.map_or(0, |score| (score * 1000.0) as u64 + 1), file.0)
                };
                let sized = sized_files(files, catalog.master_sizes.all(), ranking);
                page_by_number(sized.map(key), page)
            }
            "name" => {
                let order = self.by_name.order(self.listed, self.names);
                match wanted {
                    None => order.page(page),
                    Some(wanted) => order.page_of(page, |file| wanted.contains(file)),
                }
            }
            "hits" => return self.by_hits(wanted, page, u64::from),
            "state" => return self.by_hits(wanted, page, |hits| u64::from(hits == 0)),
            _ => {
                let positions = page.positions.clone();
                return self
                    .listed_in_order(wanted)
                    .skip(positions.start)
                    .take(positions.len())
                    .collect();
            }
        };
        shown.into_iter().map(FileId).collect()
    }

    /// The wanted files in the order of the list: hot files without a grade, then all others, best first.
    fn listed_in_order<'f>(
        &'f self,
        wanted: Option<&'f RoaringBitmap>,
    ) -> impl Iterator<Item = FileId> + 'f {
        let all = (0..self.files.len()).map(|position| self.files.file(position));
        all.filter(move |file| wanted.is_none_or(|wanted| wanted.contains(file.0)))
    }

    /// The wanted files by a key of their hits, and among files that are alike in the order of the list.
    fn by_hits(
        &self,
        wanted: Option<&RoaringBitmap>,
        page: &PageRange,
        key: fn(u32) -> u64,
    ) -> Vec<FileId> {
        let hot: RoaringBitmap = self.files.hits.keys().map(|file| file.0).collect();
        let hits = |file: FileId| match hot.contains(file.0) {
            true => self.files.hits.get(&file).copied().unwrap_or(0),
            false => 0,
        };
        let files: Vec<FileId> = self.listed_in_order(wanted).collect();
        let keyed = (0..).zip(&files).map(|(position, file)| (key(hits(*file)), position));
        let shown = page_by_number(keyed, page).into_iter();
        shown.filter_map(|position| files.get(position as usize).copied()).collect()
    }
}

/// The states of files that no round can copy as they are.
const PROBLEMS: [FileState; 7] = [
    FileState::NoMaster,
    FileState::Ungraded,
    FileState::MasterAbsent,
    FileState::Listed,
    FileState::TooBig,
    FileState::NameNotCarried,
    FileState::NoRoom,
];

#[cfg(test)]
mod tests {
    use reelyard_console::pages::files::PROBLEM_STATES;

    use super::*;

    #[test]
    fn the_shown_command_has_the_same_states_as_the_filter() {
        let words = PROBLEMS.map(|state| serde_json::to_value(state).unwrap());
        assert_eq!(words, PROBLEM_STATES.map(serde_json::Value::from));
    }
}
