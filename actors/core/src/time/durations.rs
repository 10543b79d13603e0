//! Durations, counted into buckets: enough for quantiles, at a fixed size. Pure.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The upper bounds of the buckets, in seconds. A longer duration is in no bucket.
pub const BOUNDS: [f64; 16] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// How long things took since the process started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durations {
    /// The number of recorded durations.
    pub count: u64,
    /// The sum of all durations, in microseconds.
    pub sum_us: u64,
    /// How many took at most each of [`BOUNDS`], and longer than the previous one.
    pub buckets: [u64; BOUNDS.len()],
}

impl Durations {
    /// Records one duration.
    pub fn record(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        self.count += 1;
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.sum_us = self.sum_us.saturating_add(micros);
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        if let Some(count) = self.buckets.get_mut(bucket) {
            *count += 1;
        }
    }
}

/// A duration as a person reads it: whole seconds from ten seconds on, whole milliseconds below.
pub fn rounded(duration: Duration) -> Duration {
    let unit = if duration >= Duration::from_secs(10) { 1_000_000_000 } else { 1_000_000 };
    let nanos = (duration.as_nanos() + unit / 2) / unit * unit;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The units in which durations are written, with their lengths in milliseconds.
const UNITS: [(&str, u128); 5] =
    [("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

/// A duration for people, in its two largest units: "6 d 23 h", "1 min 5 s", "0 s".
pub fn in_words(duration: Duration) -> String {
    let parts = counts(duration);
    let Some(first) = parts.iter().position(|(count, _)| *count > 0) else {
        return "0 s".to_owned();
    };
    written(parts.iter().skip(first).take(2))
}

/// A duration for people in all its units, down to milliseconds: "1 h 30 min 15 s".
pub fn in_all_words(duration: Duration) -> String {
    let text = written(counts(duration).iter());
    if text.is_empty() { "0 s".to_owned() } else { text }
}

/// How many of each unit a duration has, the largest unit first.
fn counts(duration: Duration) -> [(u128, &'static str); 5] {
    let mut left = duration.as_millis();
    UNITS.map(|(unit, length)| {
        let count = left / length;
        left %= length;
        (count, unit)
    })
}

fn written<'a>(parts: impl Iterator<Item = &'a (u128, &'static str)>) -> String {
    let shown =
        parts.filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count} {unit}"));
    shown.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_two_units() {
        let shown = |millis| in_words(Duration::from_millis(millis));
        assert_eq!(shown(0), "0 s");
        assert_eq!(shown(999), "999 ms");
        assert_eq!(shown(1_000), "1 s");
        assert_eq!(shown(1_500), "1 s 500 ms");
        assert_eq!(shown(65_000), "1 min 5 s");
        assert_eq!(shown(3_600_000 + 5_000), "1 h");
        assert_eq!(shown((6 * 24 + 23) * 3_600_000 + 59_000), "6 d 23 h");
        assert_eq!(in_all_words(Duration::from_millis(90_061_001)), "1 d 1 h 1 min 1 s 1 ms");
        assert_eq!(in_all_words(Duration::ZERO), "0 s");
    }

    #[test]
    fn each_is_in_the_first_bucket_that_holds_it() {
        let mut durations = Durations::default();
        for micros in [0, 100, 101, 9_999_999, 10_000_000, 10_000_001] {
            durations.record(Duration::from_micros(micros));
        }
        assert_eq!(durations.count, 6);
        assert_eq!(durations.sum_us, 30_000_201);
        assert_eq!((durations.buckets[0], durations.buckets[1]), (2, 1));
        assert_eq!(durations.buckets[BOUNDS.len() - 1], 2);
        assert_eq!(durations.buckets.iter().sum::<u64>(), 5, "one took longer than all bounds");
    }

    #[test]
    fn shown_durations_are_rounded() {
        let message_of =
            |nanos| humantime::format_duration(rounded(Duration::from_nanos(nanos))).to_string();
        assert_eq!(message_of(999_999_843), "1s");
        assert_eq!(message_of(1_035_870_491), "1s 36ms");
        assert_eq!(message_of(61_499_000_000), "1m 1s");
        assert_eq!(message_of(0), "0s");
    }
}
