//! How much time has passed by a clock that may be set back.

use std::time::Duration;

use super::clock::Millis;

/// An instant, and the time that a clock has advanced from its first reading until then. A backward step
/// counts as no time. So an entry lives exactly its full time, even if the clock was years ahead when the
/// entry was added. Part of the event version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ElapsedTime {
    at: Millis,
    passed: Duration,
}

impl ElapsedTime {
    /// Starts at the time of the first look.
    pub fn from(at: Millis) -> Self {
        ElapsedTime { at, passed: Duration::ZERO }
    }

    /// The next reading, at an instant that may be before this one.
    pub fn advance_to(self, at: Millis) -> Self {
        ElapsedTime { at, passed: self.passed.saturating_add(at.since(self.at)) }
    }

    /// The elapsed time since an earlier look.
    pub fn since(self, earlier: ElapsedTime) -> Duration {
        self.passed.saturating_sub(earlier.passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_forward_only() {
        let first = ElapsedTime::from(Millis(1000));
        let later = first.advance_to(Millis(1300));
        let set_back = later.advance_to(Millis(10));
        let last = set_back.advance_to(Millis(40));
        let passed = [first, later, set_back, last].map(|look| look.since(first).as_millis());
        assert_eq!(passed, [0, 300, 300, 330]);
        assert_eq!(first.since(last), Duration::ZERO);
    }
}
