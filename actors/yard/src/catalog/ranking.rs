//! The ranking: its files, best first, with their data from hitcount.history and the event log. Pure.

use std::net::IpAddr;
use std::sync::Arc;

use reelyard_core::names::FileId;
use roaring::RoaringBitmap;

use crate::catalog::files::grade_info::Grades;
use crate::catalog::files::hitcount_history::HitcountHistory;
use crate::catalog::files::input_contents::RankingFiles;
use crate::catalog::popularity::popularity_order::{FileDemand, PopularityOrder};
use crate::settings::copies::CopiesWanted;

/// grade.info and hitcount.history, joined, and the demand for the files. Immutable once built; shared
/// by `Arc`. About 30 bytes a file.
#[derive(Clone, Debug, Default)]
pub struct Ranking {
    grades: Arc<Grades>,
    history: Arc<HitcountHistory>,
    files: RankingFiles,
    /// The demand; none before the first request, or if it is not measured.
    demand: Option<Arc<PopularityOrder>>,
    /// The graded files by demand; none if the order of grade.info is in force.
    by_demand: Option<Arc<[FileId]>>,
}

impl CopiesWanted {
    /// The wanted number of copies of `file`: at least 1.
    pub fn of(self, file: FileId, ranking: Option<&Ranking>) -> u32 {
        let target = ranking.filter(|_| self.are_several()).map(|ranking| ranking.target(file));
        target.unwrap_or(1).clamp(1, self.most.max(1))
    }
}

/// A graded file and its data from hitcount.history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedFile {
    /// Number of the file in the name table.
    pub file: FileId,
    /// Size of the file in bytes, if hitcount.history has one.
    pub size: Option<u64>,
    /// The destinations' IPs that are listed for it.
    pub listed_on: Vec<IpAddr>,
}

/// A graded file, its size, and its wanted number of copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizedFile {
    /// Number of the file in the name table.
    pub file: FileId,
    /// Its size in bytes.
    pub size: u64,
    /// The wanted number of copies.
    pub copies: u8,
}

impl Ranking {
    /// Joins the content of the two files; `history` was read against `grades`.
    pub(super) fn new(grades: Arc<Grades>, history: HitcountHistory) -> Self {
        let (history, files) = (Arc::new(history), RankingFiles::default());
        Ranking { grades, history, files, demand: None, by_demand: None }
    }

    /// The same ranking, with the files that it was made of.
    pub fn made_of(self, files: RankingFiles) -> Self {
        Ranking { files, ..self }
    }

    /// The files that it was made of.
    pub fn files_read(&self) -> RankingFiles {
        self.files
    }

    /// The same files with this demand. With `in_force` they are in the order of the demand. Files that
    /// are graded since then come last, in the order of grade.info.
    pub fn with_demand(&self, demand: &Arc<PopularityOrder>, in_force: bool) -> Self {
        let by_demand = in_force.then(|| self.ordered_by(demand));
        let (grades, history) = (Arc::clone(&self.grades), Arc::clone(&self.history));
        let (files, demand) = (self.files, Some(Arc::clone(demand)));
        Ranking { grades, history, files, demand, by_demand }
    }

    fn ordered_by(&self, demand: &PopularityOrder) -> Arc<[FileId]> {
        let known: RoaringBitmap = demand.files().iter().map(|file| file.0).collect();
        if known == *self.set() {
            return Arc::clone(demand.files());
        }
        let still_graded = demand.files().iter().filter(|file| self.rank(**file).is_some());
        let new = self.by_grade().iter().filter(|file| !known.contains(file.0));
        still_graded.chain(new).copied().collect()
    }

    /// A ranking of `files`, best first. If a file appears twice, its last position counts.
    pub fn from_files(files: impl IntoIterator<Item = RankedFile>) -> Self {
        let files: Vec<RankedFile> = files.into_iter().collect();
        let grades = Grades::from_rows(files.iter().map(|ranked| Some(ranked.file)));
        let mut history = HitcountHistory::empty(&grades);
        for RankedFile { file, size, listed_on } in files {
            if let Some(position) = grades.position(file) {
                history.set(position, size, &listed_on);
            }
        }
        Ranking::new(Arc::new(grades), history)
    }

    /// A ranking of `files`, best first, each with its wanted number of copies.
    pub fn from_files_wanting(files: impl IntoIterator<Item = (FileId, u8)>) -> Self {
        let rows = files.into_iter().map(|(file, copies)| (Some(file), copies));
        let grades = Grades::from_rows_wanting(rows);
        let history = HitcountHistory::empty(&grades);
        Ranking::new(Arc::new(grades), history)
    }

    /// A ranking of `files`, best first, as grade.info and hitcount.history give it together.
    pub fn from_sized_files(files: impl Iterator<Item = SizedFile> + Clone) -> Self {
        let rows = files.clone().map(|ranked| (Some(ranked.file), ranked.copies));
        let grades = Grades::from_rows_wanting(rows);
        let mut history = HitcountHistory::empty(&grades);
        for SizedFile { file, size, .. } in files {
            if let Some(position) = grades.position(file) {
                history.set(position, Some(size), &[]);
            }
        }
        Ranking::new(Arc::new(grades), history)
    }

