//! From counters to rates. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Rates, TrafficBytes};
use crate::host::BitsPerSecond;

/// Two readings that are closer together give no rate, because a single packet would decide it.
const SHORTEST: Duration = Duration::from_millis(400);

/// A reading that is older than this many windows is ignored.
const STALE_WINDOWS: u32 = 4;

/// The rate at which counters grow, over a sliding window.
#[derive(Clone, Debug)]
pub struct Meter {
    window: Duration,
    /// The readings, oldest first: the last one, and those needed for the whole window.
    readings: VecDeque<CounterReading>,
}

#[derive(Clone, Copy, Debug)]
struct CounterReading {
    /// Since some beginning.
    at: Duration,
    link: TrafficBytes,
    copies: TrafficBytes,
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// All traffic of the link.
    pub all: Rates,
    /// The copies that were counted separately.
    pub copies: Rates,
    /// Time between the two readings that were compared.
    pub over: Duration,
}

impl Meter {
    /// A meter over `window`, or since the previous reading if that is longer ago.
    pub fn over(window: Duration) -> Self {
        Meter { window, readings: VecDeque::new() }
    }

    /// Takes the counters of a link and of the copies that went over it, as read at `at`.
    ///
    /// A counter that decreased has started again: the host was restarted, the interface was created
    /// again, or a narrow counter wrapped. Earlier readings are then useless. A wrap is not computed,
    /// because the last value before it is unknown. The same applies to a clock that was set back.
    pub fn record(&mut self, at: Duration, link: TrafficBytes, copies: TrafficBytes) {
        if let Some(last) = self.readings.back() {
            let went_back = |now: TrafficBytes, then: TrafficBytes| {
                now.sent < then.sent || now.received < then.received
            };
            let is_stale = at.saturating_sub(last.at) > self.window * STALE_WINDOWS;
            if at < last.at
                || is_stale
                || went_back(link, last.link)
                || went_back(copies, last.copies)
            {
                self.readings.clear();
            }
        }
        self.readings.push_back(CounterReading { at, link, copies });
        // The second reading is old enough for the whole window.
        while self.readings.get(1).is_some_and(|next| next.at + self.window <= at) {
            self.readings.pop_front();
        }
    }

    /// The rates up to the last reading. None before there are two.
    pub fn measured(&self) -> Option<Measured> {
        let (first, last) = (self.readings.front()?, self.readings.back()?);
        let over = last.at.saturating_sub(first.at);
        if over < SHORTEST {
            return None;
        }
        let rates = |now: TrafficBytes, then: TrafficBytes| Rates {
            sends: rate(now.sent.saturating_sub(then.sent), over),
            receives: rate(now.received.saturating_sub(then.received), over),
        };
        let (all, copies) = (rates(last.link, first.link), rates(last.copies, first.copies));
        Some(Measured { all, copies, over })
    }
}

fn rate(bytes: u64, over: Duration) -> BitsPerSecond {
    let bits = u128::from(bytes) * 8 * 1000 / over.as_millis().max(1);
    BitsPerSecond(u64::try_from(bits).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_secs(10);

    fn bytes(sent: u64, received: u64) -> TrafficBytes {
        TrafficBytes { sent, received }
    }

    /// Reads `sent` at each of these seconds.
    fn meter(readings: &[(u64, u64)]) -> Meter {
        let mut meter = Meter::over(WINDOW);
        for (second, sent) in readings {
            meter.record(Duration::from_secs(*second), bytes(*sent, 0), TrafficBytes::default());
        }
        meter
    }

    fn sends(meter: &Meter) -> Option<u64> {
        meter.measured().map(|measured| measured.all.sends.0)
    }

    #[test]
    fn a_rate_needs_two_readings() {
        assert_eq!(sends(&meter(&[])), None);
        assert_eq!(sends(&meter(&[(1, 5000)])), None);
        assert_eq!(sends(&meter(&[(1, 5000), (3, 5250)])), Some(1000));
        let mut close = meter(&[(1, 0)]);
        close.record(Duration::from_millis(1100), bytes(1000, 0), TrafficBytes::default());
        assert_eq!(sends(&close), None, "too close for a rate");
    }

    #[test]
    fn the_window_smooths_rates_and_drops_older_readings() {
        let mut steady: Vec<(u64, u64)> = (0..=10).map(|second| (second, second * 1000)).collect();
        assert_eq!(sends(&meter(&steady)), Some(8000));
        // Nothing for a second: a tenth less.
        steady.push((11, 10_000));
        assert_eq!(sends(&meter(&steady)), Some(7200));
        steady.extend((12..=20).map(|second| (second, 10_000)));
        assert_eq!(sends(&meter(&steady)), Some(0));
        assert!(meter(&steady).readings.len() <= 12);
    }

    #[test]
    fn readings_far_apart_are_each_others_window_unless_much_too_far() {
        assert_eq!(sends(&meter(&[(0, 0), (30, 30_000), (60, 120_000)])), Some(24_000));
        assert_eq!(sends(&meter(&[(0, 0), (30, 30_000), (71, 120_000)])), None);
    }

    #[test]
    fn a_counter_that_decreased_starts_a_new_window() {
        let restarted = [(0, 4_000_000_000), (5, 4_294_967_000), (10, 1000)];
        assert_eq!(sends(&meter(&restarted)), None);
        let mut meter = meter(&restarted);
        meter.record(Duration::from_secs(12), bytes(3000, 0), TrafficBytes::default());
        assert_eq!(sends(&meter), Some(8000));
        meter.record(Duration::from_secs(13), bytes(4000, 0), bytes(1, 1));
        meter.record(Duration::from_secs(14), bytes(5000, 0), bytes(0, 2));
        assert_eq!(sends(&meter), None, "the count of copies started again");
    }

    #[test]
    fn copies_and_directions_are_counted_separately() {
        let mut meter = Meter::over(WINDOW);
        meter.record(Duration::ZERO, bytes(100, 1000), bytes(0, 7));
        meter.record(Duration::from_secs(8), bytes(1100, 1500), bytes(600, 7));
        let measured = meter.measured().unwrap();
        assert_eq!((measured.all.sends.0, measured.all.receives.0), (1000, 500));
        assert_eq!((measured.copies.sends.0, measured.copies.receives.0), (600, 0));
        assert_eq!(measured.over, Duration::from_secs(8));
        assert_eq!(measured.all.without(measured.copies).sends.0, 400);
    }
}
