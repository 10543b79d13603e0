//! The schedule of a host's reads of files and disk. Pure.

use std::time::Duration;

use reelyard_core::clock::Millis;

/// The shortest pause after a failed call.
const FIRST_RETRY: Duration = Duration::from_secs(5);

/// How far one pause may differ from the interval, as a share of it. So hosts that started together are
/// not called together permanently.
const JITTER: f64 = 0.1;

/// How much earlier than due a poll goes with a probe, and how much later it goes alone, as shares of its interval.
/// Each host is probed more often than that. So its calls and those of other hosts go together, and the process
/// wakes less often.
const EARLY: f64 = 0.2;
const LATE: f64 = 0.1;

/// The schedule of one question to one host.
#[derive(Clone, Copy, Debug)]
pub struct PollSchedule {
    interval: Duration,
    next: Millis,
    failures: u32,
}

impl PollSchedule {
    /// Due at once, then about every `interval`.
    pub fn new(interval: Duration) -> Self {
        PollSchedule { interval, next: Millis(i64::MIN), failures: 0 }
    }

    /// When it is due.
    pub fn next(&self) -> Millis {
        self.next
    }

    /// Whether it is due. A time further ahead than two intervals was set before the clock was
    /// set back: it is due.
    pub fn is_due(&self, now: Millis) -> bool {
        self.next <= now || self.next > now.after(self.interval * 2)
    }

    /// Whether it goes with a probe that was answered now.
    pub fn goes_with_probe(&self, now: Millis) -> bool {
        self.is_due(now) || self.next <= now.after(self.leeway(EARLY))
    }

    /// When it goes alone, if no probe was answered before.
    pub fn goes_alone(&self) -> Millis {
        if self.next == Millis(i64::MIN) { self.next } else { self.next.after(self.leeway(LATE)) }
    }

    /// This share of the interval. Nothing after a failure, whose pause is short.
    fn leeway(&self, share: f64) -> Duration {
        if self.failures == 0 { self.interval.mul_f64(share) } else { Duration::ZERO }
    }

    /// Makes the next poll due now.
    pub fn at_once(&mut self) {
        self.next = Millis(i64::MIN);
    }

    /// It was answered after a request at `asked`, and is due again about `interval` later. `draw` is
    /// uniform in `[0, 1)`.
    pub fn answered(&mut self, asked: Millis, interval: Duration, draw: f64) {
        self.failures = 0;
        self.interval = interval;
        self.next = asked.after(self.interval.mul_f64(1.0 + JITTER * (2.0 * draw - 1.0)));
    }

    /// It failed at `at`, and is due again after a pause that doubles, up to the interval.
    pub fn failed(&mut self, at: Millis) {
        let pause = FIRST_RETRY * 2u32.saturating_pow(self.failures.min(16));
        self.failures += 1;
        self.next = at.after(pause.min(self.interval));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_retried_sooner_than_the_interval_and_less_and_less_often() {
        let mut schedule = PollSchedule::new(Duration::from_secs(30));
        assert!(schedule.is_due(Millis(0)));
        schedule.answered(Millis(0), Duration::from_secs(30), 0.5);
        assert_eq!(schedule.next(), Millis(30_000));
        let pauses: Vec<i64> = (0..5)
            .map(|_| {
                schedule.failed(Millis(0));
                schedule.next().0
            })
            .collect();
        assert_eq!(pauses, [5000, 10_000, 20_000, 30_000, 30_000]);
        schedule.answered(Millis(0), Duration::from_secs(30), 0.0);
        assert_eq!(schedule.next(), Millis(27_000));
        schedule.failed(Millis(0));
        assert_eq!(schedule.next(), Millis(5000));
    }

    #[test]
    fn a_poll_goes_with_a_probe_or_a_little_late() {
        let mut schedule = PollSchedule::new(Duration::from_secs(10));
        assert_eq!(schedule.goes_alone(), Millis(i64::MIN));
        schedule.answered(Millis(0), Duration::from_secs(10), 0.5);
        assert!(
            !schedule.goes_with_probe(Millis(7_999)) && schedule.goes_with_probe(Millis(8_000))
        );
        assert_eq!(schedule.goes_alone(), Millis(11_000));
        schedule.failed(Millis(20_000));
        assert!(
            !schedule.goes_with_probe(Millis(24_999)) && schedule.goes_with_probe(Millis(25_000))
        );
        assert_eq!(schedule.goes_alone(), Millis(25_000));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_questions() {
        let mut schedule = PollSchedule::new(Duration::from_secs(30));
        schedule.answered(Millis(1_000_000), Duration::from_secs(30), 0.5);
        assert!(!schedule.is_due(Millis(1_029_999)));
        assert!(schedule.is_due(Millis(1_030_000)));
        assert!(schedule.is_due(Millis(500_000)));
    }
}
