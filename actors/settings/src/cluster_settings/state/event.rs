//! The events of the piece, with their outcomes and refusals.

use serde::{Deserialize, Serialize};

use super::constants::{LONGEST_REASON_OF_CHANGE, LONGEST_TEXT};
use super::settings_text::SettingsText;

/// One event. Postcard numbers the variants in this order: new ones must be added at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SettingsEvent {
    /// A part of the text of a version. The first part begins another version.
    PartAdded {
        /// The number of the version.
        version: u64,
        /// The number of the part, from 0.
        part: u32,
        /// The part.
        text: SettingsText,
    },
    /// The parts are the newest version from now on.
    Recorded {
        /// The number of the version.
        version: u64,
        /// The number of its parts.
        parts: u32,
        /// The caller, for the history.
        by: String,
        /// The reason.
        why: String,
    },
}

/// The result of an applied event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SettingsOutcome {
    /// The part is kept.
    PartAdded,
    /// The version is on record.
    Recorded,
}

/// Why settings are not recorded. Postcard numbers the variants in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum SettingsRefusal {
    /// Another version was recorded after the one that the sender saw.
    #[error(
        "the newest settings on record are version {newest}, not version {seen}: look at their difference, and \
         apply again"
    )]
    NotTheNewest {
        /// The newest version.
        newest: u64,
        /// The version that the sender saw.
        seen: u64,
    },
    /// Parts of the text are missing.
    #[error("version {version} is not complete: apply the settings again")]
    Incomplete {
        /// The version without all of its parts.
        version: u64,
    },
    /// Another change is being recorded.
    #[error("another change of the settings is being recorded: apply again in a moment")]
    UnderWay,
    /// The text is too long.
    #[error("the settings have {bytes} bytes, and at most {LONGEST_TEXT} can be recorded")]
    TooLong {
        /// The bytes of the text.
        bytes: u64,
    },
    /// A version keeps only shorter reasons.
    #[error("the reason has {bytes} bytes, and at most {LONGEST_REASON_OF_CHANGE} are allowed")]
    ReasonTooLong {
        /// The bytes of the reason.
        bytes: u64,
    },
}
