//! Version 1 of the checkpoint had other half-lives with "auto". Its sums are converted.

use crate::catalog::popularity::half_lives::{DAY_SECONDS, HalfLives, PerHalfLife, exposure_days};
use crate::settings::popularity::HalfLife;

/// The half-lives of version 1 with "auto", in days.
const FIRST_AUTO: PerHalfLife<f64> = [1.0, 3.0, 7.0, 14.0];

/// The index of the first half-lives from which each present sum is made.
const MADE_FROM: [usize; FIRST_AUTO.len()] = [0, 1, 3, 3];

/// Converts sums to the present half-lives, as if each rate had been constant: the times of the requests are
/// gone.
pub(super) struct SumConversion {
    present: HalfLives,
    reference: i64,
    /// Unix seconds of the oldest and the newest request.
    observed: Option<(i64, i64)>,
}

impl SumConversion {
    /// For sums with these half-lives; none if they are not converted.
    pub(super) fn of(
        half_lives: PerHalfLife<f64>,
        reference: i64,
        observed: Option<(i64, i64)>,
    ) -> Option<Self> {
        let present = HalfLives::of(HalfLife::Auto);
        (half_lives == FIRST_AUTO).then_some(SumConversion { present, reference, observed })
    }

    /// The half-lives of the result, in days.
    pub(super) fn half_lives(&self) -> PerHalfLife<f64> {
        std::array::from_fn(|index| self.present.days(index))
    }

    /// The evidence of the nearest half-life.
    pub(super) fn evidence(&self, first: PerHalfLife<f64>) -> PerHalfLife<f64> {
        MADE_FROM.map(|from| first[from])
    }

    /// The sums of a file.
    pub(super) fn convert_file(&self, sums: PerHalfLife<f32>, since_hour: u32) -> PerHalfLife<f32> {
        // Without an hour the file was there when the observation began.
        let since = match since_hour {
            0 => self.observed.map_or(0, |(oldest, _)| oldest),
            hour => i64::from(hour) * 3600,
        };
        self.convert(sums.map(f64::from), since).map(|sum| sum as f32)
    }

    /// Sums of requests since this Unix second.
    pub(super) fn convert(&self, sums: PerHalfLife<f64>, since: i64) -> PerHalfLife<f64> {
        let newest = self.observed.map_or(since, |(_, newest)| newest);
        let known = (newest - since) as f64 / DAY_SECONDS;
        let lead = (newest - self.reference) as f64 / DAY_SECONDS;
        std::array::from_fn(|index| {
            let (first, present) = (FIRST_AUTO[MADE_FROM[index]], self.present.days(index));
            let exposures = [first, present].map(|days| exposure_days(days, known));
            let factor = if exposures[0] > 0.0 { exposures[1] / exposures[0] } else { 1.0 };
            // The weights of the newest requests beside those at the reference.
            let ahead = (lead / present - lead / first).exp2();
            sums[MADE_FROM[index]] * factor * ahead
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_version_1_keep_their_rates() {
        let (newest, reference) = (1_780_000_000, 1_779_740_800);
        for known_hours in [30, 24 * 20, 24 * 300] {
            let sum = |half_life: f64| {
                // Ten requests an hour.
                let ages = (0..known_hours).map(|hour| newest - hour * 3600 - 1800);
                let weight = |at: i64| ((at - reference) as f64 / DAY_SECONDS / half_life).exp2();
                ages.map(|at| 10.0 * weight(at)).sum::<f64>()
            };
            let since = newest - known_hours * 3600;
            let conversion =
                SumConversion::of(FIRST_AUTO, reference, Some((since, newest))).unwrap();
            let converted = conversion.convert(FIRST_AUTO.map(sum), since);
            for (index, days) in conversion.half_lives().into_iter().enumerate() {
                let expected = sum(days);
                assert!((converted[index] / expected - 1.0).abs() < 0.01, "{known_hours} {days}");
            }
        }
        assert!(SumConversion::of([2.0, 4.0, 4.0, 4.0], reference, None).is_none());
    }
}
