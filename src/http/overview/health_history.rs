//! The worst health of each host in each half hour of the last two days. Pure.

use std::collections::{BTreeMap, VecDeque};

use reelyard_console::parts::spark::HealthSpan;
use reelyard_core::clock::Millis;
use reelyard_core::host::HostAddr;

/// The length of a span in milliseconds.
const SPAN_MILLIS: i64 = 30 * 60 * 1000;
/// Spans of a host.
const SPANS: usize = 96;

/// The spans of all hosts.
#[derive(Debug, Default)]
pub struct HealthHistory(BTreeMap<HostAddr, HostSpans>);

/// The spans of one host.
#[derive(Debug)]
struct HostSpans {
    /// The number of the last span: Unix time divided by the length.
    last: i64,
    /// Oldest first, never empty.
    spans: VecDeque<HealthSpan>,
}

impl HealthHistory {
    /// Takes the health of all hosts at this moment. Other hosts are forgotten.
    pub fn observe(&mut self, now: Millis, hosts: impl Iterator<Item = (HostAddr, HealthSpan)>) {
        let number = now.0.div_euclid(SPAN_MILLIS);
        let mut seen = BTreeMap::new();
        for (host, health) in hosts {
            let mut spans = self.0.remove(&host).unwrap_or_else(|| HostSpans::new(number));
            spans.add(number, health);
            seen.insert(host, spans);
        }
        self.0 = seen;
    }

    /// The spans of a host in two days, oldest first; the last one is under way.
    pub fn of(&self, host: HostAddr) -> [HealthSpan; SPANS] {
        let mut spans = [HealthSpan::NotAsked; SPANS];
        let known = self.0.get(&host).map(|host| &host.spans);
        for (span, health) in spans.iter_mut().rev().zip(known.into_iter().flatten().rev()) {
            *span = *health;
        }
        spans
    }
}

impl HostSpans {
    fn new(number: i64) -> Self {
        HostSpans { last: number, spans: VecDeque::from([HealthSpan::NotAsked]) }
    }

    fn add(&mut self, number: i64, health: HealthSpan) {
        // A clock that steps back adds to the last span.
        let missed = usize::try_from(number - self.last).unwrap_or(0).min(SPANS);
        self.spans.extend(std::iter::repeat_n(HealthSpan::NotAsked, missed));
        self.last = self.last.max(number);
        while self.spans.len() > SPANS {
            self.spans.pop_front();
        }
        if let Some(last) = self.spans.back_mut()
            && badness(*last) < badness(health)
        {
            *last = health;
        }
    }
}

const fn badness(health: HealthSpan) -> u8 {
    match health {
        HealthSpan::NotAsked => 0,
        HealthSpan::Up => 1,
        HealthSpan::Suspect => 2,
        HealthSpan::Down => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_keeps_its_worst_health_and_gaps_are_visible() {
        let host: HostAddr = "10.0.0.1:80".parse().unwrap();
        let mut history = HealthHistory::default();
        let mut at = |span: i64, health| {
            history.observe(Millis(span * SPAN_MILLIS + 1), [(host, health)].into_iter());
            history.of(host)
        };
        // Before the first look nobody asked the host.
        let filled = |newest: &[HealthSpan]| {
            let mut spans = [HealthSpan::NotAsked; SPANS];
            spans[SPANS - newest.len()..].copy_from_slice(newest);
            spans
        };
        assert_eq!(at(1000, HealthSpan::Down), filled(&[HealthSpan::Down]));
        assert_eq!(at(1000, HealthSpan::Up), filled(&[HealthSpan::Down]));
        let expected =
            filled(&[HealthSpan::Down, HealthSpan::NotAsked, HealthSpan::NotAsked, HealthSpan::Up]);
        assert_eq!(at(1003, HealthSpan::Up), expected);
        assert_eq!(at(999, HealthSpan::Up), expected, "a clock that steps back");
        assert_eq!(at(1_000_000, HealthSpan::Suspect), filled(&[HealthSpan::Suspect]));
        history.observe(Millis(0), std::iter::empty());
        assert_eq!(history.of(host), filled(&[]));
    }
}
