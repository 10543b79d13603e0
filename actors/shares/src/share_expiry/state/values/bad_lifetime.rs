//! Why the lifetime of a share is refused.

use reelyard_core::clock::Millis;
use reelyard_core::durations::in_words;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The operator does not allow this lifetime.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum BadLifetime {
    /// Shorter than the shortest.
    #[error("a share lasts at least {}", in_words(*.least))]
    TooShort {
        /// The shortest allowed lifetime.
        least: Duration,
    },
    /// The lifetime is too long.
    #[error("a share lasts at most {}", in_words(*.most))]
    TooLong {
        /// The longest allowed lifetime.
        most: Duration,
    },
    /// A share without a deadline is not allowed.
    #[error("a share needs a deadline here, because share.allow_never is false")]
    NeverNotAllowed,
    /// It is after the last instant that can be written.
    #[error("a share ends by {} at the latest: give it an earlier deadline", Millis::LAST)]
    BeyondCalendar,
}
