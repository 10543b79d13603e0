//! Limits log lines: one for each subject and minute.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shortest time between two lines about one subject.
const LOG_EVERY: Duration = Duration::from_secs(60);

/// The last line about each subject. The caller bounds the number of subjects.
#[derive(Debug)]
pub struct LogLimit<K>(Mutex<HashMap<K, LoggedSubject>>);

#[derive(Debug)]
struct LoggedSubject {
    at: Instant,
    /// Events without a line since then.
    silent: u64,
}

impl<K> Default for LogLimit<K> {
    fn default() -> Self {
        LogLimit(Mutex::default())
    }
}

impl<K: Eq + Hash> LogLimit<K> {
    /// The number of earlier events without a line, if this event gets one.
    pub fn admit(&self, subject: K, now: Instant) -> Option<u64> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match lines.get_mut(&subject) {
            Some(last) if now.saturating_duration_since(last.at) < LOG_EVERY => {
                last.silent += 1;
                None
            }
            Some(last) => {
                last.at = now;
                Some(std::mem::take(&mut last.silent))
            }
            None => {
                lines.insert(subject, LoggedSubject { at: now, silent: 0 });
                Some(0)
            }
        }
    }

    /// The next event of this subject gets a line.
    pub fn release(&self, subject: &K) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(subject);
    }

    /// The events without a line are over, and do not count any more.
    pub fn forget(&self, subject: &K) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = lines.get_mut(subject) {
            last.silent = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_gets_one_line_a_minute() {
        let (limit, start) = (LogLimit::default(), Instant::now());
        assert_eq!(limit.admit("a", start), Some(0));
        for _ in 0..1000 {
            assert_eq!(limit.admit("a", start + LOG_EVERY / 2), None);
        }
        assert_eq!(limit.admit("b", start), Some(0));
        assert_eq!(limit.admit("a", start + LOG_EVERY), Some(1000));
        assert_eq!(limit.admit("a", start + LOG_EVERY * 2), Some(0));
        assert_eq!(limit.admit("a", start + LOG_EVERY * 2), None);
        limit.forget(&"a");
        assert_eq!(limit.admit("a", start + LOG_EVERY * 3), Some(0));
        limit.release(&"a");
        assert_eq!(limit.admit("a", start + LOG_EVERY * 3), Some(0));
    }
}
