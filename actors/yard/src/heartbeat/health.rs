//! The health of one host, from its probes. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use reelyard_core::clock::Millis;
use serde::{Deserialize, Serialize};

use crate::settings::heartbeat::HeartbeatConfig;

/// How many probes in a row it takes to change a host's health. Each is at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thresholds {
    /// Misses until a host is suspect.
    pub suspect_after: u32,
    /// Misses until a host is down.
    pub down_after: u32,
    /// Answers until a host that was not up is up.
    pub up_after: u32,
}

impl Thresholds {
    /// The settings of an operator.
    pub fn of(config: &HeartbeatConfig) -> Self {
        Thresholds {
            suspect_after: config.suspect_after.get(),
            down_after: config.down_after.get(),
            up_after: config.up_after.get(),
        }
    }
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds::of(&HeartbeatConfig::default())
    }
}

/// One probe, as the sparkline shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Beat {
    /// When the probe ended.
    pub at: Millis,
    /// How long the answer took, in milliseconds; none for a miss.
    pub latency_ms: Option<u64>,
}

/// Probes kept for the sparkline.
pub const BEATS_KEPT: usize = 60;

/// The health of one host, with the probes that led to it.
///
/// **Invariant:** at most one of `answers_in_a_row` and `misses_in_a_row` is not zero.
#[derive(Clone, Debug, Default)]
pub struct HostHealth {
    health: Health,
    answers_in_a_row: u32,
    misses_in_a_row: u32,
    last_answer: Option<Millis>,
    last_miss: Option<String>,
    changed: Option<Millis>,
    beats: VecDeque<Beat>,
}

impl HostHealth {
    /// Records the end of a probe at `at`: the time of its answer, or the failure. Answers the health
    /// before and after, if it changed.
    pub fn observe(
        &mut self,
        thresholds: Thresholds,
        at: Millis,
        outcome: Result<Duration, String>,
    ) -> Option<(Health, Health)> {
        let latency_ms = outcome.as_ref().ok().map(|latency| whole_millis(*latency));
        if self.beats.len() == BEATS_KEPT {
            self.beats.pop_front();
        }
        self.beats.push_back(Beat { at, latency_ms });
        match outcome {
            Ok(_) => {
                self.answers_in_a_row = self.answers_in_a_row.saturating_add(1);
                self.misses_in_a_row = 0;
                self.last_answer = Some(at);
            }
            Err(why) => {
                self.misses_in_a_row = self.misses_in_a_row.saturating_add(1);
                self.answers_in_a_row = 0;
                self.last_miss = Some(why);
            }
        }
        let (from, to) = (self.health, self.next(thresholds));
        if from == to {
            return None;
        }
        self.health = to;
        self.changed = Some(at);
        Some((from, to))
    }

    /// The health after these runs of answers and misses, from the current health.
    fn next(&self, thresholds: Thresholds) -> Health {
        if self.misses_in_a_row >= thresholds.down_after {
            return Health::Down;
        }
        if self.misses_in_a_row >= thresholds.suspect_after {
            // A host that is down remains down until it has answered often enough.
            return if self.health == Health::Down { Health::Down } else { Health::Suspect };
        }
        if self.answers_in_a_row >= thresholds.up_after { Health::Up } else { self.health }
    }

    /// The health now.
    pub fn health(&self) -> Health {
        self.health
    }

    /// When the health last changed; none while it never did.
    pub fn changed(&self) -> Option<Millis> {
        self.changed
    }

    /// Misses since the last answer.
    pub fn misses_in_a_row(&self) -> u32 {
        self.misses_in_a_row
    }

    /// When the host last answered.
    pub fn last_answer(&self) -> Option<Millis> {
        self.last_answer
    }

    /// Why the last probe that was missed was missed.
    pub fn last_miss(&self) -> Option<&str> {
        self.last_miss.as_deref()
    }

    /// The latest probes, oldest first, at most [`BEATS_KEPT`].
    pub fn beats(&self) -> impl Iterator<Item = Beat> {
        self.beats.iter().copied()
    }

    /// The latest probe.
    pub fn last_beat(&self) -> Option<Beat> {
        self.beats.back().copied()
    }
}

