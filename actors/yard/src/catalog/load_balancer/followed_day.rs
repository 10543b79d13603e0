//! The log of one day, followed row by row into the window of hits and the memory of demand.

use std::io;
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use reelyard_core::clock::Millis;
use reelyard_core::names::{FileName, NameLookup, NameTable};

use super::event_row::{EventRow, read_event_row};
use super::log_reader::{LogReader, Reopened};
use super::rising::{HitTaken, LARGEST_LEAD};
use crate::catalog::files::lines::{InputLine, LineSplitter};
use crate::catalog::files::rows::RowFault;
use crate::catalog::load_balancer::hit_counter::HitCounter;
use crate::catalog::popularity::demand_memory::DemandMemory;
use crate::catalog::settings::EventLogSettings;
use crate::catalog::views::{CatalogInputState, CatalogInputView, EventLogFileView, NoticedBy};

/// The log of one day.
#[derive(Debug)]
pub struct FollowedDay {
    day: Date,
    path: PathBuf,
    /// The file at `path`, then the files that were there before. Their writers may still have them
    /// open.
    files: Vec<(LogReader, LineSplitter)>,
    /// How many lines of the file at `path` were counted as demand before.
    counted_before: u64,
    view: EventLogFileView,
}

/// The receivers of rows.
pub struct RowCounters<'a> {
    /// Hits of the window.
    pub hits: &'a mut HitCounter,
    /// Requests of all days; none if demand is not measured.
    pub demand: Option<&'a mut DemandMemory>,
}

/// How many files of one day are kept open: the one at its path and a few that were rotated away.
const MOST_FILES: usize = 4;

impl FollowedDay {
    /// The log of `day` at `path`, not read yet. `counted_before` of its lines were counted as demand
    /// before.
    pub fn new(day: Date, path: PathBuf, counted_before: u64) -> Self {
        let view =
            EventLogFileView { input: CatalogInputView::of(&path), ..EventLogFileView::default() };
        FollowedDay { day, path, files: Vec::new(), counted_before, view }
    }

    /// How many lines of the file at its path were counted as demand.
    pub fn counted_lines(&self) -> u64 {
        let ended = self.files.first().map_or(0, |(_, lines)| lines.ended());
        ended.max(self.counted_before)
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
        let reopened = self.reopen();
        let mut state = reopened
            .map_or_else(|error| CatalogInputState::of_error(&error), |()| CatalogInputState::Ok);
        for index in (0..self.files.len()).rev() {
            let (reader, lines) = &mut self.files[index];
            let counted_before = if index == 0 { self.counted_before } else { 0 };
            let (hits, demand) = (&mut *counters.hits, counters.demand.as_deref_mut());
            let mut rows =
                Rows { now, settings, hits, demand, counted_before, view: &mut self.view };
            let read = rows.read_file(reader, lines, names);
            if index == 0 {
                self.counted_before = rows.counted_before;
            }
            match read {
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
        if let Some((current, lines)) = self.files.first() {
            input.tally.torn = lines.is_inside_line();
            self.view.offset = current.offset();
        }
    }

    /// Puts the file at the path first.
    fn reopen(&mut self) -> io::Result<()> {
        let other = match self.files.first_mut() {
            None => LogReader::open(&self.path)?,
            Some((current, _)) => match current.reopen(&self.path)? {
                Reopened::Same | Reopened::Continued => return Ok(()),
                Reopened::Other(other) => other,
            },
        };
        if !self.files.is_empty() {
            self.counted_before = 0;
        }
        self.files.insert(0, (other, LineSplitter::default()));
        self.files.truncate(MOST_FILES);
        Ok(())
    }
}

/// The receivers of the rows of a file.
struct Rows<'a> {
    now: Millis,
    settings: &'a EventLogSettings,
    hits: &'a mut HitCounter,
    demand: Option<&'a mut DemandMemory>,
    /// Lines up to this number are no new demand.
    counted_before: u64,
    view: &'a mut EventLogFileView,
}

impl Rows<'_> {
    fn read_file(
        &mut self,
        reader: &mut LogReader,
        lines: &mut LineSplitter,
        names: &NameTable,
    ) -> io::Result<()> {
        if reader.was_cut()? {
            *lines = LineSplitter::default();
            self.counted_before = 0;
        }
        reader.read(|chunk| {
            let names = names.lookup();
            lines.feed(chunk, |number, line| self.parse_line(number, line, &names));
        })
    }

    fn parse_line(&mut self, number: u64, line: InputLine<'_>, names: &NameLookup<'_>) {
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
        if let (Some(file), Some(demand)) = (file, &mut self.demand)
            && number > self.counted_before
            && selection.at <= self.now.after(LARGEST_LEAD)
        {
            demand.request(file, selection.at);
        }
        let watched = self.settings.watch_address.as_ref();
        if watched.is_some_and(|watched| !watched.has(selection.server)) {
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
