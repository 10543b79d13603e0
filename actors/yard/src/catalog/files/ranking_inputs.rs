//! grade.info and hitcount.history on disk, and the ranking that they make together.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

use reelyard_core::clock::Millis;
use reelyard_core::names::NameTable;

use super::grade_info::{GradeInfoReader, Grades};
use super::history_rows::{HistoryBlock, HistoryRowReader};
use super::hitcount_history::{
    HistoryJoin, HistoryRead, HistoryReader, HitcountHistory, Positions,
};
use super::input_contents::RankingFiles;
use super::watched_file::{FileDebounce, FileLookOptions, WatchedFile};
use crate::catalog::ranking::Ranking;
use crate::catalog::settings::CatalogSettings;
use crate::catalog::single_flight::{InputReader, LookProgress};
use crate::catalog::views::CatalogInputView;
use crate::catalog::watch::{ChangeNotifier, InputWatch, WatchReport, WatchTarget};

/// Both files and their last good content.
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
    history: Option<HitcountHistory>,
    ungraded_history_rows: u64,
    watch: InputWatch,
    progress: LookProgress,
}

/// The result of a check of the two files.
#[derive(Debug)]
pub struct RankingLook {
    /// The new ranking, if anything in it changed.
    pub changed: Option<Arc<Ranking>>,
    /// grade.info, if configured.
    pub grade_info: Option<CatalogInputView>,
    /// hitcount.history, if configured.
    pub hitcount_history: Option<CatalogInputView>,
    /// Rows of hitcount.history whose names are not graded.
    pub ungraded_history_rows: u64,
    /// When to look again at a file that is being written.
    pub next_look: Option<Millis>,
    /// How often the kernel dropped change notifications because its queue was full.
    pub overflows: u64,
}

impl RankingLook {
    /// Rows of both files that are bad.
    pub fn bad_rows(&self) -> u64 {
        self.inputs().map(|input| input.tally.bad()).sum()
    }

    fn inputs(&self) -> impl Iterator<Item = &CatalogInputView> {
        self.grade_info.iter().chain(&self.hitcount_history)
    }
}

impl RankingInputs {
    /// The files of `settings`, not read yet.
    pub fn new(settings: &CatalogSettings, names: NameTable) -> Self {
        let debounce = FileDebounce { quiet: settings.settle, limit: settings.settle_limit };
        let progress = LookProgress::default();
        let watched = |path: &std::path::PathBuf| {
            WatchedFile::new(path.clone(), debounce).with_progress(progress.clone())
        };
        RankingInputs {
            names,
            destinations: settings.destination_ips.clone(),
            grade_info: settings.grade_info_file.as_ref().map(watched),
            hitcount_history: settings.history_in_use().map(watched),
            grades: None,
            history: None,
            ungraded_history_rows: 0,
            watch: InputWatch::default(),
            progress,
        }
    }

    /// Watches both files for changes. Answers whether each was renamed into place.
    fn update_watches(&mut self) -> (bool, bool) {
        let files = [self.grade_info.as_mut(), self.hitcount_history.as_mut()];
        let mut configured: Vec<&mut WatchedFile> = files.into_iter().flatten().collect();
        let sought: Vec<WatchTarget<'_>> =
            configured.iter().map(|file| WatchTarget::File(file.path())).collect();
        let WatchReport { noticed_by, replaced } = self.watch.set_targets(&sought);
        for (file, by) in configured.iter_mut().zip(noticed_by) {
            file.view_mut().noticed_by = Some(by);
        }
        // Without grades there is no history.
        let replaced = |index: usize| replaced.get(index).copied().unwrap_or(false);
        (replaced(0), replaced(1))
    }

    /// Checks one file after the other. Answers whether one of them is new.
    fn look_at_each(
        &mut self,
        now: Millis,
        grades: FileLookOptions,
        history: FileLookOptions,
    ) -> bool {
        let new_grades = match &mut self.grade_info {
            None => self.grades.is_none().then(Arc::default),
            Some(file) => read_grades(file, now, grades, &self.names),
        };
        let is_new = new_grades.is_some();
        let read = match (new_grades.as_ref().or(self.grades.as_ref()), &mut self.hitcount_history)
        {
            (Some(grades), Some(file)) => {
                // The history is stored per graded file, so new grades need it to be read again.
                let asked = FileLookOptions { forced: is_new, ..history };
                let start = || {
                    let destinations = self.destinations.clone();
                    HistoryReader::new(self.names.clone(), Arc::clone(grades), destinations)
                };
                file.look(now, asked, start, HistoryReader::feed).map(HistoryReader::finish)
            }
            _ => None,
        };
        self.apply_read(new_grades, read)
    }