    /// Every graded file, best first, each once: by demand if that order is in force, otherwise as in
    /// grade.info.
    pub fn files(&self) -> &[FileId] {
        match &self.by_demand {
            Some(files) => files,
            None => self.by_grade(),
        }
    }

    /// Every graded file in the order of grade.info.
    pub fn by_grade(&self) -> &[FileId] {
        self.grades.files()
    }

    /// Whether the order of demand is in force.
    pub fn is_by_demand(&self) -> bool {
        self.by_demand.is_some()
    }

    /// The demand for all files, if it is measured.
    pub fn demand(&self) -> Option<&Arc<PopularityOrder>> {
        self.demand.as_ref()
    }

    /// The demand for a file, if it is measured.
    pub fn demand_of(&self, file: FileId) -> Option<FileDemand> {
        self.demand.as_ref().map(|demand| demand.demand(file))
    }

    /// How many files are graded.
    pub fn len(&self) -> usize {
        self.files().len()
    }

    /// Whether no file is graded.
    pub fn is_empty(&self) -> bool {
        self.files().is_empty()
    }

    /// Every graded file, as a set.
    pub fn set(&self) -> &RoaringBitmap {
        self.grades.set()
    }

    /// The rank of a file, 1 = best: the number of its last line in grade.info. Ranks grow along
    /// [`Ranking::by_grade`] but may leave numbers out.
    pub fn rank(&self, file: FileId) -> Option<u32> {
        self.grades.rank(file)
    }

    /// The number of copies of a file in grade.info (`TargetCopyCount`): from 1 to 255.
    pub fn target(&self, file: FileId) -> u32 {
        self.grades.target(file)
    }

    /// The files with more than one wanted copy in grade.info, best first.
    pub fn wanted_more_than_once(&self) -> impl Iterator<Item = FileId> {
        self.grades.wanted_more_than_once()
    }

    /// The size in hitcount.history, in bytes. A hint: the master's own size decides.
    pub fn size(&self, file: FileId) -> Option<u64> {
        self.grades.position(file).and_then(|position| self.history.size(position))
    }

    /// Every graded file in the order of grade.info, with its size in hitcount.history. It costs no look-ups.
    pub fn sizes(&self) -> impl Iterator<Item = (FileId, Option<u64>)> {
        (0..).zip(self.by_grade()).map(|(position, file)| (*file, self.history.size(position)))
    }

    /// The same files: those without a size, and then the smallest first. They are sorted once for each content of the
    /// two files.
    pub fn by_size(&self) -> impl DoubleEndedIterator<Item = (FileId, Option<u64>)> {
        let positions = self.history.by_size().iter().map(|position| *position as usize);
        positions.map(|position| (self.by_grade()[position], self.history.size(position)))
    }

    /// Sorts the files for [`Ranking::by_size`], so that its first caller does not wait.
    pub fn prepare_by_size(&self) {
        self.history.by_size();
    }

    /// The destinations' IPs that hitcount.history lists for the file, each once, ascending.
    pub fn listed_on(&self, file: FileId) -> &[IpAddr] {
        self.grades.position(file).map_or(&[], |position| self.history.listed_on(position))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_row_of_a_repeated_file_counts() {
        let ip: IpAddr = "10.0.0.1".parse().unwrap();
        let ranked = |file, size| RankedFile { file: FileId(file), size, listed_on: vec![ip, ip] };
        let ranking =
            Ranking::from_files([ranked(7, Some(1)), ranked(3, None), ranked(7, Some(2))]);
        assert_eq!(ranking.files(), [FileId(3), FileId(7)]);
        assert_eq!([3, 7, 5].map(|file| ranking.rank(FileId(file))), [Some(2), Some(3), None]);
        assert_eq!([3, 7, 5].map(|file| ranking.size(FileId(file))), [None, Some(2), None]);
        let sizes: Vec<_> = ranking.sizes().collect();
        assert_eq!(sizes, [(FileId(3), None), (FileId(7), Some(2))]);
        assert_eq!(ranking.listed_on(FileId(3)), [ip]);
        assert_eq!(ranking.set().iter().collect::<Vec<_>>(), [3, 7]);
        assert_eq!(ranking.len(), 2);
    }

    #[test]
    fn sizes_and_copies_stay_with_their_files() {
        let ranked = |file, size, copies| SizedFile { file: FileId(file), size, copies };
        let files = [ranked(3, 30, 2), ranked(1, 10, 1)];
        let ranking = Ranking::from_sized_files(files.into_iter());
        assert_eq!(ranking.files(), [FileId(3), FileId(1)]);
        assert_eq!([3, 1, 2].map(|file| ranking.size(FileId(file))), [Some(30), Some(10), None]);
        assert_eq!([3, 1].map(|file| ranking.target(FileId(file))), [2, 1]);
        assert!(ranking.by_size().eq([(FileId(1), Some(10)), (FileId(3), Some(30))]));
    }
}
