//! How many files a host may add to its known files, over all of its lists. Pure.
//!
//! Each list is limited in length. A host whose files come and go stays below that limit, but its lists
//! fill the name table and the journal. This limits the rate. Removed files need no limit, because each
//! of them was added before.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Millis;

use crate::inventory::limits::ListLimits;

/// A host may add as many files in this time as one list may hold.
const FULL_LIST_EACH: Duration = Duration::from_secs(60 * 60);

/// Counts the files that one host added. Clones share the count.
///
/// A list may add files while the count is below the length of a full list. The list itself may exceed
/// that, so a host with long lists waits no longer than the others. The count falls with time.
#[derive(Clone, Debug)]
pub struct AdditionLimiter {
    recent: Arc<Mutex<RecentAdditions>>,
}

/// Both numbers are counted in parts: one unit has as many parts as an hour has milliseconds. So rounding
/// loses nothing, however often they are lowered.
#[derive(Clone, Copy, Debug)]
struct RecentAdditions {
    files: u128,
    name_bytes: u128,
    lowered: Millis,
}

/// The number of parts of this many units.
fn parts(of: u64) -> u128 {
    u128::from(of) * FULL_LIST_EACH.as_millis()
}

impl AdditionLimiter {
    /// For a host that added nothing yet.
    pub fn new(now: Millis) -> Self {
        let recent = RecentAdditions { files: 0, name_bytes: 0, lowered: now };
        AdditionLimiter { recent: Arc::new(Mutex::new(recent)) }
    }

    /// Lowers the count for the time that has passed.
    pub fn lower(&self, limits: ListLimits, now: Millis) {
        let mut recent = self.lock();
        let passed = now.since(recent.lowered).as_millis();
        recent.files = recent.files.saturating_sub(u128::from(limits.files) * passed);
        recent.name_bytes =
            recent.name_bytes.saturating_sub(u128::from(limits.name_bytes) * passed);
        recent.lowered = now;
    }

    /// Whether the next list may add files.
    pub fn allows_more(&self, limits: ListLimits) -> bool {
        let recent = self.lock();
        recent.files < parts(limits.files) && recent.name_bytes < parts(limits.name_bytes)
    }

    /// Counts `files` added files whose names have `name_bytes` bytes in all.
    pub fn count(&self, files: u64, name_bytes: u64) {
        let mut recent = self.lock();
        recent.files = recent.files.saturating_add(parts(files));
        recent.name_bytes = recent.name_bytes.saturating_add(parts(name_bytes));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, RecentAdditions> {
        // The numbers are consistent whenever the lock is free.
        self.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn a_host_may_add_a_full_list_an_hour() {
        let limits = ListLimits { files: 100, name_bytes: 1000 };
        let limiter = AdditionLimiter::new(Millis(0));
        limiter.count(99, 900);
        assert!(limiter.allows_more(limits));
        limiter.count(100, 50);
        assert!(!limiter.allows_more(limits), "199 files");
        limiter.lower(limits, Millis(HOUR - 40_000));
        assert!(!limiter.allows_more(limits), "an hour is not over");
        // Steps in quick succession lose no time.
        for now in HOUR - 40_000..=HOUR {
            limiter.lower(limits, Millis(now));
        }
        assert!(limiter.allows_more(limits), "99 files");
        limiter.count(0, 1000);
        assert!(!limiter.allows_more(limits), "the bytes of the names count too");
        // A clock that is set back lowers nothing and stops nothing.
        limiter.lower(limits, Millis(0));
        assert!(!limiter.allows_more(limits));
        limiter.lower(limits, Millis(2 * HOUR));
        assert!(limiter.allows_more(limits));
    }
}
