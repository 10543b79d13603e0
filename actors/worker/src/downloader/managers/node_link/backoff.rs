//! How long to wait before asking again. Pure; the random part comes from the caller.

use std::time::Duration;

/// The first wait.
const FIRST: Duration = Duration::from_millis(100);

/// The longest wait: a node that returns is found within this time.
const LONGEST: Duration = Duration::from_secs(5);

/// Doubles from [`FIRST`] to [`LONGEST`], with a random part of a quarter, so that a hundred
/// workers do not return at the same time.
#[derive(Debug)]
pub struct PollBackoff {
    next: Duration,
}

impl PollBackoff {
    /// Nothing has failed yet.
    pub fn new() -> Self {
        PollBackoff { next: FIRST }
    }

    /// A call succeeded.
    pub fn reset(&mut self) {
        self.next = FIRST;
    }

    /// How long to wait after one more failure.
    pub fn next(&mut self) -> Duration {
        self.next_with(fastrand::f64())
    }

    fn next_with(&mut self, chance: f64) -> Duration {
        let wait = self.next;
        self.next = (wait * 2).min(LONGEST);
        wait.mul_f64(0.75 + chance / 4.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_start_over() {
        let mut backoff = PollBackoff::new();
        let waits: Vec<u128> = (0..8).map(|_| backoff.next_with(1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
        assert_eq!(backoff.next_with(0.0), Duration::from_millis(3750));
        backoff.reset();
        assert_eq!(backoff.next_with(1.0), FIRST);
    }
}
