//! How many new names a host may add to the name table, over all of its lists. Pure.
//!
//! Each list is limited in length. A host that lists other names each time stays below that limit and
//! would still fill the name table. This limits the rate.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reelyard_core::clock::Millis;

use crate::inventory::limits::{BadList, ListLimits};

/// In this time a host may list as many new names as one list may hold.
const REFILLED_IN: Duration = Duration::from_secs(60 * 60);

/// The number of new names that one host may still add. Clones share it.
#[derive(Clone, Debug)]
pub struct NewNameLimiter {
    left: Arc<Mutex<NewNameAllowance>>,
}

/// Both are counted in parts: one unit has as many parts as an hour has milliseconds. So rounding
/// loses nothing, however often the allowance is raised.
#[derive(Clone, Copy, Debug)]
struct NewNameAllowance {
    names: u128,
    bytes: u128,
    raised: Millis,
}

/// The number of parts of this many units.
fn parts(of: u64) -> u128 {
    u128::from(of) * REFILLED_IN.as_millis()
}

impl NewNameLimiter {
    /// A full allowance: as much as one list may hold.
    pub fn full(limits: ListLimits, now: Millis) -> Self {
        let (names, bytes) = (parts(limits.files), parts(limits.name_bytes));
        let left = NewNameAllowance { names, bytes, raised: now };
        NewNameLimiter { left: Arc::new(Mutex::new(left)) }
    }

    /// Raises the allowance for the time that has passed, up to `limits`.
    pub fn raise(&self, limits: ListLimits, now: Millis) {
        let mut left = self.lock();
        let passed = now.since(left.raised).min(REFILLED_IN).as_millis();
        let raised = |left: u128, most: u64| (left + u128::from(most) * passed).min(parts(most));
        left.names = raised(left.names, limits.files);
        left.bytes = raised(left.bytes, limits.name_bytes);
        left.raised = now;
    }

    /// Takes `names` new names of `bytes` bytes in all.
    ///
    /// # Errors
    /// `TooManyNew` if the host may not list that many. Then none of them may be added.
    pub fn count(&self, names: u64, bytes: u64) -> Result<(), BadList> {
        let mut left = self.lock();
        let after = left.names.checked_sub(parts(names)).zip(left.bytes.checked_sub(parts(bytes)));
        let (names, bytes) = after.ok_or(BadList::TooManyNew)?;
        (left.names, left.bytes) = (names, bytes);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, NewNameAllowance> {
        // The numbers are consistent whenever the lock is free.
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_of_new_names_refills_within_an_hour() {
        let limits = ListLimits { files: 100, name_bytes: 1000 };
        let allowance = NewNameLimiter::full(limits, Millis(0));
        assert_eq!(allowance.count(100, 900), Ok(()));
        assert_eq!(allowance.count(1, 9), Err(BadList::TooManyNew));
        allowance.raise(limits, Millis(1_800_000));
        assert_eq!(allowance.count(51, 1), Err(BadList::TooManyNew), "half of it came back");
        assert_eq!(allowance.count(1, 601), Err(BadList::TooManyNew));
        assert_eq!(allowance.count(50, 600), Ok(()));
        // Looks in quick succession lose none of it, and a clock that is set back stops nothing.
        (1_800_000..=1_872_000).for_each(|now| allowance.raise(limits, Millis(now)));
        assert_eq!(allowance.count(2, 0), Ok(()));
        allowance.raise(limits, Millis(0));
        allowance.raise(limits, Millis(7_200_000));
        assert_eq!(allowance.count(100, 1000), Ok(()));
    }
}
