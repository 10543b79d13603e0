//! The share of a core that reclaim may take. Pure: callers pass the time and the cost of reclaim.
//!
//! An effort from 1 to 10 sets two limits: one while reclaim keeps up, and a higher one when it lags
//! behind. The allowance accrues with time, and ticks spend it. The cost of the last shares gives the
//! number of shares.

use std::time::Duration;

use crate::share_expiry::settings::Effort;

/// The part of a core for each step of effort, while reclaim keeps up.
const STEP: f64 = 0.05;

/// The most that a lag can add to the allowance.
const MORE: f64 = 0.4;

/// The lag from which on reclaim may take more, and the lag at which it may take the most.
const RAMP: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// How much may accrue while nothing is due, in microseconds: at most as much as one tick may take.
const BURST: f64 = 20_000.0;

/// The assumed cost of one share before any was reclaimed, in microseconds.
const FIRST_COST: f64 = 4.0;

/// The weight of a new figure in the average.
const WEIGHT: f64 = 0.1;

/// The allowance of reclaim.
#[derive(Clone, Debug)]
pub struct Budget {
    effort: Effort,
    /// The allowance in microseconds. It is below zero if more was used.
    left: f64,
    /// The measured cost of one share, in microseconds.
    cost: f64,
    /// When `left` was last reckoned.
    at: Duration,
}

impl Budget {
    /// A budget that begins full.
    pub fn new(effort: Effort) -> Self {
        Budget { effort, left: BURST, cost: FIRST_COST, at: Duration::ZERO }
    }

    /// Uses another effort from now on.
    pub fn set_effort(&mut self, effort: Effort) {
        self.effort = effort;
    }

    /// The part of a core that reclaim may take with this lag.
    pub fn part(&self, lag: Duration) -> f64 {
        let (from, to) = RAMP;
        let late = lag.saturating_sub(from).as_secs_f64() / (to - from).as_secs_f64();
        STEP * f64::from(self.effort.get()) + MORE * late.clamp(0.0, 1.0)
    }

    /// How many shares may be reclaimed at `now`, by a clock that never goes back. `lag` is the delay
    /// of the most overdue share.
    pub fn grant(&mut self, now: Duration, lag: Duration) -> usize {
        let passed = now.saturating_sub(self.at).as_secs_f64() * 1e6;
        self.at = self.at.max(now);
        self.left = (self.left + passed * self.part(lag)).min(BURST);
        // The conversion from float to integer saturates, so a negative value gives zero.
        (self.left / self.cost) as usize
    }

    /// Reserves the cost of this many shares.
    pub fn begin(&mut self, shares: usize) {
        self.left -= self.cost * shares as f64;
    }

    /// Corrects the cost after this many shares took this time altogether.
    pub fn spent(&mut self, shares: usize, took: Duration) {
        if shares == 0 {
            return;
        }
        let (shares, took) = (shares as f64, took.as_secs_f64() * 1e6);
        self.left += self.cost * shares - took;
        let one = (took / shares).clamp(0.1, 1000.0);
        self.cost += WEIGHT * (one - self.cost);
    }

    /// Returns the reserved cost of shares that were not reclaimed.
    pub fn returned(&mut self, shares: usize) {
        self.left = (self.left + self.cost * shares as f64).min(BURST);
    }

    /// The time until this many shares may be reclaimed, with this lag of the most overdue one.
    pub fn wait(&self, shares: usize, lag: Duration) -> Duration {
        let missing = (self.cost * shares as f64).min(BURST) - self.left;
        Duration::from_secs_f64((missing / self.part(lag)).clamp(0.0, 1e6) / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATE: Duration = Duration::from_secs(1);

    /// How much of a core is taken in a second of ticks, a millisecond apart, with always more due.
    fn taken(effort: u8, lag: Duration, cost: Duration) -> f64 {
        let mut budget = Budget::new(Effort::try_from(effort).unwrap());
        let (mut took, mut now) = (Duration::ZERO, Duration::ZERO);
        for _ in 0..10_000 {
            now += Duration::from_millis(1);
            let shares = budget.grant(now, lag);
            budget.begin(shares);
            let this = cost * u32::try_from(shares).unwrap();
            budget.spent(shares, this);
            took += this;
        }
        took.as_secs_f64() / now.as_secs_f64()
    }

    #[test]
    fn reclaim_takes_the_part_of_a_core_that_its_effort_allows() {
        for cost in [Duration::from_micros(1), Duration::from_micros(30)] {
            for effort in [1, 5, 10] {
                let allowed = STEP * f64::from(effort);
                let near = |taken: f64, allowed: f64| (taken - allowed).abs() < 0.02;
                assert!(near(taken(effort, Duration::ZERO, cost), allowed), "effort {effort}");
                assert!(near(taken(effort, LATE, cost), allowed + MORE), "effort {effort}");
            }
        }
    }

    #[test]
    fn more_is_taken_the_later_it_is_and_never_a_whole_core() {
        for effort in 1..=10 {
            let budget = Budget::new(Effort::try_from(effort).unwrap());
            let parts: Vec<f64> =
                (0..200).map(|ms| budget.part(Duration::from_millis(ms))).collect();
            assert!(parts.is_sorted() && parts[0] == parts[5] && parts[100] == parts[199]);
            assert!(parts[0] < parts[6] && parts[99] < parts[100] && parts[199] < 1.0);
        }
    }

    #[test]
    fn an_unused_budget_accrues_for_one_turn_only() {
        let mut budget = Budget::new(Effort::MOST);
        let first = budget.grant(Duration::from_secs(1), LATE);
        assert_eq!(budget.grant(Duration::from_secs(1000), LATE), first);
        budget.begin(first);
        assert_eq!(budget.grant(Duration::from_secs(1000), LATE), 0);
        let wait = budget.wait(100, LATE);
        assert!(wait > Duration::ZERO);
        let then = Duration::from_secs(1000) + wait + Duration::from_micros(10);
        assert!(budget.grant(then, LATE) >= 100);
    }

    #[test]
    fn a_returned_grant_is_not_counted() {
        let mut budget = Budget::new(Effort::LEAST);
        let first = budget.grant(Duration::from_secs(1), LATE);
        budget.begin(first);
        budget.returned(first);
        assert_eq!(budget.grant(Duration::from_secs(1), LATE), first);
    }
}
