//! The log of one day, followed row by row into the window of hits and the memory of demand.

use std::io;
use std::ops::Range;
use std::os::unix::fs::DirEntryExt;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use reelyard_core::clock::Millis;
use reelyard_core::names::{FileName, NameLookup, NameTable};

use super::event_row::{EventRow, read_event_row};
use super::log_days::{day_start, demand_times};
use super::log_reader::{LogReader, Reopened};
use super::rising::HitTaken;
use crate::catalog::checkpoint::log_position::{LogPosition, SameLog};
use crate::catalog::files::lines::{InputLine, LineSplitter};
use crate::catalog::files::rows::RowFault;
use crate::catalog::load_balancer::hit_counter::HitCounter;
use crate::catalog::popularity::demand_ranker::DemandRanker;
use crate::catalog::settings::EventLogSettings;
use crate::catalog::single_flight::LookProgress;
use crate::catalog::views::{CatalogInputState, CatalogInputView, EventLogFileView, NoticedBy};

/// The log of one day.
#[derive(Debug)]
pub struct FollowedDay {
    day: Date,
    path: PathBuf,
    /// The file at `path`, then the files that were there before. Their writers may still have them
    /// open.
    files: Vec<FollowedLog>,
    /// How much of the log at `path` was counted before, until the file there is known to be the same
    /// log or another one.
    counted_at_path: Option<LogPosition>,
    /// How many lines of that log this object has read.
    read_at_path: u64,
    /// How much of logs was counted that are no longer at `path`. They are searched for once.
    counted_elsewhere: Vec<LogPosition>,
    view: EventLogFileView,
}

#[derive(Debug)]
struct FollowedLog {
    reader: LogReader,
    lines: LineSplitter,
    /// How many lines were counted as demand before this reader began.
    counted_before: u64,
    /// How many of these lines were read before, so that their hits are in the window.
    read_before: u64,
}

/// The receivers of rows.
pub struct RowCounters<'a> {
    /// Hits of the window.
    pub hits: &'a mut HitCounter,
    /// Requests of all days; none if demand is not measured.
    pub demand: Option<&'a mut DemandRanker>,
    /// Counts the parts of the log that were read.
    pub progress: &'a LookProgress,
}

/// How many files of one day are kept open: the one at its path and a few that were rotated away.
pub const MOST_FILES: usize = 4;

impl FollowedDay {
    /// The log of `day` at `path`, not read yet. `counted` is what was counted of it as demand before:
    /// first of the file at the path, then of files that were there earlier.
    pub fn new(day: Date, path: PathBuf, counted: Vec<LogPosition>) -> Self {
        let view =
            EventLogFileView { input: CatalogInputView::of(&path), ..EventLogFileView::default() };
        let mut counted = counted.into_iter();
        let counted_at_path = counted.next();
        let counted_elsewhere = counted.collect();
        let files = Vec::new();
        FollowedDay { day, path, files, counted_at_path, read_at_path: 0, counted_elsewhere, view }
    }

    /// How much was counted as demand: first of the file at the path.
    pub fn counted(&self) -> Vec<LogPosition> {
        let mut counted: Vec<LogPosition> = self.files.iter().map(FollowedLog::counted).collect();
        if let Some(at_path) = &self.counted_at_path {
            // Not yet known to be the log of the first file.
            counted.splice(..counted.len().min(1), [at_path.clone()]);
        }
        counted.extend(self.counted_elsewhere.iter().cloned());
        counted
    }

    /// Whether there is a log, with rows that may not have been counted as demand.
    pub fn has_new_rows(&self) -> bool {
        let Some(counted) = &self.counted_at_path else { return self.path.is_file() };
        let reader = LogReader::open(&self.path);
        reader.is_ok_and(|reader| !reader.ends_at(counted).unwrap_or(false))
    }

    /// The day whose log is followed.
    pub fn day(&self) -> Date {
        self.day
    }

    /// The path of its log.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How its changes are noticed.
    pub fn is_noticed_by(&mut self, by: NoticedBy) {
        self.view.input.noticed_by = Some(by);
    }

    /// The state of its log.
    pub fn view(&self) -> &EventLogFileView {
        &self.view
    }

