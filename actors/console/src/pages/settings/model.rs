//! The state of the page Settings, and everything that it shows.

use crate::address::{SortBy, page_query};
use crate::parts::dialog::AskDialog;
use crate::parts::icon::Glyph;
use crate::parts::mark::{StateMark, Tone};
use crate::parts::table::RowPage;
use crate::text::{Text, access};
use crate::viewer::Moment;

page_query! {
    /// Query parameters of the page Settings.
    SettingsPageQuery at "/settings" {
        /// Part of a name or value.
        q: String,
        /// Only settings that differ from their default.
        changed: bool,
        /// Only settings of this section.
        section: String,
        /// Order of the rows; that of the file without it.
        sort: SortBy,
        /// Position of the first row.
        after: String,
        /// Number of the version on record whose changes are shown.
        version: String,
        /// Only versions before this one.
        older: String,
        /// Action whose dialog is open: `revert` or `reload`.
        ask: String,
    }
}

/// The place where the node found a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueOrigin {
    /// Nothing sets it, so the program's own value is in force.
    #[default]
    Default,
    /// The configuration file of the node.
    File,
    /// A variable of the process. It wins over the file.
    Environment,
    /// An option at the start of the program. It wins over the file.
    CommandLine,
    /// The settings that the cluster has on record. They win over all others.
    Record,
}

impl ValueOrigin {
    pub(super) const fn words(self) -> (Text, Tone) {
        match self {
            ValueOrigin::Default => (access::FROM_DEFAULT, Tone::Plain),
            ValueOrigin::File => (access::FROM_FILE, Tone::Work),
            ValueOrigin::Environment => (access::FROM_ENVIRONMENT, Tone::Hold),
            ValueOrigin::CommandLine => (access::FROM_LINE, Tone::Hold),
            ValueOrigin::Record => (access::FROM_RECORD, Tone::Hold),
        }
    }
}

/// A row of the table of settings.
#[derive(Clone, Debug, Default)]
pub struct SettingLine {
    /// Section, such as "storage".
    pub section: String,
    /// Name within the section.
    pub name: String,
    /// Its purpose, in the language of the page.
    pub meaning: String,
    /// Value in force; `None` if it is not set.
    pub value: Option<String>,
    /// The value is a secret and is never shown.
    pub is_secret: bool,
    /// Origin of the value.
    pub origin: ValueOrigin,
    /// Default; `None` if it has none.
    pub default: Option<String>,
    /// A change needs a restart.
    pub needs_restart: bool,
    /// All nodes of the cluster need the same value.
    pub is_for_all_nodes: bool,
    /// The settings on record decide about it.
    pub is_on_record: bool,
}

/// When a change takes effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingEffect {
    /// When the node reads its file again.
    #[default]
    AtReload,
    /// When it comes on record.
    OnRecord,
    /// At the next start of the process.
    AfterRestart,
    /// Never: the settings on record decide.
    Never,
}

/// A difference between two values of a setting.
#[derive(Clone, Debug, Default)]
pub struct SettingDifference {
    /// Section and name.
    pub setting: String,
    /// Value before: the one in force, or that of the version before.
    pub before: String,
    /// Value after: the one in the file, or that of the version.
    pub after: String,
    /// The purpose of the setting.
    pub meaning: String,
    /// Effect of the change, with figures of this moment; empty where none are known.
    pub consequence: String,
    /// When it takes effect.
    pub effect: SettingEffect,
    /// All nodes of the cluster need the same value.
    pub is_for_all_nodes: bool,
}

/// The state of an input file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputCondition {
    /// No setting names a file.
    #[default]
    Unset,
    /// It is read and up to date.
    Good,
    /// It was not read yet.
    Pending,
    /// A program is writing it.
    Changing,
    /// It does not exist.
    Missing,
    /// It cannot be read.
    Unreadable,
}

