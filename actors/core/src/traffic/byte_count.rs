//! A counter of bytes that many threads share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes counted by one and read by another. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct ByteCount(Arc<AtomicU64>);

impl ByteCount {
    /// Adds `bytes` to the count.
    pub fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }

    /// How many so far.
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
