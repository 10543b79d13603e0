//! A checkpoint may have other half-lives than the setting now has. Its sums are converted.

use crate::catalog::popularity::half_lives::{
    DAY_SECONDS, HalfLives, KEPT, PerHalfLife, exposure_days,
};

/// Converts sums to the present half-lives, as if each rate had been constant: the times of the requests are
/// gone.
pub(super) struct SumConversion {
    /// Unit: days.
    stored: PerHalfLife<f64>,
    present: HalfLives,
    reference: i64,
    /// Unix seconds of the oldest and the newest request.
    observed: Option<(i64, i64)>,
}

impl SumConversion {
    /// For sums with the half-lives `stored`, in days. None if these are the present ones.
    pub(super) fn of(
        stored: PerHalfLife<f64>,
        present: HalfLives,
        reference: i64,
        observed: Option<(i64, i64)>,
    ) -> Option<Self> {
        let is_other = (0..KEPT).any(|index| stored[index] != present.days(index));
        is_other.then_some(SumConversion { stored, present, reference, observed })
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
            let present = self.present.days(index);
            let nearest = self.nearest_to(present);
            let stored = self.stored[nearest];
            let exposures = [stored, present].map(|days| exposure_days(days, known));
            let factor = if exposures[0] > 0.0 { exposures[1] / exposures[0] } else { 1.0 };
            // The weights of the newest requests beside those at the reference.
            let ahead = (lead / present - lead / stored).exp2();
            sums[nearest] * factor * ahead
        })
    }

    /// The index of the stored half-life with the smallest ratio to this one.
    fn nearest_to(&self, present: f64) -> usize {
        let ratio = |index: &usize| (self.stored[*index] / present).ln().abs();
        (0..KEPT).min_by(|a, b| ratio(a).total_cmp(&ratio(b))).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::popularity::HalfLife;

    /// The half-lives of version 1 with "auto", in days.
    const FIRST_AUTO: PerHalfLife<f64> = [1.0, 3.0, 7.0, 14.0];

    #[test]
    fn sums_of_other_half_lives_keep_their_rates() {
        let (newest, reference) = (1_780_000_000, 1_779_740_800);
        for known_hours in [30, 24 * 20, 24 * 300] {
            let sum = |half_life: f64| {
                // Ten requests an hour.
                let ages = (0..known_hours).map(|hour| newest - hour * 3600 - 1800);
                let weight = |at: i64| ((at - reference) as f64 / DAY_SECONDS / half_life).exp2();
                ages.map(|at| 10.0 * weight(at)).sum::<f64>()
            };
            let since = newest - known_hours * 3600;
            let week = HalfLife::Fixed(Duration::from_secs(7 * 86_400));
            for present in [HalfLife::Auto, week].map(HalfLives::of) {
                let observed = Some((since, newest));
                let conversion =
                    SumConversion::of(FIRST_AUTO, present, reference, observed).unwrap();
                let converted = conversion.convert(FIRST_AUTO.map(sum), since);
                for (index, converted) in converted.into_iter().enumerate() {
                    let days = present.days(index);
                    let expected = sum(days);
                    assert!((converted / expected - 1.0).abs() < 0.01, "{known_hours} {days}");
                }
            }
        }
        let auto = HalfLives::of(HalfLife::Auto);
        let same = std::array::from_fn(|index| auto.days(index));
        assert!(SumConversion::of(same, auto, reference, None).is_none());
    }
}
