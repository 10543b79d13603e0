//! Keeping below a rate: how long to wait after some bytes, as a pure rule.

use std::time::Duration;

use crate::host::BitsPerSecond;

/// What may pass at once after a pause. Short, so that "per second" means each second.
const BURST: Duration = Duration::from_millis(100);

/// A token bucket that may go into debt: bytes are taken as they come, and what was taken too
/// early is waited for. Times are counted from the beginning of the transfer.
#[derive(Clone, Debug)]
pub struct Pacer {
    rate: BitsPerSecond,
    /// When all bytes taken so far would have passed at the rate: never further back than a burst.
    paid_until: Duration,
}

impl Pacer {
    /// A pacer for a transfer that begins now.
    pub fn new(rate: BitsPerSecond) -> Self {
        Pacer { rate, paid_until: Duration::ZERO }
    }

    /// Takes `bytes` at `now` and says how long to wait before taking more.
    pub fn take(&mut self, bytes: u64, now: Duration) -> Duration {
        let earliest = now.saturating_sub(BURST);
        self.paid_until = self.paid_until.max(earliest) + exact_time(self.rate, bytes);
        self.paid_until.saturating_sub(now)
    }

    /// How many bytes to take in one step, so that steps are a tenth of a second apart.
    pub fn step(&self) -> usize {
        usize::try_from(self.rate.0 / 80).unwrap_or(usize::MAX).max(1)
    }
}

/// The time `bytes` take, in nanoseconds: small steps at high rates are shorter than a
/// millisecond.
fn exact_time(rate: BitsPerSecond, bytes: u64) -> Duration {
    let nanos = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.0.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_transfer_never_gets_ahead_of_its_rate(
            rate in 1_000_u64..10_000_000_000,
            pieces in proptest::collection::vec((1_u64..2_000_000, 0_u64..500), 1..200),
        ) {
            let mut pacer = Pacer::new(BitsPerSecond(rate));
            let mut now = Duration::ZERO;
            let mut taken = 0_u64;
            for (bytes, dawdle_ms) in pieces {
                now += Duration::from_millis(dawdle_ms);
                now += pacer.take(bytes, now);
                taken += bytes;
                let allowed = (now + BURST).as_secs_f64() * rate as f64 / 8.0;
                prop_assert!(taken as f64 <= allowed + 1.0, "{taken} > {allowed} at {now:?}");
            }
        }

        #[test]
        fn a_transfer_that_never_dawdles_uses_the_whole_rate(
            rate in 1_000_000_u64..10_000_000_000,
            bytes in 1_u64..1_000_000,
        ) {
            let mut pacer = Pacer::new(BitsPerSecond(rate));
            let mut now = Duration::ZERO;
            for _ in 0..100 {
                now += pacer.take(bytes, now);
            }
            let ideal = bytes as f64 * 100.0 * 8.0 / rate as f64;
            prop_assert!((now.as_secs_f64() - ideal).abs() <= ideal * 0.01 + 1e-6);
        }
    }

    #[test]
    fn ten_megabit_are_read_in_steps_of_a_tenth_of_a_second() {
        let mut pacer = Pacer::new(BitsPerSecond(10_000_000));
        assert_eq!(pacer.step(), 125_000);
        assert_eq!(pacer.take(125_000, Duration::ZERO), Duration::from_millis(100));
    }

    #[test]
    fn a_pause_is_not_made_up_for_by_a_rush() {
        let mut pacer = Pacer::new(BitsPerSecond(8_000));
        pacer.take(1_000, Duration::ZERO);
        let wait = pacer.take(1_000, Duration::from_secs(60));
        assert_eq!(wait, Duration::from_millis(900));
    }
}
