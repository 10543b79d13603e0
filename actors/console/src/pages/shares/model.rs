//! The facts of the page Shares.

use crate::parts::act::CommandLines;
use crate::parts::dialog::AskDialog;
use crate::parts::icon::Glyph;
use crate::parts::mark::{StateMark, Tone};
use crate::parts::table::RowPage;
use crate::parts::timeline::EndColumn;
use crate::text::states;
use crate::viewer::Moment;

/// The state of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareCondition {
    /// Downloads are possible.
    #[default]
    Works,
    /// Its end has passed.
    Ended,
    /// It was revoked.
    Revoked,
    /// All its downloads were used.
    UsedUp,
}

impl ShareCondition {
    /// Shape, colour and word.
    pub const fn mark(self) -> StateMark {
        match self {
            ShareCondition::Works => StateMark::new(Glyph::Up, Tone::Ok, states::SHARE_WORKS),
            ShareCondition::Ended => StateMark::new(Glyph::Off, Tone::Off, states::SHARE_ENDED),
            ShareCondition::Revoked => {
                StateMark::new(Glyph::Gone, Tone::Hold, states::SHARE_REVOKED)
            }
            ShareCondition::UsedUp => StateMark::new(Glyph::Off, Tone::Off, states::SHARE_USED_UP),
        }
    }
}

/// A row of the table.
#[derive(Clone, Debug, Default)]
pub struct ShareLine {
    /// Number.
    pub id: String,
    /// Path of the file or directory.
    pub path: String,
    /// The link gives out all files below its path.
    pub is_directory: bool,
    /// State.
    pub condition: ShareCondition,
    /// End. `None` for a link without one.
    pub ends: Option<Moment>,
    /// Downloads so far.
    pub downloads: u64,
    /// Downloads at most.
    pub most: Option<u64>,
    /// Owner; empty for none.
    pub owner: String,
    /// It asks for a password.
    pub has_password: bool,
    /// The whole address of the link, if the viewer may see it.
    pub address: Option<String>,
}

/// Links by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShareTotals {
    /// They work.
    pub working: u64,
    /// They end within 24 hours.
    pub due: u64,
    /// They ended and are still known.
    pub ended: u64,
    /// Webhooks.
    pub hooks: u64,
    /// Webhooks that fail.
    pub failing_hooks: u64,
}

/// The result of a look at the path of a new link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum FoundPath {
    /// Nobody looked.
    #[default]
    NotLooked,
    /// A file with this many bytes.
    File(u64),
    /// The link gives out everything below it.
    Directory,
    /// It cannot be shared, with the reason in the words of the node.
    Refused(String),
}

/// The values typed for a new link, and the node's answer to them.
#[derive(Clone, Debug, Default)]
pub struct NewLink {
    /// Name of the request of this form: a form that is sent again makes no second link.
    pub request_id: String,
    /// Path below the root of shares, of a file or directory.
    pub path: String,
    /// Lifetime, such as "7d". Empty for the default.
    pub ttl: String,
    /// The default lifetime in seconds.
    pub default_seconds: u64,
    /// Downloads at most.
    pub most: String,
    /// The person or program that answers for the link; empty for none.
    pub owner: String,
    /// Remark that the page of the link shows; empty for none.
    pub note: String,
    /// A password was typed. It is not kept.
    pub has_password: bool,
    /// The file or directory at the path.
    pub found: FoundPath,
    /// The kind of problem for which the link was refused, and the reason.
    pub refused: Option<(String, String)>,
    /// The address of the link that was made.
    pub made: Option<String>,
    /// The end of the link that was made.
    pub ends: Option<Moment>,
    /// QR code of the link that was made: path data of an SVG, and its side in modules.
    pub qr: Option<(String, u64)>,
    /// The same as command lines.
    pub commands: CommandLines,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct SharesPageModel {
    /// The first failing webhooks, each with its last failure in the words of the node.
    pub failing_hooks: Vec<(String, String)>,
    /// No directory is named that links could give out.
    pub has_no_root: bool,
    /// Links by state.
    pub totals: ShareTotals,
    /// The next end.
    pub next_due: Option<Moment>,
    /// Links that end in each column of the time line.
    pub columns: Vec<EndColumn>,
    /// The largest number of links that end at the same time, and when.
    pub peak: Option<(Moment, u64)>,
    /// Begin and end of the column of the time line whose links are shown.
    pub due_span: Option<(Moment, Moment)>,
    /// Rows of this page.
    pub rows: Vec<ShareLine>,
    /// Position of the page.
    pub page: RowPage,
    /// The panel of a new link.
    pub new: Option<NewLink>,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
}
