//! The last use of a token or session, which readers record without a commit.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Millis;

use reelyard_core::address_range::CallerAddress;

/// Uses within this time count as one, so that a busy token costs readers no lock. No event depends on it.
const RESOLUTION: Duration = Duration::from_secs(1);

/// A use, with the caller's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUse {
    /// When the credential was checked.
    pub at: Millis,
    /// The address of the caller.
    pub address: CallerAddress,
}

/// The last use in this process. It is no part of the piece: `apply` neither reads nor changes it.
#[derive(Debug)]
pub(in crate::access) struct UseCell {
    /// The time of the last use in milliseconds; the least number before the first one.
    at: AtomicI64,
    address: Mutex<Option<CallerAddress>>,
    /// Whether the use waits to be recorded in the journal.
    is_queued: AtomicBool,
}

impl Default for UseCell {
    fn default() -> Self {
        UseCell {
            at: AtomicI64::new(i64::MIN),
            address: Mutex::default(),
            is_queued: AtomicBool::default(),
        }
    }
}

impl UseCell {
    /// Records a use. `recorded` is the use in the journal. Returns whether the new one is to be queued: it is at
    /// least `gap` later, and none is queued.
    pub(in crate::access) fn record(
        &self,
        last: LastUse,
        recorded: Option<Millis>,
        gap: Duration,
    ) -> bool {
        let before = Millis(self.at.load(Ordering::Relaxed));
        if last.at >= before && last.at.since(before) < RESOLUTION {
            return false;
        }
        *self.address.lock().unwrap_or_else(PoisonError::into_inner) = Some(last.address);
        self.at.store(last.at.0, Ordering::Relaxed);
        let is_due = recorded.is_none_or(|recorded| last.at >= recorded.after(gap));
        is_due && !self.is_queued.swap(true, Ordering::Relaxed)
    }

    /// The last use in this process.
    pub(in crate::access) fn last(&self) -> Option<LastUse> {
        let address = *self.address.lock().unwrap_or_else(PoisonError::into_inner);
        let at = Millis(self.at.load(Ordering::Relaxed));
        address.map(|address| LastUse { at, address })
    }

    /// Takes the queued use.
    pub(in crate::access) fn take_queued(&self) -> Option<LastUse> {
        self.is_queued.store(false, Ordering::Relaxed);
        self.last()
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn used(at: i64, last: u8) -> LastUse {
        LastUse { at: Millis(at), address: IpAddr::from([10, 0, 0, last]).into() }
    }

    #[test]
    fn a_use_is_queued_once_until_it_is_taken() {
        let cell = UseCell::default();
        assert_eq!(cell.last(), None);
        assert!(cell.record(used(5000, 1), None, HOUR));
        assert!(!cell.record(used(7000, 2), None, HOUR), "one is queued");
        assert!(!cell.record(used(7900, 3), None, HOUR), "within the resolution");
        assert_eq!(cell.take_queued(), Some(used(7000, 2)));
        assert!(!cell.record(used(9000, 3), Some(Millis(7000)), HOUR), "within the gap");
        assert!(cell.record(used(7000 + 3_600_000, 4), Some(Millis(7000)), HOUR));
    }

    #[test]
    fn a_clock_that_steps_back_does_not_hide_uses() {
        let cell = UseCell::default();
        cell.record(used(1_000_000, 1), None, HOUR);
        cell.record(used(4000, 2), None, HOUR);
        assert_eq!(cell.last(), Some(used(4000, 2)));
    }
}
