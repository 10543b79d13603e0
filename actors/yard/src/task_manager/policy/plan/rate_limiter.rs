//! A rate limiter: a fixed number of events a second.

use std::time::Duration;

use reelyard_core::clock::Millis;

const SECOND: Duration = Duration::from_secs(1);

/// The budget of rounds for a resource that is limited per second. The looks of a round call the next round
/// at once, so a limit per round would have no effect.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlanningRateLimiter {
    since: Option<Millis>,
    spent: usize,
}

impl PlanningRateLimiter {
    /// How much is left at `now` of `most` a second.
    pub fn left(&mut self, most: usize, now: Millis) -> usize {
        // If the clock was set back, a new second begins.
        let same = self.since.is_some_and(|since| since <= now && now.since(since) < SECOND);
        if !same {
            *self = PlanningRateLimiter { since: Some(now), spent: 0 };
        }
        most.saturating_sub(self.spent)
    }

    /// Records that this many were spent.
    pub fn spend(&mut self, spent: usize) {
        self.spent = self.spent.saturating_add(spent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_second_has_its_own() {
        let mut pace = PlanningRateLimiter::default();
        assert_eq!(pace.left(10, Millis(5000)), 10);
        pace.spend(7);
        assert_eq!(pace.left(10, Millis(5999)), 3);
        pace.spend(7);
        assert_eq!(pace.left(10, Millis(5999)), 0);
        assert_eq!(pace.left(10, Millis(6000)), 10);
        pace.spend(10);
        assert_eq!(pace.left(10, Millis(4000)), 10, "the clock was set back");
    }
}
