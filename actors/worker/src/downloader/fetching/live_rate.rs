//! The rate of a running copy, which can be changed from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use reelyard_core::host::BitsPerSecond;

/// The current rate of one copy. Clones share it.
#[derive(Clone, Debug)]
pub struct LiveRate(Arc<AtomicU64>);

/// The stored form of "no limit", because no rate is 0.
const NO_LIMIT: u64 = 0;

impl LiveRate {
    /// A shared rate that starts with `rate`.
    pub fn at(rate: Option<BitsPerSecond>) -> Self {
        LiveRate(Arc::new(AtomicU64::new(number(rate))))
    }

    /// Sets the rate for all later reads. Answers whether it changed.
    pub fn set(&self, rate: Option<BitsPerSecond>) -> bool {
        self.0.swap(number(rate), Ordering::Relaxed) != number(rate)
    }

    /// The current rate.
    pub fn rate(&self) -> Option<BitsPerSecond> {
        match self.0.load(Ordering::Relaxed) {
            NO_LIMIT => None,
            rate => Some(BitsPerSecond(rate)),
        }
    }
}

fn number(rate: Option<BitsPerSecond>) -> u64 {
    rate.map_or(NO_LIMIT, |rate| rate.0.max(1))
}