    /// Reads the new rows since the last read and counts them.
    pub fn look(
        &mut self,
        now: Millis,
        names: &NameTable,
        settings: &EventLogSettings,
        counters: &mut RowCounters<'_>,
    ) {
        let found = self.reopen().and_then(|()| self.start_over_if_cut());
        let mut state = found
            .map_or_else(|error| CatalogInputState::of_error(&error), |()| CatalogInputState::Ok);
        self.find_counted();
        for index in (0..self.files.len()).rev() {
            let file = &mut self.files[index];
            let (hits, demand) = (&mut *counters.hits, counters.demand.as_deref_mut());
            let mut rows = Rows {
                now,
                times: demand_times(self.day),
                day_start: day_start(self.day, &settings.time_zone),
                settings,
                hits,
                demand,
                counted_before: file.counted_before,
                read_before: file.read_before,
                view: &mut self.view,
            };
            let progress = counters.progress;
            match rows.read_file(&mut file.reader, &mut file.lines, names, progress) {
                Ok(()) => {}
                Err(error) if index == 0 => state = CatalogInputState::of_error(&error),
                // It was rotated away and can no longer be reached.
                Err(_) => drop(self.files.remove(index)),
            }
        }
        let input = &mut self.view.input;
        if state == CatalogInputState::Ok {
            input.read_at = Some(now);
            input.good_at = Some(now);
        }
        input.state = state;
        if let Some(current) = self.files.first() {
            input.tally.torn = current.lines.is_inside_line();
            self.view.offset = current.reader.offset();
        }
    }

    /// Puts the file at the path first. It may be one of the followed files again, or a copy of one.
    fn reopen(&mut self) -> io::Result<()> {
        let mut other = None;
        for (index, file) in self.files.iter_mut().enumerate() {
            match file.reader.reopen(&self.path)? {
                Reopened::Same | Reopened::Continued => {
                    if index > 0 {
                        self.counted_elsewhere.extend(self.counted_at_path.take());
                        self.read_at_path = 0;
                    }
                    self.files[..=index].rotate_right(1);
                    return Ok(());
                }
                Reopened::Other(reader) => other = Some(reader),
            }
        }
        let other = match other {
            Some(other) => other,
            None => LogReader::open(&self.path)?,
        };
        // It may be a shorter copy of the first file.
        if let Some(first) = self.files.first() {
            let (counted, read) = (first.counted(), first.read());
            self.search_at_path(counted, read);
        }
        self.files.insert(0, FollowedLog::new(other, 0));
        self.files.truncate(MOST_FILES);
        Ok(())
    }

    /// Searches at the path for a log of which this was counted and read. A log that is searched for already stays.
    fn search_at_path(&mut self, counted: LogPosition, read: u64) {
        self.counted_at_path.get_or_insert(counted);
        self.read_at_path = self.read_at_path.max(read);
    }

    /// Reads a file from its beginning that no longer begins with the bytes that were read. Its counted rows are
    /// remembered, because a log that is written again has the same rows again.
    fn start_over_if_cut(&mut self) -> io::Result<()> {
        let mut first = Ok(());
        let mut cut = None;
        for (index, file) in self.files.iter_mut().enumerate() {
            let before = (file.counted(), file.read());
            match file.reader.was_cut() {
                Ok(false) => {}
                Ok(true) => {
                    file.lines = LineSplitter::default();
                    (file.counted_before, file.read_before) = (0, 0);
                    cut = cut.or(Some(before).filter(|_| index == 0));
                }
                Err(error) if index == 0 => first = Err(error),
                // The read of the file fails as well.
                Err(_) => {}
            }
        }
        if let Some((counted, read)) = cut {
            self.search_at_path(counted, read);
        }
        first
    }

    /// Finds the files whose rows were counted before.
    fn find_counted(&mut self) {
        if let (Some(counted), Some(current)) = (&self.counted_at_path, self.files.first_mut()) {
            let same = current.reader.is_log_of(counted);
            if let Ok(same) = same {
                let is_other = same == SameLog::No;
                let lines = if is_other { (0, 0) } else { (counted.lines, self.read_at_path) };
                (current.counted_before, current.read_before) = lines;
            }
            match same {
                // The read of the file fails as well, and reports an error.
                Ok(SameLog::TooShort) | Err(_) => {}
                Ok(SameLog::Yes) => (self.counted_at_path, self.read_at_path) = (None, 0),
                Ok(SameLog::No) => {
                    self.counted_elsewhere.extend(self.counted_at_path.take());
                    self.read_at_path = 0;
                }
            }
        }
        if self.files.is_empty() || self.counted_elsewhere.is_empty() {
            return;
        }
        for counted in std::mem::take(&mut self.counted_elsewhere) {
            let is_followed = self.files.iter().any(|file| file.reader.inode() == counted.inode);
            let found = if is_followed { None } else { self.find_renamed(&counted) };
            self.files.extend(found.map(|reader| FollowedLog::new(reader, counted.lines)));
        }
        self.files.truncate(MOST_FILES);
    }

