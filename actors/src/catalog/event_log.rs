//! The event log as it grows: the files of the days that matter, followed row by row into the
//! window of hits.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::civil::Date;

use super::event_row::{EventRow, read_event_row};
use super::lane::Bench;
use super::lines::{Line, LineSplitter};
use super::log_days::{log_days, log_file_name};
use super::log_reader::{LogReader, Reopened};
use super::rising::{HitTaken, HitWindow, RisingHits};
use super::rows::RowFault;
use super::settings::EventLogSettings;
use super::view::{EventLogFileView, EventLogView, InputState, InputView};
use crate::clock::Millis;
use crate::names::{Interning, NameTable};

/// The event log and the hits in it.
#[derive(Debug)]
pub struct EventLog {
    settings: EventLogSettings,
    names: NameTable,
    window: HitWindow,
    days: Vec<FollowedDay>,
    looked_at: Option<Millis>,
    /// The hot files as last told.
    rising: Arc<RisingHits>,
}

/// What a look at the log found.
#[derive(Debug)]
pub struct EventLogLook {
    /// The hot files, if they or their hits changed.
    pub changed: Option<Arc<RisingHits>>,
    /// How the log stands.
    pub view: EventLogView,
}

/// The log of one day.
#[derive(Debug)]
struct FollowedDay {
    day: Date,
    path: PathBuf,
    /// The file at `path`, and behind it those that were there before: whoever writes may not have
    /// let go of them yet.
    files: Vec<(LogReader, LineSplitter)>,
    view: EventLogFileView,
}

/// How many files of one day are kept open: the one at its path and a few that were rotated away.
const MOST_FILES: usize = 4;

impl EventLog {
    /// The log of `settings`, nothing read yet.
    pub fn new(settings: EventLogSettings, names: NameTable) -> Self {
        let window = HitWindow::new(settings.window, settings.hit_base);
        EventLog {
            settings,
            names,
            window,
            days: Vec::new(),
            looked_at: None,
            rising: Arc::default(),
        }
    }

    /// The next instant at which the hot files may change without a new row.
    pub fn next_change(&self) -> Option<Millis> {
        self.window.next_change()
    }

    /// Drops the hits that have left the window. Reads nothing.
    pub fn expire(&mut self, now: Millis) -> EventLogLook {
        self.window.expire(now);
        let rising = self.window.rising(&self.names);
        let changed = (*self.rising != rising).then(|| Arc::new(rising));
        if let Some(rising) = &changed {
            self.rising = Arc::clone(rising);
        }
        EventLogLook { changed, view: self.view() }
    }

    fn view(&self) -> EventLogView {
        EventLogView {
            files: self.days.iter().map(|day| day.view.clone()).collect(),
            hits_in_window: self.window.hits(),
            hot: self.rising.hot().len(),
        }
    }

    /// Follows exactly the days that matter at `now`. An old day is followed as long as a row of
    /// it could still count.
    fn choose_days(&mut self, now: Millis) {
        if self.looked_at.is_some_and(|before| now < before) {
            // The clock was set back. Days let go of may matter again, and reading them again
            // would count their hits twice: everything is read anew.
            self.days.clear();
            self.window = HitWindow::new(self.settings.window, self.settings.hit_base);
        }
        let days = log_days(self.window.start(now), now, &self.settings.time_zone);
        self.days.retain(|followed| days.contains(&followed.day));
        for day in days {
            if !self.days.iter().any(|followed| followed.day == day) {
                let path = self.settings.dir.join(log_file_name(day));
                self.days.push(FollowedDay::new(day, path));
            }
        }
    }
}

impl Bench for EventLog {
    type Found = EventLogLook;

    fn look(&mut self, now: Millis) -> EventLogLook {
        self.choose_days(now);
        for day in &mut self.days {
            let (settings, window) = (&self.settings, &mut self.window);
            day.look(now, &self.names, settings, window);
        }
        self.looked_at = Some(now);
        self.expire(now)
    }
}

impl FollowedDay {
    fn new(day: Date, path: PathBuf) -> Self {
        let view = EventLogFileView { input: InputView::of(&path), ..EventLogFileView::default() };
        FollowedDay { day, path, files: Vec::new(), view }
    }

    fn look(
        &mut self,
        now: Millis,
        names: &NameTable,
        settings: &EventLogSettings,
        window: &mut HitWindow,
    ) {
        let reopened = self.reopen();
        let mut state =
            reopened.map_or_else(|error| InputState::of_error(&error), |()| InputState::Ok);
        for (reader, lines) in self.files.iter_mut().rev() {
            let mut rows = Rows { now, settings, window, view: &mut self.view };
            if let Err(error) = rows.read_file(reader, lines, names) {
                state = InputState::of_error(&error);
            }
        }
        let input = &mut self.view.input;
        if state == InputState::Ok {
            input.read_at = Some(now);
        }
        input.state = state;
        if let Some((current, lines)) = self.files.first() {
            input.tally.torn = lines.is_inside_line();
            self.view.offset = current.offset();
        }
    }

    /// Puts the file that stands at the path first.
    fn reopen(&mut self) -> io::Result<()> {
        let other = match self.files.first_mut() {
            None => LogReader::open(&self.path)?,
            Some((current, _)) => match current.reopen(&self.path)? {
                Reopened::Same | Reopened::Continued => return Ok(()),
                Reopened::Other(other) => other,
            },
        };
        self.files.insert(0, (other, LineSplitter::default()));
        self.files.truncate(MOST_FILES);
        Ok(())
    }
}

/// Where the rows of a file go.
struct Rows<'a> {
    now: Millis,
    settings: &'a EventLogSettings,
    window: &'a mut HitWindow,
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
        }
        reader.read(|chunk| {
            let mut interning = names.interning();
            lines.feed(chunk, |number, line| self.take(number, line, &mut interning));
        })
    }

    fn take(&mut self, number: u64, line: Line<'_>, names: &mut Interning<'_>) {
        self.view.input.tally.rows += 1;
        let (row, taken) = match line {
            Line::Overlong(start) => (start, Err(RowFault::Overlong)),
            Line::Whole(row) => (row, self.take_row(row, names)),
        };
        if let Err(fault) = taken {
            self.view.input.tally.fault(number, fault, row);
        }
    }

    fn take_row(&mut self, row: &[u8], names: &mut Interning<'_>) -> Result<(), RowFault> {
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
        if self.settings.watch_address.is_some_and(|watched| watched != selection.server) {
            self.view.selections_elsewhere += 1;
            return Ok(());
        }
        // Judged before the name is interned: old rows must not fill the table of names.
        let taken = match self.window.judge(selection.at, self.now) {
            HitTaken::Counted => {
                self.window.hit(names.intern(selection.name)?, selection.at, self.now)
            }
            not_counted => not_counted,
        };
        match taken {
            HitTaken::Counted => self.view.hits += 1,
            HitTaken::TooOld => self.view.too_old += 1,
            HitTaken::AheadOfClock => return Err(RowFault::AheadOfClock),
        }
        Ok(())
    }
}
