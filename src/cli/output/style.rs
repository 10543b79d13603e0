//! The form of an output: what it is written to, and for whom.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use jiff::tz::TimeZone;
use reelyard_console::text::Language;
use reelyard_console::{Moment, Viewer};
use reelyard_core::clock::{Clock, Millis};
use rustix::termios::tcgetwinsize;

use super::local_time;
use crate::terminal;

/// The selection by `-o`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputForm {
    /// A table that fits the terminal.
    #[default]
    Table,
    /// A table with every column, whole values and exact times.
    Wide,
    /// The rows of the API.
    Json,
    /// Comma-separated values (RFC 4180), with every column.
    Csv,
}

/// When an output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Also in files and pipes.
    Always,
    /// Not even on a terminal.
    Never,
}

/// Columns of a terminal that does not say how wide it is.
const USUAL_WIDTH: usize = 80;

/// How values are printed.
#[derive(Clone, Debug)]
pub struct PrintStyle {
    /// Form of the output.
    pub form: OutputForm,
    /// Columns of the terminal. Without a terminal, values are printed whole.
    pub width: Option<usize>,
    /// Whether states have colours.
    pub has_colors: bool,
    /// Whether states have shapes. A pipe gets none, so that each state is one word there.
    pub has_shapes: bool,
    /// Zone of the times, and the present instant.
    pub viewer: Viewer,
}

impl PrintStyle {
    /// The style for standard output.
    pub fn of_stdout(form: OutputForm, colors: ColorWhen) -> Self {
        let stdout = io::stdout();
        let is_terminal = stdout.is_terminal();
        let has_colors = match colors {
            ColorWhen::Auto => terminal::may_have_colors(&stdout),
            ColorWhen::Always => true,
            ColorWhen::Never => false,
        };
        PrintStyle {
            form,
            width: is_terminal.then(columns),
            has_colors,
            has_shapes: is_terminal && !terminal::is_dumb(),
            viewer: viewer(TimeZone::system(), Clock::system().now()),
        }
    }

    /// The same style at the present instant, and at the present width of the terminal.
    pub fn now(&self) -> Self {
        let now = Moment(Clock::system().now().0);
        let width = self.width.map(|_| columns());
        PrintStyle { width, viewer: Viewer { now, ..self.viewer.clone() }, ..self.clone() }
    }

    /// An instant as a sentence has it: "14:02:11", or with the day. A pipe gets it whole.
    pub fn clock(&self, at: Millis) -> String {
        match self.width {
            Some(_) => local_time::short(&self.viewer, at),
            None => local_time::exact(&self.viewer, at),
        }
    }

    /// An instant to the millisecond with its offset.
    pub fn exact(&self, at: Millis) -> String {
        local_time::exact(&self.viewer, at)
    }

    /// The present instant.
    pub fn instant(&self) -> Millis {
        Millis(self.viewer.now.0)
    }
}

/// The columns of the terminal.
fn columns() -> usize {
    let columns = tcgetwinsize(io::stdout()).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { USUAL_WIDTH } else { columns }
}

/// A reader of English at a terminal in a zone.
pub fn viewer(zone: TimeZone, now: Millis) -> Viewer {
    Viewer::without_session(Language::English, zone, Moment(now.0))
}
