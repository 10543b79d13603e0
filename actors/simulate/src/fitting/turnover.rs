//! Estimates the turnover of a demand: new titles, and titles that change their popularity. Pure.
//!
//! A title is new on a day if nobody requested it on the days before, and several viewers request it on
//! the next day. The number of old titles for which that happens by chance is subtracted.
//!
//! The change between two days shows as a mean change of the requests for frequent titles. The same figure
//! of invented demands with several drifts shows which drift belongs to it.

use std::collections::HashSet;

use reelyard_core::clock::Millis;

use super::day_counts::DayCounts;
use super::poisson;
use super::zipf_fit::{Estimate, rank_groups};
use crate::demand::synthetic::{DAY, HOUR, Synthetic};
use crate::options::SyntheticOptions;

/// Days before the first one on which a title can be new.
const DAYS_BEFORE: usize = 2;

/// A new title has at least this many requests on its second day.
const NEW_REQUESTS: u32 = 5;

/// Number of days between the two days that are compared.
const LAG: usize = 2;

/// Titles with at least this many requests on the first of two days are compared.
const FREQUENT: u32 = 10;

/// The fewest days from which the turnover can be estimated.
pub const LEAST_DAYS: usize = 4;

/// The drifts that are tried.
const DRIFTS: [f64; 12] = [0.0, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.4, 0.8];

/// With more titles the drift is not estimated: each invented demand would need much memory.
const MOST_TITLES: f64 = 5_000_000.0;

/// Invented demands for each drift.
const REPEATS: u64 = 4;

/// The fitted demand at one instant.
#[derive(Clone, Copy, Debug)]
pub struct StaticDemand {
    /// Exponent of the Zipf distribution.
    pub power: f64,
    /// Number of titles.
    pub titles: f64,
    /// Requests a day.
    pub requests: f64,
}

/// New titles a day. None if there are fewer than [`LEAST_DAYS`] days.
pub fn new_titles(days: &[DayCounts], demand: &StaticDemand) -> Option<Estimate> {
    if days.len() < LEAST_DAYS {
        return None;
    }
    let mut known: HashSet<u32> = HashSet::new();
    let (mut found, mut by_chance, mut judged) = (0.0, 0.0, 0.0);
    for (number, day) in days.iter().enumerate() {
        let next = days.get(number + 1).filter(|_| number >= DAYS_BEFORE);
        if let Some(next) = next {
            let is_new = |file: &&u32| {
                !known.contains(*file) && next.of(**file).is_some_and(|count| count >= NEW_REQUESTS)
            };
            found += day.files.keys().filter(is_new).count() as f64;
            by_chance += demand.chance_of_new(number);
            judged += 1.0;
        }
        known.extend(day.files.keys().chain(&day.sudden));
    }
    let error = 1.96 * f64::sqrt(found + by_chance + 1.0);
    let a_day = |titles: f64| f64::max(titles - by_chance, 0.0) / judged;
    Some(Estimate {
        value: a_day(found),
        low: a_day(found - error),
        high: Some(a_day(found + error)),
    })
}

impl StaticDemand {
    /// The expected number of old titles that look new after `before` days.
    fn chance_of_new(&self, before: usize) -> f64 {
        let mut sum = 0.0;
        let groups = rank_groups(self.titles);
        let weight: f64 = groups.iter().map(|(rank, ranks)| rank.powf(-self.power) * ranks).sum();
        for (rank, ranks) in groups {
            let mean = self.requests * rank.powf(-self.power) / weight;
            let often = 1.0 - poisson::below(&[NEW_REQUESTS], mean)[0];
            let unseen = (-mean * before as f64).exp();
            sum += ranks * unseen * (1.0 - (-mean).exp()) * often;
        }
        sum
    }
}

/// The part of the titles that change their popularity in a day. None if there are fewer than
/// [`LEAST_DAYS`] days, more than [`MOST_TITLES`] titles, or no frequent titles.
pub fn drift(
    days: &[DayCounts],
    demand: &StaticDemand,
    new_titles_per_day: f64,
    seed: u64,
) -> Option<Estimate> {
    if days.len() < LEAST_DAYS || demand.titles > MOST_TITLES {
        return None;
    }
    let pairs = days.iter().zip(&days[LAG..]);
    let changes: Vec<f64> = pairs.filter_map(|(day, later)| change(day, later)).collect();
    let change = mean(&changes)?;
    let independent = (changes.len() as f64 / LAG as f64).max(1.0);
    let mut curve = Vec::new();
    for drift in DRIFTS {
        let repeats = (0..REPEATS)
            .filter_map(|repeat| demand.invented_change(drift, new_titles_per_day, seed + repeat));
        let repeats: Vec<f64> = repeats.collect();
        curve.push((drift, mean(&repeats)?, variance(&repeats)));
    }
    let variances: Vec<f64> = curve.iter().map(|(_, _, variance)| *variance).collect();
    let spread = mean(&variances)?.sqrt();
    let error = 1.96 * spread * (1.0 / independent + 1.0 / REPEATS as f64).sqrt();
    let drift_of = |change: f64| drift_with(&curve, change);
    Some(Estimate {
        value: drift_of(change),
        low: drift_of(change - error),
        high: Some(drift_of(change + error)),
    })
}