    /// The log of a position under another name in the same directory. None if it is gone.
    fn find_renamed(&self, counted: &LogPosition) -> Option<LogReader> {
        let entries = std::fs::read_dir(self.path.parent()?).ok()?;
        let same_inode = entries.flatten().filter(|entry| entry.ino() == counted.inode);
        let other_names = same_inode.map(|entry| entry.path()).filter(|path| *path != self.path);
        let mut readers = other_names.filter_map(|path| LogReader::open(&path).ok());
        readers.find(|reader| reader.is_log_of(counted).is_ok_and(|same| same == SameLog::Yes))
    }
}

impl FollowedLog {
    fn new(reader: LogReader, counted_before: u64) -> Self {
        FollowedLog { reader, lines: LineSplitter::default(), counted_before, read_before: 0 }
    }

    fn counted(&self) -> LogPosition {
        self.reader.position(self.lines.ended().max(self.counted_before))
    }

    fn read(&self) -> u64 {
        self.lines.ended().max(self.read_before)
    }
}

/// The receivers of the rows of a file.
struct Rows<'a> {
    now: Millis,
    /// Only rows with these times are demand.
    times: Range<Millis>,
    /// Earlier rows count as demand of this instant. So one late row does not make the log look longer than it is.
    day_start: Millis,
    settings: &'a EventLogSettings,
    hits: &'a mut HitCounter,
    demand: Option<&'a mut DemandRanker>,
    /// Lines up to this number are no new demand.
    counted_before: u64,
    /// Lines up to this number are ignored.
    read_before: u64,
    view: &'a mut EventLogFileView,
}

impl Rows<'_> {
    fn read_file(
        &mut self,
        reader: &mut LogReader,
        lines: &mut LineSplitter,
        names: &NameTable,
        progress: &LookProgress,
    ) -> io::Result<()> {
        reader.read(|chunk| {
            progress.advance();
            let names = names.lookup();
            lines.feed(chunk, |number, line| self.parse_line(number, line, &names));
        })
    }

    fn parse_line(&mut self, number: u64, line: InputLine<'_>, names: &NameLookup<'_>) {
        if number <= self.read_before {
            return;
        }
        self.view.input.tally.rows += 1;
        let (row, taken) = match line {
            InputLine::Overlong(start) => (start, Err(RowFault::Overlong)),
            InputLine::Whole(row) => (row, self.count_row(number, row, names)),
        };
        if let Err(fault) = taken {
            self.view.input.tally.fault(number, fault, row);
        }
    }

    fn count_row(
        &mut self,
        number: u64,
        row: &[u8],
        names: &NameLookup<'_>,
    ) -> Result<(), RowFault> {
        let selection = match read_event_row(row)? {
            EventRow::Selection(selection) => selection,
            EventRow::NotFound => {
                self.view.not_found += 1;
                return Ok(());
            }
            EventRow::Other => {
                self.view.other += 1;
                return Ok(());
            }
        };
        self.view.newest = self.view.newest.max(Some(selection.at));
        FileName::check(selection.name)?;
        let file = names.find(selection.name);
        let watched = self.settings.watch_address.as_ref();
        let is_elsewhere = watched.map(|watched| !watched.has(selection.server));
        if let Some(demand) = &mut self.demand
            && number > self.counted_before
            && self.times.contains(&selection.at)
        {
            let at = selection.at.max(self.day_start);
            demand.request(file, at, is_elsewhere, self.now);
        }
        if is_elsewhere == Some(true) {
            self.view.selections_elsewhere += 1;
            return Ok(());
        }
        match self.hits.record(file, selection.name, selection.at, self.now) {
            HitTaken::Counted => self.view.hits += 1,
            HitTaken::TooOld => self.view.too_old += 1,
            HitTaken::AheadOfClock => return Err(RowFault::AheadOfClock),
        }
        Ok(())
    }
}
