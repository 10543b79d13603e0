//! The facts of the page Tasks.

use crate::pages::why::WhyFile;
use crate::pages::yard::CopyLine;
use crate::parts::dialog::AskDialog;
use crate::parts::icon::Glyph;
use crate::parts::mark::{StateMark, Tone};
use crate::parts::table::RowPage;
use crate::text::{Text, states, tasks};
use crate::viewer::Moment;

/// The state of a task, in the words of the API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TaskCondition {
    /// Planned, not begun.
    #[default]
    Ready,
    /// Bytes are copied.
    Working,
    /// The destination has the whole file.
    Done,
    /// The copy failed, and a side is blamed for it.
    Failed,
    /// No report arrived before the deadline, or the copy never began.
    TimedOut,
    /// An operator, a mode or a change of hosts ended it.
    Cancelled,
}

impl TaskCondition {
    /// Shape, colour and word.
    pub const fn mark(self) -> StateMark {
        match self {
            TaskCondition::Ready => StateMark::new(Glyph::Wait, Tone::Off, states::READY),
            TaskCondition::Working => StateMark::new(Glyph::Work, Tone::Work, states::COPYING),
            TaskCondition::Done => StateMark::new(Glyph::Done, Tone::Ok, states::DONE),
            TaskCondition::Failed => StateMark::new(Glyph::Down, Tone::Bad, states::FAILED),
            TaskCondition::TimedOut => StateMark::new(Glyph::Down, Tone::Bad, states::TIMED_OUT),
            TaskCondition::Cancelled => StateMark::new(Glyph::Off, Tone::Off, states::CANCELLED),
        }
    }

    /// The task is not ended.
    pub const fn is_open(self) -> bool {
        matches!(self, TaskCondition::Ready | TaskCondition::Working)
    }

    /// The task ended without its file.
    pub const fn has_failed(self) -> bool {
        matches!(self, TaskCondition::Failed | TaskCondition::TimedOut)
    }
}

/// The side that a failure is blamed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlamedSide {
    /// The host that serves the file.
    Source,
    /// The host that gets the file.
    Destination,
    /// The file itself, such as an unreadable master.
    File,
}

impl BlamedSide {
    /// The word.
    pub const fn words(self) -> Text {
        match self {
            BlamedSide::Source => tasks::BLAMED_SOURCE,
            BlamedSide::Destination => tasks::BLAMED_DESTINATION,
            BlamedSide::File => tasks::BLAMED_FILE,
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, Default)]
pub struct TaskLine {
    /// Number.
    pub id: String,
    /// File, hosts, size and progress.
    pub copy: CopyLine,
    /// State.
    pub condition: TaskCondition,
    /// When it was planned.
    pub created: Moment,
    /// Why it ended, in the words of the node; empty for none.
    pub reason: String,
}

/// Failures with the same cause.
#[derive(Clone, Debug, Default)]
pub struct FailureCause {
    /// Key of the cause in addresses.
    pub key: String,
    /// Failed copies.
    pub copies: u64,
    /// The cause in the words of the node.
    pub cause: String,
    /// The side that is blamed.
    pub blamed: Option<BlamedSide>,
    /// The host that is blamed, if it is one.
    pub host: Option<String>,
    /// Number of files with such a failure.
    pub files: u64,
    /// First failure.
    pub first: Moment,
    /// Last failure.
    pub last: Moment,
    /// Failures over the hour, oldest first; empty if not counted.
    pub curve: Vec<f32>,
    /// Copies that can be retried.
    pub retryable: u64,
}

/// Tasks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskTotals {
    /// All in the history of the node.
    pub all: u64,
    /// Tasks whose bytes are copied now.
    pub working: u64,
    /// Tasks that are planned and have not begun.
    pub ready: u64,
    /// Files that wait for a task.
    pub waiting: u64,
    /// Failed, in the history of the node.
    pub failed: u64,
    /// Done, in the history of the node.
    pub done: u64,
    /// Cancelled, in the history of the node.
    pub cancelled: u64,
    /// Done in the last hour.
    pub done_lately: u64,
    /// Failed in the last hour.
    pub failed_lately: u64,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct TasksPageModel {
    /// Tasks by state.
    pub totals: TaskTotals,
    /// Failures of the last hour by cause, most copies first.
    pub causes: Vec<FailureCause>,
    /// Rows of this page.
    pub rows: Vec<TaskLine>,
    /// Position of the page.
    pub page: RowPage,
    /// Hosts of the menu.
    pub hosts: Vec<String>,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
    /// Facts of the panel "Why?".
    pub why: Option<WhyFile>,
}
