//! grade.info and hitcount.history on disk, and the ranking that they make together.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::grade_info::{GradeInfoReader, Grades};
use super::hitcount_history::{History, HistoryReader};
use super::lane::Bench;
use super::ranking::Ranking;
use super::settings::CatalogSettings;
use super::view::{InputState, InputView};
use super::watched_file::WatchedFile;
use crate::clock::Millis;
use crate::names::NameTable;

/// Both files and what was last read of them.
#[derive(Debug)]
pub struct RankingInputs {
    names: NameTable,
    destinations: BTreeSet<IpAddr>,
    /// None makes an empty ranking.
    grade_info: Option<WatchedFile>,
    hitcount_history: Option<WatchedFile>,
    /// The last good grades; none before the first.
    grades: Option<Arc<Grades>>,
    /// The last good history, read against `grades`; none before the first.
    history: Option<History>,
    ungraded_history_rows: u64,
}

/// What a look at the two files found.
#[derive(Debug)]
pub struct RankingLook {
    /// The new ranking, if anything in it changed.
    pub changed: Option<Arc<Ranking>>,
    /// grade.info, if configured.
    pub grade_info: Option<InputView>,
    /// hitcount.history, if configured.
    pub hitcount_history: Option<InputView>,
    /// Rows of hitcount.history whose names are not graded.
    pub ungraded_history_rows: u64,
}

impl RankingLook {
    /// Whether a file is being written.
    pub fn is_settling(&self) -> bool {
        self.inputs().any(|input| input.state == InputState::Changing)
    }

    /// Rows of both files that are bad.
    pub fn bad_rows(&self) -> u64 {
        self.inputs().map(|input| input.tally.bad()).sum()
    }

    fn inputs(&self) -> impl Iterator<Item = &InputView> {
        self.grade_info.iter().chain(&self.hitcount_history)
    }
}

impl RankingInputs {
    /// The files of `settings`, not read yet.
    pub fn new(settings: &CatalogSettings, names: NameTable) -> Self {
        let watched = |path: &std::path::PathBuf| WatchedFile::new(path.clone(), settings.settle);
        RankingInputs {
            names,
            destinations: settings.destination_ips.clone(),
            grade_info: settings.grade_info_file.as_ref().map(watched),
            hitcount_history: settings.history_in_use().map(watched),
            grades: None,
            history: None,
            ungraded_history_rows: 0,
        }
    }

    fn look_at_grades(&mut self, now: Millis) -> bool {
        let Some(file) = &mut self.grade_info else {
            return self.grades.replace(Arc::default()).is_none();
        };
        let start = || GradeInfoReader::new(self.names.clone());
        let Some(reader) = file.look(now, false, start, GradeInfoReader::feed) else {
            return false;
        };
        let (grades, tally) = reader.finish();
        file.view_mut().tally = tally;
        if let (Some(history), Some(old)) = (&self.history, &self.grades) {
            self.history = Some(history.carried_over(old, &grades));
        }
        self.grades = Some(Arc::new(grades));
        true
    }

    /// The history is kept by graded file, so it is read anew for new grades.
    fn look_at_history(&mut self, now: Millis, anew: bool) -> bool {
        let (Some(grades), Some(file)) = (&self.grades, &mut self.hitcount_history) else {
            return false;
        };
        let start = || {
            HistoryReader::new(self.names.clone(), Arc::clone(grades), self.destinations.clone())
        };
        let Some(reader) = file.look(now, anew, start, HistoryReader::feed) else {
            return false;
        };
        let read = reader.finish();
        file.view_mut().tally = read.tally;
        self.ungraded_history_rows = read.ungraded;
        self.history = Some(read.history);
        true
    }

    /// There is none until every configured file was read once.
    fn ranking(&self) -> Option<Arc<Ranking>> {
        let grades = self.grades.as_ref()?;
        let history = match &self.hitcount_history {
            Some(_) => self.history.clone()?,
            None => History::empty(grades),
        };
        Some(Arc::new(Ranking::new(Arc::clone(grades), history)))
    }
}

impl Bench for RankingInputs {
    type Found = RankingLook;

    fn look(&mut self, now: Millis) -> RankingLook {
        let new_grades = self.look_at_grades(now);
        let new_history = self.look_at_history(now, new_grades);
        let view = |file: &Option<WatchedFile>| file.as_ref().map(|file| file.view().clone());
        let changed = if new_grades || new_history { self.ranking() } else { None };
        RankingLook {
            changed,
            grade_info: view(&self.grade_info),
            hitcount_history: view(&self.hitcount_history),
            ungraded_history_rows: self.ungraded_history_rows,
        }
    }
}
