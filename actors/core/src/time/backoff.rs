//! Backoff: stopping calls to a failing target, and resuming them step by step. Pure.
//!
//! A [`BackOff`] is a breaker with three states. It is **open** until its end: the caller sends nothing to
//! that target. After that it is on **probation** ("half-open"): it gets one trial at a time. A failure opens
//! it again for longer. A success halves the number of remembered failures. At zero it is **closed**: the
//! backoff is gone. After a long open time it needs several successes in a row before it is trusted fully
//! again.
//!
//! Two kinds of targets have a breaker. Breakers of targets that caused failed copies belong to the
//! TaskManager and are durable. Breakers of hosts whose calls keep failing, although they answer their
//! probes, belong to each CfwWorker.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::Millis;

/// The random part of the backoff of a host, so that hosts that failed together are not tried again together.
const JITTER: f64 = 0.1;

/// How long a target gets nothing: `base` after the first failure, doubled with each further failure, at most
/// `cap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExponentialBackoff {
    /// The pause after the first failure.
    pub base: Duration,
    /// The longest pause.
    pub cap: Duration,
}

impl ExponentialBackoff {
    /// How long after `failures` in a row.
    pub fn after_failures(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.base.saturating_mul(1 << doublings).min(self.cap)
    }

    /// The same, up to a tenth shorter. The same seed gives the same result.
    pub fn jittered(&self, failures: u32, seed: u64) -> Duration {
        let draw = fastrand::Rng::with_seed(seed).f64();
        self.after_failures(failures).mul_f64(1.0 - JITTER * draw)
    }
}

/// The failures of one target and the resulting pause. Remembered for a while after its end, so that the next
/// failure continues the count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct BackOff {
    /// Failures in a row, minus those that successes on probation removed. It is 0 if targets were only taken
    /// back.
    pub failures: u32,
    /// The time of the last failure, or of the last take-back.
    pub since: Millis,
    /// The end of the pause. From then on the target is on probation.
    pub until: Millis,
    /// The error text of the last failure, for operators.
    pub reason: String,
}

impl BackOff {
    /// The backoff after `current` when work for the target ended at `now`: the target gets no work until
    /// `until`. An end without `failed` keeps the failure count, and does not shorten a longer backoff.
    /// Part of the event version.
    pub fn next(
        current: Option<&BackOff>,
        failed: bool,
        now: Millis,
        until: Millis,
        reason: &str,
    ) -> Self {
        let failures = current.map_or(0, |current| current.failures);
        let reason = reason.to_owned();
        match current {
            _ if failed => {
                BackOff { failures: failures.saturating_add(1), since: now, until, reason }
            }
            Some(current) if current.until >= until => current.clone(),
            Some(current) => BackOff { failures, since: current.since, until, reason },
            None => BackOff { failures, since: now, until, reason },
        }
    }

    /// Whether it holds at `now`.
    pub fn holds(&self, now: Millis) -> bool {
        now < self.until
    }

    /// Whether the next failure counts as the first again. For that the backoff must have ended as long ago
    /// as it lasted, and at least `base` ago.
    pub fn is_stale(&self, base: Duration, now: Millis) -> bool {
        now >= self.until.after(self.until.since(self.since).max(base))
    }

    /// The backoff after a success at `now`; none when it is closed. The time of the probation starts again,
    /// so that a long trial does not let the next step expire. A success of work that began before the
    /// backoff ends its open time, because the target works. Part of the event version.
    pub fn after_success(&self, now: Millis) -> Option<Self> {
        let failures = self.failures / 2;
        (failures > 0).then(|| BackOff { failures, until: now, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOL_DOWN: ExponentialBackoff =
        ExponentialBackoff { base: Duration::from_secs(10), cap: Duration::from_secs(60) };

    fn current(failures: u32, until: i64) -> BackOff {
        BackOff { failures, since: Millis(0), until: Millis(until), reason: String::new() }
    }

    #[test]
    fn it_doubles_up_to_its_cap() {
        let seconds: Vec<u64> =
            [1, 2, 3, 4, 5, 4_000_000_000].map(|n| COOL_DOWN.after_failures(n).as_secs()).into();
        assert_eq!(seconds, [10, 20, 40, 60, 60, 60]);
    }

    #[test]
    fn the_jitter_is_at_most_a_tenth_and_follows_its_seed() {
        let drawn: Vec<Duration> = (0..100).map(|seed| COOL_DOWN.jittered(2, seed)).collect();
        let (least, most) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
        assert!(*least >= Duration::from_secs(18) && *most <= Duration::from_secs(20));
        assert!(*most - *least > Duration::from_secs(1), "it spreads");
        assert_eq!(COOL_DOWN.jittered(2, 7), drawn[7]);
    }

    #[test]
    fn it_holds_until_its_end_and_is_stale_one_length_later() {
        let current = current(2, 20_000);
        assert!(current.holds(Millis(19_999)) && !current.holds(Millis(20_000)));
        assert!(!current.is_stale(COOL_DOWN.base, Millis(39_999)));
        assert!(current.is_stale(COOL_DOWN.base, Millis(40_000)));
    }

    #[test]
    fn it_is_closed_in_steps() {
        let mut left = Some(current(9, 1000));
        let mut steps = Vec::new();
        while let Some(back_off) = left {
            steps.push(back_off.failures);
            left = back_off.after_success(Millis(2000));
        }
        assert_eq!(steps, [9, 4, 2, 1]);
        let early = current(2, 9000).after_success(Millis(2000)).unwrap();
        assert!(!early.holds(Millis(2000)));
        let late = current(2, 9000).after_success(Millis(900_000)).unwrap();
        assert!(!late.is_stale(COOL_DOWN.base, Millis(900_000)), "a long trial is no reason");
    }
}