/// The mean change of the logarithm of the requests for frequent titles. None without such titles.
fn change(day: &DayCounts, later: &DayCounts) -> Option<f64> {
    let (before, after) = (day.requests(), later.requests());
    let frequent = day.files.iter().filter(|(_, count)| **count >= FREQUENT);
    let changes = frequent.filter_map(|(file, count)| {
        let expected = f64::from(*count) * after / before + 0.5;
        Some(((f64::from(later.of(*file)?) + 0.5) / expected).ln().abs())
    });
    // The order of a hash map would change the last digits.
    let mut changes: Vec<f64> = changes.collect();
    changes.sort_unstable_by(f64::total_cmp);
    mean(&changes)
}

impl StaticDemand {
    /// The change between two days of an invented demand with this drift.
    fn invented_change(&self, drift: f64, new_titles_per_day: f64, seed: u64) -> Option<f64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let days = LAG as u32 + 1;
        let new_titles = new_titles_per_day.round().clamp(0.0, self.titles / 4.0) as u32;
        let options = SyntheticOptions {
            files: self.titles as u32,
            requests_per_day: Some(self.requests as u64),
            zipf: self.power,
            drift,
            new_titles_per_day: Some(new_titles),
            rises_per_day: Some(0),
        };
        let options = options.with_files_at_start(self.titles as u32, days);
        let mut demand = Synthetic::new(&options, 1, days, Millis(0), rng.fork());
        let mut drawn = Vec::new();
        for day in 0..days {
            let begin = Millis(0).after(DAY * day);
            if day > 0 {
                demand.begin_day(begin);
            }
            let by_place = demand.requests_by_place();
            // Files with fewer requests are never frequent.
            let frequent = by_place.partition_point(|requests| *requests >= 1.0);
            let mut means = vec![0.0_f32; options.files as usize];
            for _ in 0..DAY.as_secs() / HOUR.as_secs() {
                for (file, requests) in demand.order().iter().zip(&by_place[..frequent]) {
                    means[*file as usize] += (requests / 24.0) as f32;
                }
                demand.drift();
            }
            let mut counts = DayCounts::default();
            for (file, mean) in (0..).zip(means) {
                let count = poisson::draw(f64::from(mean), &mut rng);
                if count > 0 {
                    counts.files.insert(file, count);
                }
            }
            drawn.push(counts);
        }
        change(drawn.first()?, drawn.last()?)
    }
}

/// The drift with this change, between the drifts of the curve.
fn drift_with(curve: &[(f64, f64, f64)], change: f64) -> f64 {
    let mut below: Option<(f64, f64)> = None;
    for (drift, at, _) in curve {
        if *at >= change {
            return match below {
                Some((lower, from)) => {
                    lower + (drift - lower) * (change - from) / (at - from).max(f64::MIN_POSITIVE)
                }
                None => *drift,
            };
        }
        below = Some((*drift, *at));
    }
    below.map_or(0.0, |(drift, _)| drift)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn variance(values: &[f64]) -> f64 {
    let Some(mean) = mean(values) else { return 0.0 };
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    squares / values.len().saturating_sub(1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_is_read_off_the_curve() {
        let curve = [(0.0, 1.0, 0.0), (0.1, 2.0, 0.0), (0.3, 4.0, 0.0)];
        for (change, drift) in [(0.5, 0.0), (1.5, 0.05), (2.0, 0.1), (3.0, 0.2), (9.0, 0.3)] {
            assert!((drift_with(&curve, change) - drift).abs() < 1e-9, "{change}");
        }
    }

    #[test]
    fn more_drift_changes_more() {
        let demand = StaticDemand { power: 0.8, titles: 2_000.0, requests: 10_000.0 };
        let change = |drift| demand.invented_change(drift, 0.0, 1).unwrap();
        assert!(change(0.0) < change(0.05) && change(0.05) < change(0.4));
    }

    #[test]
    fn nearly_endless_titles_need_no_memory() {
        let mut day = DayCounts::default();
        day.files.extend((0..20).map(|file| (file, 50)));
        let days = vec![day; LEAST_DAYS];
        let demand = StaticDemand { power: 0.8, titles: 1e9, requests: 1_000.0 };
        assert!(drift(&days, &demand, 0.0, 1).is_none());
        assert!(drift(&days, &StaticDemand { titles: 100.0, ..demand }, 0.0, 1).is_some());
    }

    #[test]
    fn a_few_days_say_nothing_about_turnover() {
        let demand = StaticDemand { power: 0.8, titles: 100.0, requests: 100.0 };
        let days = vec![DayCounts::default(); LEAST_DAYS - 1];
        assert!(new_titles(&days, &demand).is_none() && drift(&days, &demand, 0.0, 1).is_none());
        // Days without any frequent title do not either.
        assert!(drift(&vec![DayCounts::default(); 6], &demand, 0.0, 1).is_none());
    }
}