/// The schedule of one host's probes: one interval after the start of the last probe, plus or minus a
/// share of it. So hosts that were added together do not remain in step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeSchedule {
    /// The mean distance of two probes of a host.
    pub interval: Duration,
    /// The largest difference of one distance from `interval`, as a part of it from 0 to 1.
    pub jitter: f64,
}

impl ProbeSchedule {
    /// When to probe after a probe that began at `began`. `draw` is even in `[0, 1)`.
    pub fn next(&self, began: Millis, draw: f64) -> Millis {
        let factor = 1.0 + self.jitter.clamp(0.0, 1.0) * (2.0 * draw - 1.0);
        began.after(self.interval.mul_f64(factor.max(0.0)))
    }

    /// Whether a probe planned for `planned` is due. One that lies further ahead than two
    /// intervals was planned before the clock was set back: it is due now.
    pub fn is_due(&self, planned: Millis, now: Millis) -> bool {
        planned <= now || planned > now.after(self.interval * 2)
    }
}

/// A duration as views show it.
fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The health of a host by its last probes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// It was not asked yet, or not often enough.
    #[default]
    Unknown,
    /// It answers its probes.
    Up,
    /// It missed at least one probe: it gets no new tasks, and its running tasks continue.
    Suspect,
    /// It missed enough probes in a row: its open tasks end.
    Down,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(thresholds: Thresholds, probes: &str) -> (HostHealth, Vec<(Health, Health)>) {
        let mut host = HostHealth::default();
        let mut changes = Vec::new();
        for (second, probe) in probes.chars().enumerate() {
            let at = Millis::from_unix_seconds(second as i64);
            let outcome = match probe {
                '+' => Ok(Duration::from_millis(3)),
                _ => Err("no answer within 2s".to_owned()),
            };
            changes.extend(host.observe(thresholds, at, outcome));
        }
        (host, changes)
    }

    #[test]
    fn one_miss_makes_suspect_and_three_make_down() {
        use Health::*;
        let (host, changes) = after(Thresholds::default(), "+-+---+");
        let expected =
            [(Unknown, Up), (Up, Suspect), (Suspect, Up), (Up, Suspect), (Suspect, Down)];
        assert_eq!(changes[..5], expected);
        assert_eq!(changes[5..], [(Down, Up)]);
        assert_eq!(host.changed(), Some(Millis(6000)));
        assert_eq!(host.last_miss(), Some("no answer within 2s"));
    }

    #[test]
    fn thresholds_hold_back_in_both_directions() {
        let thresholds = Thresholds { suspect_after: 2, down_after: 4, up_after: 3 };
        let health = |probes| after(thresholds, probes).0.health();
        assert_eq!(health("++"), Health::Unknown);
        assert_eq!(health("+++"), Health::Up);
        assert_eq!(health("+++-"), Health::Up);
        assert_eq!(health("+++--"), Health::Suspect);
        assert_eq!(health("+++----"), Health::Down);
        assert_eq!(health("----++"), Health::Down);
        assert_eq!(health("----++--"), Health::Down);
        assert_eq!(health("----+++"), Health::Up);
        assert_eq!(health("-"), Health::Unknown);
    }

    #[test]
    fn the_history_is_bounded() {
        let (host, _) = after(Thresholds::default(), &"+".repeat(BEATS_KEPT * 3));
        assert_eq!(host.beats().count(), BEATS_KEPT);
        assert_eq!(host.last_beat().unwrap().at, Millis((BEATS_KEPT as i64 * 3 - 1) * 1000));
    }

    #[test]
    fn the_next_probe_lies_within_the_jitter() {
        let probe_schedule = ProbeSchedule { interval: Duration::from_secs(10), jitter: 0.2 };
        assert_eq!(probe_schedule.next(Millis(0), 0.0), Millis(8000));
        assert_eq!(probe_schedule.next(Millis(0), 0.5), Millis(10_000));
        assert!(probe_schedule.next(Millis(0), 0.999) < Millis(12_000));
    }

    #[test]
    fn a_clock_that_is_set_back_does_not_stop_the_probes() {
        let probe_schedule = ProbeSchedule { interval: Duration::from_secs(10), jitter: 0.2 };
        let planned = Millis(1_000_000);
        assert!(!probe_schedule.is_due(planned, Millis(995_000)));
        assert!(probe_schedule.is_due(planned, Millis(1_000_000)));
        assert!(probe_schedule.is_due(planned, Millis(0)));
    }
}
