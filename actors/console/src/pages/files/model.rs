//! The facts of the table of files.

use crate::format::FileText;
use crate::pages::why::WhyFile;
use crate::parts::dialog::AskDialog;
use crate::parts::icon::Glyph;
use crate::parts::mark::{StateMark, Tone};
use crate::parts::table::RowPage;
use crate::text::states;

macro_rules! conditions {
    ($($(#[$doc:meta])* $name:ident = $word:literal, $glyph:ident, $tone:ident, $text:ident;)+) => {
        /// The state of a file, in the words of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum FileCondition { $($(#[$doc])* $name,)+ }

        impl FileCondition {
            /// Every state.
            pub const ALL: &[FileCondition] = &[$(FileCondition::$name),+];

            /// The value that the API has for this state.
            pub const fn api_word(self) -> &'static str {
                match self { $(FileCondition::$name => $word),+ }
            }

            /// The state with this word of the API.
            pub fn of_api(word: &str) -> Option<FileCondition> {
                FileCondition::ALL.iter().copied().find(|state| state.api_word() == word)
            }

            /// Shape, colour and word.
            pub const fn mark(self) -> StateMark {
                match self {
                    $(FileCondition::$name => StateMark::new(Glyph::$glyph, Tone::$tone, states::$text)),+
                }
            }
        }
    };
}

conditions! {
    /// A host holds it that is not down.
    Placed = "placed", Up, Ok, PLACED;
    /// A task copies it.
    Copying = "copying", Work, Work, COPYING;
    /// In line for a copy.
    Waiting = "waiting", Wait, Off, WAITING;
    /// It backs off after a failure.
    BackingOff = "backing_off", Probation, Warn, BACKING_OFF;
    /// Its name begins with an ignored prefix.
    Ignored = "ignored", Off, Off, IGNORED;
    /// No source has it.
    NoMaster = "no_master", Down, Bad, NO_MASTER;
    /// Its master is no regular file.
    MasterAbsent = "master_absent", Down, Bad, MASTER_ABSENT;
    /// It is listed on a host whose files were not read yet.
    Listed = "listed", Unknown, Off, LISTED;
    /// It is larger than any room.
    TooBig = "too_big", Warn, Warn, TOO_BIG;
    /// No destination has room.
    NoRoom = "no_room", Warn, Warn, NO_ROOM;
    /// Only old hosts have room, and they cannot carry its name.
    NameNotCarried = "name_not_carried", Warn, Warn, NAME_NOT_CARRIED;
    /// It has no grade.
    Ungraded = "ungraded", Off, Off, UNGRADED;
    /// All hosts that hold it are down.
    OutOfReach = "out_of_reach", Down, Bad, OUT_OF_REACH;
}

/// A row of the table.
#[derive(Clone, Debug)]
pub struct FileLine {
    /// As the API writes it, with control characters.
    pub name: FileText,
    /// The name in forms: percent-encoded, any bytes.
    pub key: String,
    /// Place in the ranking, from 1; `None` for a file that is not ranked.
    pub rank: Option<u64>,
    /// State.
    pub condition: FileCondition,
    /// Its recent hits are enough to count as hot.
    pub is_hot: bool,
    /// A person protects its copies from removal.
    pub is_pinned: bool,
    /// Hosts that hold it, and whether each of them is down.
    pub hosts: Vec<(String, bool)>,
    /// Number of all hosts that hold it; `hosts` may have fewer.
    pub hosts_total: u64,
    /// Hits in the last 10 minutes.
    pub hits: u64,
    /// Hits over time, oldest first; empty if the node has no series.
    pub curve: Vec<f32>,
    /// Requests a day, if counted.
    pub requests_a_day: Option<f64>,
    /// Requests a day for each TiB, if counted and the size is known.
    pub score: Option<f64>,
    /// Size in bytes, if known.
    pub size: Option<u64>,
}

/// Files by state, for the sentence and the filter. A state that was not counted is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTotals {
    /// Ranked or hot files.
    pub all: u64,
    /// Files that a host holds that is not down.
    pub placed: u64,
    /// In line.
    pub waiting: u64,
    /// Copied now.
    pub copying: u64,
    /// Files with enough recent hits to count as hot.
    pub hot: u64,
    /// Only on hosts that are down.
    pub out_of_reach: Option<u64>,
    /// With an obstacle that does not end by itself.
    pub problem: Option<u64>,
    /// Files whose names begin with an ignored prefix.
    pub ignored: Option<u64>,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct FilesPageModel {
    /// All files by state.
    pub totals: FileTotals,
    /// Files that match the filter, if they were counted.
    pub matching: Option<u64>,
    /// Rows of this page.
    pub rows: Vec<FileLine>,
    /// Position of the page.
    pub page: RowPage,
    /// Hosts of the menu.
    pub hosts: Vec<String>,
    /// The node has a ranking.
    pub is_set_up: bool,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
    /// Facts of the panel "Why?".
    pub why: Option<WhyFile>,
}
