//! The load of all links together in the last hour, one sample a minute. Pure.

use std::collections::VecDeque;

use reelyard_core::clock::Millis;

use super::HOUR_MILLIS;

/// Interval of the samples in milliseconds.
const SAMPLE_MILLIS: i64 = 60_000;

/// A longer time without a sample ends the series, in milliseconds.
const LONGEST_GAP_MILLIS: i64 = 3 * SAMPLE_MILLIS;

/// The load of all links at one moment, in bits a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSample {
    /// Sent by all hosts.
    pub sent: u64,
    /// Received by all hosts.
    pub received: u64,
    /// Sent by copies.
    pub copies: u64,
}

/// Samples of the last hour.
#[derive(Clone, Debug, Default)]
pub struct LinkTraffic(VecDeque<(Millis, LinkSample)>);

impl LinkTraffic {
    /// Takes the load of this moment if a minute has passed since the last sample. None means that no host reports its
    /// load.
    pub fn observe(&mut self, now: Millis, sample: Option<LinkSample>) {
        // A clock that steps back by more than a sample makes the later ones useless.
        while self.0.back().is_some_and(|(at, _)| now.0 < at.0) {
            self.0.pop_back();
        }
        // The samples of a chart have even distances. After a gap it begins again.
        if self.0.back().is_some_and(|(at, _)| now.0 - at.0 > LONGEST_GAP_MILLIS) {
            self.0.clear();
        }
        while self.0.front().is_some_and(|(at, _)| now.0 - at.0 > HOUR_MILLIS) {
            self.0.pop_front();
        }
        let is_due = self.0.back().is_none_or(|(at, _)| now.0 - at.0 >= SAMPLE_MILLIS);
        if let Some(sample) = sample.filter(|_| is_due) {
            self.0.push_back((now, sample));
        }
    }

    /// The samples, oldest first.
    pub fn samples(&self) -> impl ExactSizeIterator<Item = (Millis, LinkSample)> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_samples_is_kept_one_a_minute() {
        let mut traffic = LinkTraffic::default();
        for second in 0..3 * 3600 {
            traffic.observe(
                Millis(second * 1000),
                Some(LinkSample { sent: 1, ..LinkSample::default() }),
            );
        }
        assert_eq!(traffic.samples().len(), 60);
        traffic.observe(Millis(3 * HOUR_MILLIS + 1), None);
        assert_eq!(traffic.samples().len(), 59);
        traffic.observe(Millis(3 * HOUR_MILLIS + 400_000), Some(LinkSample::default()));
        assert_eq!(traffic.samples().len(), 1, "after a gap");
        traffic.observe(Millis(0), Some(LinkSample::default()));
        assert_eq!(traffic.samples().collect::<Vec<_>>(), [(Millis(0), LinkSample::default())]);
    }
}
