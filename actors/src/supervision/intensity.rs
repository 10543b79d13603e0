//! When to restart, and when to give up.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How failures are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// How long the first restart waits. Each further one within the window waits twice as long.
    pub first_delay: Duration,
    /// The longest that a restart waits.
    pub longest_delay: Duration,
    /// As many failures as this within the window are too many: the last is not followed by a
    /// restart.
    pub too_many: usize,
    /// How long a failure counts.
    pub window: Duration,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        RestartPolicy {
            first_delay: Duration::from_millis(100),
            longest_delay: Duration::from_secs(5),
            too_many: 3,
            window: Duration::from_secs(60),
        }
    }
}

/// What follows a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    RestartAfter(Duration),
    GiveUp,
}

/// The failures that still count.
#[derive(Debug, Default)]
pub(super) struct Failures {
    recent: VecDeque<Instant>,
}

impl Failures {
    /// Takes note of a failure and says what follows.
    pub(super) fn note(&mut self, policy: &RestartPolicy, now: Instant) -> Verdict {
        while self.recent.front().is_some_and(|&at| now.duration_since(at) >= policy.window) {
            self.recent.pop_front();
        }
        let before = self.recent.len();
        self.recent.push_back(now);
        if self.recent.len() >= policy.too_many {
            return Verdict::GiveUp;
        }
        let doubled = u32::try_from(before).ok().and_then(|n| 2_u32.checked_pow(n));
        let delay = doubled.and_then(|factor| policy.first_delay.checked_mul(factor));
        Verdict::RestartAfter(delay.map_or(policy.longest_delay, |d| d.min(policy.longest_delay)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_third_failure_in_a_minute_is_one_too_many() {
        let (policy, start) = (RestartPolicy::default(), Instant::now());
        let mut failures = Failures::default();
        let first = policy.first_delay;
        assert_eq!(failures.note(&policy, start), Verdict::RestartAfter(first));
        assert_eq!(failures.note(&policy, start + 30 * SECOND), Verdict::RestartAfter(2 * first));
        assert_eq!(failures.note(&policy, start + 59 * SECOND), Verdict::GiveUp);
    }

    #[test]
    fn failures_stop_counting_after_the_window() {
        let (policy, start) = (RestartPolicy::default(), Instant::now());
        let mut failures = Failures::default();
        for minute in 0..10 {
            let now = start + minute * 60 * SECOND;
            assert_eq!(failures.note(&policy, now), Verdict::RestartAfter(policy.first_delay));
        }
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        let policy = RestartPolicy { too_many: 100, ..RestartPolicy::default() };
        let (start, mut failures) = (Instant::now(), Failures::default());
        let delays: Vec<_> = (0..90).map(|_| failures.note(&policy, start)).collect();
        assert_eq!(delays[1], Verdict::RestartAfter(2 * policy.first_delay));
        assert_eq!(delays[2], Verdict::RestartAfter(4 * policy.first_delay));
        assert_eq!(delays[89], Verdict::RestartAfter(policy.longest_delay));
    }
}
