//! The party that caused a failure backs off, and never longer than the cap.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_yard::task_manager::BackingOff;

use crate::simulation::invariants::InvariantCheck;

/// The name of the invariant in a violation.
pub const NAME: &str = "back-off";

/// Checks a backoff that begins at `at`.
pub fn check(back_off: &BackingOff, at: Millis, cap: Duration) -> InvariantCheck {
    let lasts = back_off.until.since(at);
    let message_of = || format!("{} backs off for {lasts:?}", back_off.blamed);
    (NAME, if lasts > cap { Err(message_of()) } else { Ok(()) })
}
