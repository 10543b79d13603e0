//! The constants that `apply` uses.
//!
//! **Invariant:** they are part of the version of the events: every node and every replay of the log uses
//! the same values. Another value needs a new event that contains it, and `apply` keeps the old value for
//! the old event.

use std::time::Duration;

/// How many clients of one share may resume a download without counting again: the last ones.
/// Part of the event version.
pub(in crate::share_expiry) const MOST_TAKERS: usize = 10_000;

/// How long a counted download is remembered. No client repeats its request for longer.
/// Part of the event version.
pub(in crate::share_expiry) const DOWNLOAD_REMEMBERED_FOR: Duration = Duration::from_secs(60);

/// How many moves may run at a time, because readers examine all of them. Part of the event version.
pub(in crate::share_expiry) const MOST_MOVES: usize = 32;