impl InputCondition {
    /// Shape, colour and word.
    pub const fn mark(self) -> StateMark {
        match self {
            InputCondition::Unset => StateMark::new(Glyph::Unknown, Tone::Off, access::INPUT_UNSET),
            InputCondition::Good => StateMark::new(Glyph::Up, Tone::Ok, access::INPUT_GOOD),
            InputCondition::Pending => {
                StateMark::new(Glyph::Wait, Tone::Plain, access::INPUT_PENDING)
            }
            InputCondition::Changing => {
                StateMark::new(Glyph::Work, Tone::Work, access::INPUT_CHANGING)
            }
            InputCondition::Missing => {
                StateMark::new(Glyph::Down, Tone::Bad, access::INPUT_MISSING)
            }
            InputCondition::Unreadable => {
                StateMark::new(Glyph::Down, Tone::Bad, access::INPUT_UNREADABLE)
            }
        }
    }
}

/// An input file of the node.
#[derive(Clone, Debug, Default)]
pub struct InputFileLine {
    /// The setting that names it.
    pub setting: String,
    /// Path on the node's disk, as the setting has it.
    pub path: String,
    /// State.
    pub condition: InputCondition,
    /// Details in the words of the node; empty for none.
    pub detail: String,
    /// When it was read.
    pub read: Option<Moment>,
    /// Lines.
    pub rows: u64,
    /// Lines that cannot be read.
    pub bad_rows: u64,
}

/// The versions on record.
#[derive(Clone, Debug, Default)]
pub struct SettingsRecord {
    /// The version in force.
    pub newest: u64,
    /// Versions of this part of the list, newest first.
    pub versions: Vec<RecordedVersion>,
    /// Position in the list.
    pub page: RowPage,
    /// The changes of the version that the address names.
    pub shown: Option<VersionChanges>,
    /// Path of the configuration file of this node, or an example.
    pub file: String,
}

/// A row of the list.
#[derive(Clone, Debug, Default)]
pub struct RecordedVersion {
    /// Its number, from 1.
    pub number: u64,
    /// When it was recorded.
    pub at: Moment,
    /// The person or program that recorded it.
    pub by: String,
    /// The reason; empty if none was given.
    pub reason: String,
}

/// The changes that a version made on the one before.
#[derive(Clone, Debug, Default)]
pub struct VersionChanges {
    /// The version that made them.
    pub number: u64,
    /// The version before. None if it is not kept any more.
    pub before: Option<u64>,
    /// The changes on this node.
    pub changes: Vec<SettingDifference>,
    /// Why they cannot be found: the version does not go with this program or this node.
    pub unusable: Option<String>,
}

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub struct SettingsPageModel {
    /// Settings of this page, by section unless they are sorted by a column.
    pub settings: Vec<SettingLine>,
    /// Position of the page.
    pub page: RowPage,
    /// Names of the menu, such as "storage".
    pub sections: Vec<String>,
    /// All settings.
    pub total: u64,
    /// Settings that differ from their default.
    pub changed: u64,
    /// Differences of the file.
    pub differences: Vec<SettingDifference>,
    /// The settings on record, if this node follows a record.
    pub record: Option<SettingsRecord>,
    /// Dialog of an action.
    pub ask: Option<AskDialog>,
    /// Path of the configuration file on the node, if there is one.
    pub file: Option<String>,
    /// Why the file cannot be used, if it cannot.
    pub unusable: Option<String>,
    /// Files that settings name, such as the ranking.
    pub inputs: Vec<InputFileLine>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_gives_back_its_state() {
        let query = SettingsPageQuery {
            q: "limit = 90".into(),
            changed: true,
            version: "7".into(),
            older: "9".into(),
            ask: "revert".into(),
            section: "storage".into(),
            sort: SortBy::descending("origin"),
            after: "100".into(),
        };
        assert_eq!(SettingsPageQuery::parse(query.address().split_once('?').unwrap().1), query);
    }
}
