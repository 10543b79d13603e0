//! The state of a share at a moment.

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

use crate::share_expiry::state::table::share::Share;

/// The state of a share that has not ended.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ShareState {
    /// The link works.
    Live,
    /// Its last download was counted: only clients with a counted download may resume.
    Exhausted,
    /// It is due: it is refused, and will be reclaimed soon.
    Due,
}

impl Share {
    /// The state at `now`.
    pub fn state(&self, now: Millis) -> ShareState {
        match (self.is_live(now), self.exhausted()) {
            (false, _) => ShareState::Due,
            (true, Some(_)) => ShareState::Exhausted,
            (true, None) => ShareState::Live,
        }
    }
}
