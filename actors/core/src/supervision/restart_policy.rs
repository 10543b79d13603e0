//! When to restart, and when to stop restarting.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// How failures are answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// The pause before the first restart. Each further restart within the window waits twice as
    /// long.
    pub first_delay: Duration,
    /// The longest that a restart waits.
    pub longest_delay: Duration,
    /// This many failures within the window are too many: after the last one there is no
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

/// The action after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RestartDecision {
    RestartAfter(Duration),
    GiveUp,
}

/// The failures that still count.
#[derive(Debug, Default)]
pub(super) struct RecentFailures {
    times: VecDeque<Instant>,
}

impl RecentFailures {
    /// Records a failure and returns the next action.
    pub(super) fn record(&mut self, policy: &RestartPolicy, now: Instant) -> RestartDecision {
        while self.times.front().is_some_and(|&at| now.duration_since(at) >= policy.window) {
            self.times.pop_front();
        }
        let before = self.times.len();
        self.times.push_back(now);
        if self.times.len() >= policy.too_many {
            return RestartDecision::GiveUp;
        }
        let doubled = u32::try_from(before).ok().and_then(|n| 2_u32.checked_pow(n));
        let delay = doubled.and_then(|factor| policy.first_delay.checked_mul(factor));
        RestartDecision::RestartAfter(
            delay.map_or(policy.longest_delay, |d| d.min(policy.longest_delay)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_third_failure_in_a_minute_is_one_too_many() {
        let (policy, start) = (RestartPolicy::default(), Instant::now());
        let mut failures = RecentFailures::default();
        let first = policy.first_delay;
        assert_eq!(failures.record(&policy, start), RestartDecision::RestartAfter(first));
        assert_eq!(
            failures.record(&policy, start + 30 * SECOND),
            RestartDecision::RestartAfter(2 * first)
        );
        assert_eq!(failures.record(&policy, start + 59 * SECOND), RestartDecision::GiveUp);
    }

    #[test]
    fn failures_stop_counting_after_the_window() {
        let (policy, start) = (RestartPolicy::default(), Instant::now());
        let mut failures = RecentFailures::default();
        for minute in 0..10 {
            let now = start + minute * 60 * SECOND;
            assert_eq!(
                failures.record(&policy, now),
                RestartDecision::RestartAfter(policy.first_delay)
            );
        }
    }

    #[test]
    fn delays_double_up_to_the_longest() {
        let policy = RestartPolicy { too_many: 100, ..RestartPolicy::default() };
        let (start, mut failures) = (Instant::now(), RecentFailures::default());
        let delays: Vec<_> = (0..90).map(|_| failures.record(&policy, start)).collect();
        assert_eq!(delays[1], RestartDecision::RestartAfter(2 * policy.first_delay));
        assert_eq!(delays[2], RestartDecision::RestartAfter(4 * policy.first_delay));
        assert_eq!(delays[89], RestartDecision::RestartAfter(policy.longest_delay));
    }
}
