//! Keeping a rate: how long to wait after some bytes. Pure.

use std::time::Duration;

use reelyard_core::host::BitsPerSecond;

use crate::downloader::fetching::live_rate::LiveRate;

/// The amount that may pass at once after a pause. Short, so that "per second" means each second.
const BURST: Duration = Duration::from_millis(100);

/// A token bucket that may have a debt: bytes are taken as they arrive, and the sender then waits for
/// early ones. Times are counted from the start of the transfer. Each step uses the rate that applied
/// when it began, so bytes before a change cause no debt after it.
#[derive(Clone, Debug)]
pub struct TransferRateLimiter {
    live_rate: LiveRate,
    /// When all bytes taken so far would have passed at the rate: at most a burst in the past.
    paid_until: Duration,
}

impl TransferRateLimiter {
    /// A limiter for a transfer that begins now.
    pub fn new(live_rate: LiveRate) -> Self {
        TransferRateLimiter { live_rate, paid_until: Duration::ZERO }
    }

    /// Whether it is slower than `rate` now.
    pub fn is_below(&self, rate: BitsPerSecond) -> bool {
        self.live_rate.rate().is_some_and(|present| present < rate)
    }

    /// Takes the `bytes` of one step at `now`, and says how long to wait before the next one.
    pub fn acquire(&mut self, step: TransferRateStep, bytes: u64, now: Duration) -> Duration {
        let earliest = now.saturating_sub(BURST);
        let took = step.rate.map_or(Duration::ZERO, |rate| exact_time(rate, bytes));
        self.paid_until = self.paid_until.max(earliest) + took;
        self.paid_until.saturating_sub(now)
    }

    /// The next step, at the current rate.
    pub fn step(&self) -> TransferRateStep {
        TransferRateStep { rate: self.live_rate.rate() }
    }
}

/// The bytes taken at one rate.
#[derive(Clone, Copy, Debug)]
pub struct TransferRateStep {
    rate: Option<BitsPerSecond>,
}

impl TransferRateStep {
    /// The number of bytes of one step; none for no limit. A step takes a tenth of a second, so a new
    /// rate applies within that time.
    pub fn bytes(self) -> Option<usize> {
        self.rate.map(|rate| usize::try_from(rate.0 / 80).unwrap_or(usize::MAX).max(1))
    }
}

/// The time for `bytes`, in nanoseconds, because small steps at high rates are shorter than a
/// millisecond.
fn exact_time(rate: BitsPerSecond, bytes: u64) -> Duration {
    let nanos = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.0.max(1));
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn limiter(rate: u64) -> TransferRateLimiter {
        TransferRateLimiter::new(LiveRate::at(Some(BitsPerSecond(rate))))
    }

    proptest! {
        #[test]
        fn a_transfer_never_gets_ahead_of_its_rate(
            rate in 1_000_u64..10_000_000_000,
            pieces in proptest::collection::vec((1_u64..2_000_000, 0_u64..500), 1..200),
        ) {
            let mut limiter = limiter(rate);
            let mut now = Duration::ZERO;
            let mut taken = 0_u64;
            for (bytes, dawdle_ms) in pieces {
                now += Duration::from_millis(dawdle_ms);
                now += limiter.acquire(limiter.step(), bytes, now);
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
            let mut limiter = limiter(rate);
            let mut now = Duration::ZERO;
            for _ in 0..100 {
                now += limiter.acquire(limiter.step(), bytes, now);
            }
            let ideal = bytes as f64 * 100.0 * 8.0 / rate as f64;
            prop_assert!((now.as_secs_f64() - ideal).abs() <= ideal * 0.01 + 1e-6);
        }

        #[test]
        fn each_stretch_of_a_transfer_keeps_below_the_rate_that_holds_then(
            rates in proptest::collection::vec(proptest::option::of(100_000_u64..1_000_000_000), 1..20),
        ) {
            let live_rate = LiveRate::at(None);
            let mut limiter = TransferRateLimiter::new(live_rate.clone());
            let mut now = Duration::ZERO;
            for rate in rates {
                live_rate.set(rate.map(BitsPerSecond));
                let began = now;
                let mut taken = 0_u64;
                for _ in 0..50 {
                    let step = limiter.step();
                    let bytes = step.bytes().unwrap_or(1 << 20) as u64;
                    now += limiter.acquire(step, bytes, now);
                    taken += bytes;
                }
                match rate {
                    None => prop_assert_eq!(now, began, "without a rate nothing is waited for"),
                    Some(rate) => {
                        let allowed = (now - began + BURST).as_secs_f64() * rate as f64 / 8.0;
                        prop_assert!(taken as f64 <= allowed + 1.0, "{taken} > {allowed}");
                        // Also after a fast stretch: none is paid for a second time.
                        prop_assert!(now - began <= Duration::from_millis(5_001));
                    }
                }
            }
        }
    }

    #[test]
    fn ten_megabit_are_read_in_steps_of_a_tenth_of_a_second() {
        let mut limiter = limiter(10_000_000);
        let step = limiter.step();
        assert_eq!(step.bytes(), Some(125_000));
        assert_eq!(limiter.acquire(step, 125_000, Duration::ZERO), Duration::from_millis(100));
    }

    #[test]
    fn bytes_before_a_lower_rate_are_no_debt() {
        let live_rate = LiveRate::at(None);
        let mut limiter = TransferRateLimiter::new(live_rate.clone());
        let step = limiter.step();
        live_rate.set(Some(BitsPerSecond(64_000)));
        assert_eq!(limiter.acquire(step, 1 << 20, Duration::from_secs(1)), Duration::ZERO);
        let step = limiter.step();
        assert_eq!(step.bytes(), Some(800));
        assert!(limiter.acquire(step, 800, Duration::from_secs(1)) <= Duration::from_millis(100));
    }

    #[test]
    fn a_pause_is_not_made_up_for_by_a_rush() {
        let mut limiter = limiter(8_000);
        limiter.acquire(limiter.step(), 1_000, Duration::ZERO);
        let wait = limiter.acquire(limiter.step(), 1_000, Duration::from_secs(60));
        assert_eq!(wait, Duration::from_millis(900));
    }
}
