//! grade.info and hitcount.history on disk, and the ranking that they make together.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use super::grade_info::{GradeInfoReader, Grades};
use super::hitcount_history::{History, HistoryReader};
use super::lane::Bench;
use super::ranking::Ranking;
use super::settings::CatalogSettings;
use super::view::InputView;
use super::watch::{Following, Sought, Stir, Watch};
use super::watched_file::{Asked, Settle, WatchedFile};
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
    watch: Watch,
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
    /// When to look again at a file that is being written.
    pub next_look: Option<Millis>,
    /// How often more had changed at once than the kernel tells.
    pub overflows: u64,
}

impl RankingLook {
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
        let settle = Settle { quiet: settings.settle, limit: settings.settle_limit };
        let watched = |path: &std::path::PathBuf| WatchedFile::new(path.clone(), settle);
        RankingInputs {
            names,
            destinations: settings.destination_ips.clone(),
            grade_info: settings.grade_info_file.as_ref().map(watched),
            hitcount_history: settings.history_in_use().map(watched),
            grades: None,
            history: None,
            ungraded_history_rows: 0,
            watch: Watch::default(),
        }
    }

    /// Looks out for changes of both files. Answers whether each was put into place as a whole.
    fn follow(&mut self) -> (bool, bool) {
        let files = [self.grade_info.as_mut(), self.hitcount_history.as_mut()];
        let mut configured: Vec<&mut WatchedFile> = files.into_iter().flatten().collect();
        let sought: Vec<Sought<'_>> =
            configured.iter().map(|file| Sought::File(file.path())).collect();
        let Following { noticed_by, replaced } = self.watch.follow(&sought);
        for (file, by) in configured.iter_mut().zip(noticed_by) {
            file.view_mut().noticed_by = Some(by);
        }
        // There is no history without grades.
        let replaced = |index: usize| replaced.get(index).copied().unwrap_or(false);
        (replaced(0), replaced(1))
    }

    fn look_at_grades(&mut self, now: Millis, asked: Asked) -> bool {
        let Some(file) = &mut self.grade_info else {
            return self.grades.replace(Arc::default()).is_none();
        };
        let start = || GradeInfoReader::new(self.names.clone());
        let Some(reader) = file.look(now, asked, start, GradeInfoReader::feed) else {
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
    fn look_at_history(&mut self, now: Millis, asked: Asked) -> bool {
        let (Some(grades), Some(file)) = (&self.grades, &mut self.hitcount_history) else {
            return false;
        };
        let start = || {
            HistoryReader::new(self.names.clone(), Arc::clone(grades), self.destinations.clone())
        };
        let Some(reader) = file.look(now, asked, start, HistoryReader::feed) else {
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

    fn watch(&mut self, stir: Stir) {
        self.watch = Watch::on(stir);
    }

    fn look(&mut self, now: Millis) -> RankingLook {
        let (grades_replaced, history_replaced) = self.follow();
        let asked = Asked { anew: false, replaced: grades_replaced };
        let new_grades = self.look_at_grades(now, asked);
        let asked = Asked { anew: new_grades, replaced: history_replaced };
        let new_history = self.look_at_history(now, asked);
        let files = [&self.grade_info, &self.hitcount_history];
        let next_look = files.into_iter().flatten().filter_map(WatchedFile::next_look).min();
        let view = |file: &Option<WatchedFile>| file.as_ref().map(|file| file.view().clone());
        let changed = if new_grades || new_history { self.ranking() } else { None };
        RankingLook {
            changed,
            grade_info: view(&self.grade_info),
            hitcount_history: view(&self.hitcount_history),
            ungraded_history_rows: self.ungraded_history_rows,
            next_look,
            overflows: self.watch.overflows(),
        }
    }
}
