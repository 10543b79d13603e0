//! The half-lives at which requests are remembered, and their weights. Pure.

use std::time::Duration;

use crate::settings::popularity::HalfLife;

/// How many half-lives are kept side by side.
pub const KEPT: usize = 4;

/// One value for each half-life that is kept.
pub type PerHalfLife<T> = [T; KEPT];

/// Half-lives are in days, and requests have seconds.
pub const DAY_SECONDS: f64 = 86_400.0;

/// The half-lives with "auto", in days. All but the last one are compared. The last one is the memory of
/// deletion while 14 days are chosen.
const AUTO_DAYS: PerHalfLife<f64> = [1.0, 4.0, 14.0, 28.0];

/// With one configured half-life, deletion remembers this many times as long.
const DELETION_FACTOR: f64 = 2.0;

/// The half-lives in use, ascending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfLives {
    /// Unit: days. All are above 0.
    days: PerHalfLife<f64>,
    /// How many of them may be chosen. The one after the chosen one is the memory of deletion.
    choices: usize,
}

impl HalfLives {
    /// The half-lives of a setting.
    pub fn of(setting: HalfLife) -> Self {
        match setting {
            HalfLife::Auto => HalfLives { days: AUTO_DAYS, choices: KEPT - 1 },
            HalfLife::Fixed(time) => {
                let day = time.as_secs_f64() / DAY_SECONDS;
                let longer = day * DELETION_FACTOR;
                HalfLives { days: [day, longer, longer, longer], choices: 1 }
            }
        }
    }

    /// A half-life, in days.
    pub fn days(&self, index: usize) -> f64 {
        self.days[index]
    }

    /// The longest half-life.
    pub fn longest(&self) -> Duration {
        Duration::from_secs_f64(self.days[KEPT - 1] * DAY_SECONDS)
    }

    /// The longest half-life that may be chosen.
    pub fn longest_choice(&self) -> usize {
        self.choices - 1
    }

    /// The half-lives that may be chosen.
    pub fn choices(&self) -> std::ops::Range<usize> {
        0..self.choices
    }

    /// The half-life of deletion while `chosen` is that of admission. It is longer, so that a copy
    /// does not leave at the first quiet day.
    pub fn for_deletion(&self, chosen: usize) -> usize {
        assert!(self.choices().contains(&chosen));
        chosen + 1
    }

    /// The part of a weight that is left after `days`; more than 1 for a negative time.
    pub fn left_after(&self, days: f64) -> PerHalfLife<f64> {
        self.days.map(|half_life| (-days / half_life).exp2())
    }

    /// The time that an observation of `days` counts for, in days. A request rate is the sum of
    /// weights, divided by this. For a long observation it approaches 1.44 half-lives.
    pub fn exposure(&self, days: f64) -> PerHalfLife<f64> {
        self.days.map(|half_life| exposure_days(half_life, days))
    }
}

/// The time that an observation of `days` counts for with one half-life, in days.
pub fn exposure_days(half_life: f64, days: f64) -> f64 {
    let left = (-days.max(0.0) / half_life).exp2();
    half_life * (1.0 - left) / std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_rate_is_found_after_any_observation() {
        let half_lives = HalfLives::of(HalfLife::Auto);
        for days in [0.1, 1.0, 5.0, 40.0] {
            // Ten requests a day, summed up in small steps.
            let steps = 10_000;
            let step = days / f64::from(steps);
            let mut sums = [0.0; KEPT];
            for number in 0..steps {
                let age = step * (f64::from(number) + 0.5);
                for (sum, left) in sums.iter_mut().zip(half_lives.left_after(age)) {
                    *sum += 10.0 * step * left;
                }
            }
            for (sum, exposure) in sums.iter().zip(half_lives.exposure(days)) {
                assert!((sum / exposure - 10.0).abs() < 0.01, "{days}: {}", sum / exposure);
            }
        }
    }

    #[test]
    fn deletion_remembers_longer() {
        let fixed = HalfLives::of(HalfLife::Fixed(Duration::from_secs(2 * 86_400)));
        assert_eq!((fixed.choices(), fixed.days(0), fixed.days(1)), (0..1, 2.0, 4.0));
        for half_lives in [HalfLives::of(HalfLife::Auto), fixed] {
            for chosen in half_lives.choices() {
                let deletion = half_lives.for_deletion(chosen);
                assert!(half_lives.days(deletion) > half_lives.days(chosen), "{chosen}");
            }
        }
    }
}
