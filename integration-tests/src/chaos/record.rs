//! The acknowledged requests of all clients in time, and the first violation.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Everything that all histories share.
#[derive(Debug, Default)]
pub struct ChaosRecord(Mutex<RecordedMoments>);

#[derive(Debug, Default)]
struct RecordedMoments {
    acknowledged: Vec<Instant>,
    violation: Option<String>,
}

impl ChaosRecord {
    /// A change was acknowledged.
    pub fn acknowledge(&self) {
        self.lock().acknowledged.push(Instant::now());
    }

    /// An answer breaks a rule, as `text` says. The first one is kept.
    pub fn violates(&self, text: String) {
        self.lock().violation.get_or_insert(text);
    }

    /// The first violation.
    pub fn violation(&self) -> Option<String> {
        self.lock().violation.clone()
    }

    /// Number of acknowledged changes.
    pub fn acknowledged(&self) -> usize {
        self.lock().acknowledged.len()
    }

    /// The longest time without an acknowledged change from `from` on, until now.
    pub fn pause_since(&self, from: Instant) -> Duration {
        let now = self.lock();
        let later = now.acknowledged.iter().rev().take_while(|at| **at >= from);
        let mut moments: Vec<Instant> = later.copied().collect();
        moments.extend([from, Instant::now()]);
        moments.sort();
        moments.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, RecordedMoments> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
