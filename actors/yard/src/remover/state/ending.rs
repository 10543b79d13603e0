//! How a removal ended. Pure.

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

/// The end of a removal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = RemovalEnding)]
pub enum Ending {
    /// The host removed it.
    Removed,
    /// It did not exist, or its host no longer lists it.
    Absent,
    /// The host was not called, and will not be called: the removal has no effect.
    NotAsked {
        /// Why the host was not called, in words.
        why: String,
    },
    /// The host refused.
    Refused {
        /// The reason that the host gave, in words.
        why: String,
    },
    /// The call had no clear result, and the host listed the copy afterwards. The call may still arrive:
    /// until `doubted_until` this copy does not justify the removal of another.
    StillThere {
        /// The end of the doubt about the copy.
        doubted_until: Millis,
    },
}

impl Ending {
    /// In words, for people.
    pub fn words(&self) -> String {
        match self {
            Ending::Removed => "removed".to_owned(),
            Ending::Absent => "was not there".to_owned(),
            Ending::NotAsked { why } => format!("not removed: {why}"),
            Ending::Refused { why } => format!("refused by its host: {why}"),
            Ending::StillThere { .. } => "not removed: it is still there".to_owned(),
        }
    }

    /// Whether the copy was removed.
    pub fn is_gone(&self) -> bool {
        matches!(self, Ending::Removed | Ending::Absent)
    }
}
