//! "Whoever is to blame for a failure backs off", and never longer than the cap.

use std::time::Duration;

use reelyard_core::clock::Millis;
use reelyard_yard::task_manager::BackingOff;

use super::InvariantCheck;

/// Its name.
pub const NAME: &str = "back-off";

/// Somebody backs off from `at` on.
pub fn check(back_off: &BackingOff, at: Millis, cap: Duration) -> InvariantCheck {
    let lasts = back_off.until.since(at);
    let told = || format!("{} backs off for {lasts:?}", back_off.blamed);
    (NAME, if lasts > cap { Err(told()) } else { Ok(()) })
}