    /// Reads both files at the same time, for a change of the first. Answers whether either is
    /// new.
    fn look_at_both(
        &mut self,
        now: Millis,
        grades: FileLookOptions,
        history: FileLookOptions,
    ) -> bool {
        let (names, destinations) = (&self.names, &self.destinations);
        let (Some(grade_info), Some(hitcount_history)) =
            (&mut self.grade_info, &mut self.hitcount_history)
        else {
            return self.look_at_each(now, grades, history);
        };
        // It is not known yet whether the grades are new.
        let asked = FileLookOptions { forced: true, ..history };
        let start = || HistoryRowReader::new(names.hasher(), destinations.clone());
        let mut read_rows = || hitcount_history.look(now, asked, start, HistoryRowReader::feed);
        let (new_grades, rows) = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("hitcount.history".to_owned());
            let reading = thread.spawn_scoped(scope, &mut read_rows);
            let new_grades = read_grades(grade_info, now, grades, names);
            (new_grades, reading.map(|reading| reading.join()))
        });
        let rows = match rows {
            Ok(Ok(rows)) => rows,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // No thread can be started, so the files are read one after the other.
            Err(_) => read_rows(),
        };
        let is_new = new_grades.is_some() || hitcount_history.is_new();
        let read = match (new_grades.as_ref().or(self.grades.as_ref()), rows) {
            (Some(grades), Some(rows)) if is_new => Some(join(names, grades, rows)),
            _ => None,
        };
        self.apply_read(new_grades, read)
    }

    /// Takes the content that was read. Answers whether it is new.
    fn apply_read(&mut self, new_grades: Option<Arc<Grades>>, read: Option<HistoryRead>) -> bool {
        let is_new = new_grades.is_some() || read.is_some();
        match read {
            Some(HistoryRead { history, tally, ungraded }) => {
                if let Some(file) = &mut self.hitcount_history {
                    file.view_mut().tally = tally;
                }
                self.ungraded_history_rows = ungraded;
                self.history = Some(history);
            }
            None => {
                if let (Some(new), Some(old), Some(history)) =
                    (&new_grades, &self.grades, &self.history)
                {
                    self.history = Some(history.carried_over(old, new));
                }
            }
        }
        if new_grades.is_some() {
            self.grades = new_grades;
        }
        is_new
    }

    /// None until every configured file was read once.
    fn ranking(&self) -> Option<Arc<Ranking>> {
        let grades = self.grades.as_ref()?;
        let history = match &self.hitcount_history {
            Some(_) => self.history.clone()?,
            None => HitcountHistory::empty(grades),
        };
        let contents = |file: &Option<WatchedFile>| file.as_ref().and_then(WatchedFile::contents);
        let files = RankingFiles {
            grade_info: contents(&self.grade_info),
            hitcount_history: contents(&self.hitcount_history),
        };
        Some(Arc::new(Ranking::new(Arc::clone(grades), history).made_of(files)))
    }
}

/// The grades in `file`, if a look reads it and they are new.
fn read_grades(
    file: &mut WatchedFile,
    now: Millis,
    asked: FileLookOptions,
    names: &NameTable,
) -> Option<Arc<Grades>> {
    let path = file.path().to_owned();
    let start = || {
        let reader = GradeInfoReader::new(names.clone());
        match std::fs::metadata(&path) {
            Ok(metadata) => reader.of_size(metadata.len()),
            Err(_) => reader,
        }
    };
    let (grades, tally) = file.look(now, asked, start, GradeInfoReader::feed)?.finish();
    file.view_mut().tally = tally;
    Some(Arc::new(grades))
}

/// Joins the read rows with the grades, half of them on a separate thread.
fn join(names: &NameTable, grades: &Arc<Grades>, rows: HistoryRowReader) -> HistoryRead {
    let mut rows = rows.finish();
    let mut join = HistoryJoin::new(names.clone(), Arc::clone(grades));
    let blocks = std::mem::take(&mut rows.blocks);
    let (first, second) = blocks.split_at(blocks.len() / 2);
    let look_up = |blocks: &[HistoryBlock]| -> Vec<Positions> {
        blocks.iter().map(|block| join.positions(block)).collect()
    };
    let (first, second) = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("hitcount.history".to_owned());
        let other = thread.spawn_scoped(scope, || look_up(second));
        let first = look_up(first);
        let second = match other.map(|other| other.join()) {
            Ok(Ok(second)) => second,
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            Err(_) => look_up(second),
        };
        (first, second)
    });
    for (block, positions) in blocks.iter().zip(first.iter().chain(&second)) {
        join.add_block(block, positions);
    }
    join.finish(rows)
}

impl InputReader for RankingInputs {
    type Found = RankingLook;

    fn watch(&mut self, notifier: ChangeNotifier) {
        self.watch = InputWatch::with_notifier(notifier);
    }

    fn look(&mut self, now: Millis) -> RankingLook {
        let (grades_replaced, history_replaced) = self.update_watches();
        let grades = FileLookOptions { forced: false, replaced: grades_replaced };
        let history = FileLookOptions { forced: false, replaced: history_replaced };
        let reads_grades =
            self.grade_info.as_mut().is_some_and(|file| file.would_read(now, grades));
        let is_new = match reads_grades {
            true => self.look_at_both(now, grades, history),
            false => self.look_at_each(now, grades, history),
        };
        let files = [&self.grade_info, &self.hitcount_history];
        let next_look = files.into_iter().flatten().filter_map(WatchedFile::next_look).min();
        let view = |file: &Option<WatchedFile>| file.as_ref().map(|file| file.view().clone());
        let changed = if is_new { self.ranking() } else { None };
        RankingLook {
            changed,
            grade_info: view(&self.grade_info),
            hitcount_history: view(&self.hitcount_history),
            ungraded_history_rows: self.ungraded_history_rows,
            next_look,
            overflows: self.watch.overflows(),
        }
    }

    fn progress(&self) -> LookProgress {
        self.progress.clone()
    }
}
