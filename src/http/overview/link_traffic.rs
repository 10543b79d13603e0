//! The load of links in the last hour, of all hosts together and of each, one sample a minute. Pure.

use std::collections::{BTreeMap, VecDeque};

use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;

use super::HOUR_MILLIS;

/// Interval of the samples in milliseconds.
const SAMPLE_MILLIS: i64 = 60_000;

/// A longer time without a sample ends the series, in milliseconds.
const LONGEST_GAP_MILLIS: i64 = 3 * SAMPLE_MILLIS;

/// The load of one link, or of all links together, in bits a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSample {
    /// Rate away from the host.
    pub sent: u64,
    /// Rate towards the host.
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

/// Most hosts whose links are remembered. An hour of each takes 2 KiB.
const MOST_HOSTS: usize = 20_000;

/// Samples of the last hour of each host.
#[derive(Debug, Default)]
pub struct HostLinks(BTreeMap<HostAddr, LinkTraffic>);

impl HostLinks {
    /// Takes the loads of this moment. Hosts without a report in the last hour are forgotten.
    pub fn observe(&mut self, now: Millis, samples: &BTreeMap<HostAddr, LinkSample>) {
        for (host, traffic) in &mut self.0 {
            traffic.observe(now, samples.get(host).copied());
        }
        self.0.retain(|_, traffic| traffic.samples().len() > 0);
        for (host, sample) in samples {
            if self.0.len() >= MOST_HOSTS {
                break;
            }
            self.0.entry(*host).or_insert_with(|| {
                let mut first = LinkTraffic::default();
                first.observe(now, Some(*sample));
                first
            });
        }
    }

    /// The samples of a host, oldest first.
    pub fn of(&self, host: HostAddr) -> Vec<(Millis, LinkSample)> {
        self.0.get(&host).map(|traffic| traffic.samples().collect()).unwrap_or_default()
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

    #[test]
    fn each_host_has_its_own_samples_and_is_forgotten_after_an_hour() {
        let host = |text: &str| text.parse::<HostAddr>().unwrap();
        let (a, b) = (host("10.0.0.1:8888"), host("10.0.0.2:8888"));
        let sample = |sent| LinkSample { sent, ..LinkSample::default() };
        let mut links = HostLinks::default();
        for minute in 0..3 {
            let now = Millis(minute * SAMPLE_MILLIS);
            links.observe(now, &BTreeMap::from([(a, sample(7)), (b, sample(minute as u64))]));
        }
        let sent = |host| links.of(host).iter().map(|(_, one)| one.sent).collect::<Vec<_>>();
        assert_eq!((sent(a), sent(b)), (vec![7, 7, 7], vec![0, 1, 2]));
        // The host b reports no more: its chart ends, and goes after an hour.
        for minute in 3..65 {
            links.observe(Millis(minute * SAMPLE_MILLIS), &BTreeMap::from([(a, sample(7))]));
        }
        assert_eq!((links.of(a).len(), links.of(b).len()), (61, 0));
    }
}
