//! Fits a Zipf distribution to the requests for each file. Pure.
//!
//! Only the numbers of files with one, two, three requests and so on count. For a power and a number of
//! titles each has an expectation, also for the titles that nobody requested. The best power and number
//! of titles have the greatest Poisson likelihood. Intervals are those of the profile likelihood. If the
//! best fit deviates by more than chance, they are wider by that factor.

use std::ops::RangeInclusive;

use super::poisson;

/// Up to this number of requests, each number is counted by itself. Larger ones are put together.
const COUNTED_SINGLY: u32 = 16;

/// The largest number of titles for each requested file.
const MOST_TITLES: f64 = 1000.0;

/// The range of powers.
const POWERS: RangeInclusive<f64> = 0.05..=2.5;

/// Half the 95th percentile of the chi-squared distribution: the logarithm of the likelihood falls by
/// this at the ends of an interval.
const FALL: f64 = 1.92;

/// A value with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The most probable value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval; none if the data does not limit it.
    pub high: Option<f64>,
}

/// The fitted distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZipfFit {
    /// Exponent of the Zipf distribution.
    pub power: Estimate,
    /// Number of titles, also of those that nobody requested.
    pub titles: Estimate,
    /// Deviation from the distribution: 1 for chance alone.
    pub dispersion: f64,
}

/// The numbers of files by their requests in one day.
#[derive(Clone, Debug)]
struct Histogram {
    /// The smallest number of requests of each class; the last one is the end of the last class.
    edges: Vec<u32>,
    /// Mean number of files in each class.
    files: Vec<f64>,
    /// Number of days.
    days: f64,
    /// Mean number of requests in a day.
    requests: f64,
}

/// Fits the requests for each file on several days. None without requests.
pub fn fit(days: &[Vec<u32>]) -> Option<ZipfFit> {
    let histogram = Histogram::of(days)?;
    let files: f64 = histogram.files.iter().sum();
    let titles = files.ln()..=(files * MOST_TITLES).ln();
    let best_titles =
        |power: f64| best(&titles, &mut |titles| histogram.log_likelihood(power, titles.exp()));
    let best_power =
        |titles: f64| best(&POWERS, &mut |power| histogram.log_likelihood(power, titles.exp()));
    let (power, _) = best(&POWERS, &mut |power| best_titles(power).1);
    let (log_titles, most) = best_titles(power);
    let dispersion = histogram.dispersion(power, log_titles.exp());
    let least = most - FALL * dispersion;
    let power = Estimate {
        value: power,
        low: end(power, *POWERS.start(), least, &mut |power| best_titles(power).1),
        high: Some(end(power, *POWERS.end(), least, &mut |power| best_titles(power).1)),
    };
    let low = end(log_titles, *titles.start(), least, &mut |titles| best_power(titles).1);
    let high = end(log_titles, *titles.end(), least, &mut |titles| best_power(titles).1);
    let is_limited = high < *titles.end() - 0.05;
    let titles = Estimate {
        value: log_titles.exp().round(),
        low: low.exp().round(),
        high: is_limited.then(|| high.exp().round()),
    };
    Some(ZipfFit { power, titles, dispersion })
}

impl Histogram {
    fn of(days: &[Vec<u32>]) -> Option<Self> {
        let most = days.iter().flatten().copied().max().filter(|most| *most > 0)?;
        let mut edges: Vec<u32> = (1..=COUNTED_SINGLY).collect();
        while edges.last().is_some_and(|last| *last <= most) {
            let last = edges.last().copied().unwrap_or(COUNTED_SINGLY);
            edges.push((f64::from(last) * 1.25).ceil() as u32);
        }
        let mut files = vec![0.0; edges.len() - 1];
        let in_all = days.len() as f64;
        for count in days.iter().flatten().filter(|count| **count > 0) {
            let class = edges.partition_point(|edge| edge <= count) - 1;
            files[class] += 1.0 / in_all;
        }
        let requests: f64 = days.iter().flatten().map(|count| f64::from(*count)).sum();
        Some(Histogram { edges, files, days: in_all, requests: requests / in_all })
    }

    /// The expected number of files in each class.
    fn expected(&self, power: f64, titles: f64) -> Vec<f64> {
        let groups = rank_groups(titles);
        let weight: f64 = groups.iter().map(|(rank, ranks)| rank.powf(-power) * ranks).sum();
        let mut expected = vec![0.0; self.files.len()];
        for (rank, ranks) in groups {
            let mean = self.requests * rank.powf(-power) / weight;
            let below = poisson::below(&self.edges, mean);
            for (files, ends) in expected.iter_mut().zip(below.windows(2)) {
                *files += (ends[1] - ends[0]) * ranks;
            }
        }
        expected.into_iter().map(|files| files.max(1e-12)).collect()
    }

    fn log_likelihood(&self, power: f64, titles: f64) -> f64 {
        let expected = self.expected(power, titles);
        let classes = self.files.iter().zip(&expected);
        let sum: f64 = classes.map(|(files, expected)| files * expected.ln() - expected).sum();
        sum * self.days
    }

    /// The mean squared deviation in units of that of chance, at least 1. Classes with few files say
    /// nothing about it.
    fn dispersion(&self, power: f64, titles: f64) -> f64 {
        let expected = self.expected(power, titles);
        let classes = self.files.iter().zip(&expected);
        let usable = classes.filter(|(_, expected)| **expected * self.days >= 5.0);
        let deviations: Vec<f64> = usable
            .map(|(files, expected)| (files - expected).powi(2) / expected * self.days)
            .collect();
        let freedom = deviations.len().saturating_sub(2).max(1) as f64;
        (deviations.iter().sum::<f64>() / freedom).max(1.0)
    }
}

/// Ranks from 1 to `titles` in groups with nearly the same weight: a middle rank, and the number of ranks.
pub fn rank_groups(titles: f64) -> Vec<(f64, f64)> {
    let mut groups = Vec::new();
    let mut first = 1.0;
    while first <= titles {
        let next = f64::max(first + 1.0, (first * 1.04).floor()).min(titles.floor() + 1.0);
        groups.push(((first + next - 1.0) / 2.0, next - first));
        first = next;
    }
    groups
}

/// The place with the largest value in a range, and that value, for a function with one maximum.
fn best(range: &RangeInclusive<f64>, value: &mut dyn FnMut(f64) -> f64) -> (f64, f64) {
    const GOLDEN: f64 = 0.618_033_988_749_895;
    let (mut low, mut high) = (*range.start(), *range.end());
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (value(left), value(right));
    while high - low > 0.002 {
        if at_left >= at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = value(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = value(right);
        }
    }
    if at_left >= at_right { (left, at_left) } else { (right, at_right) }
}

/// The place between `inside` and `limit` where the value falls to `least`; `limit` if it does not.
fn end(inside: f64, limit: f64, least: f64, value: &mut dyn FnMut(f64) -> f64) -> f64 {
    if value(limit) >= least {
        return limit;
    }
    let (mut inside, mut outside) = (inside, limit);
    while (outside - inside).abs() > 0.002 {
        let middle = f64::midpoint(inside, outside);
        if value(middle) >= least {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests for each file on some days of a Zipf distribution.
    fn days(power: f64, titles: u32, requests: f64, days: u64) -> Vec<Vec<u32>> {
        let weights: Vec<f64> = (1..=titles).map(|rank| f64::from(rank).powf(-power)).collect();
        let all: f64 = weights.iter().sum();
        let mut rng = fastrand::Rng::with_seed(11);
        let mut day = || {
            let means = weights.iter().map(|weight| requests * weight / all);
            means.map(|mean| poisson::draw(mean, &mut rng)).collect()
        };
        (0..days).map(|_| day()).collect()
    }

    fn contains(estimate: Estimate, value: f64) -> bool {
        estimate.low <= value && estimate.high.is_none_or(|high| value <= high)
    }

    #[test]
    fn power_and_titles_are_found_within_their_intervals() {
        for (power, titles, requests) in [(0.7, 5_000, 8_000.0), (0.9, 1_000, 10_000.0)] {
            let fit = fit(&days(power, titles, requests, 2)).unwrap();
            assert!((fit.power.value - power).abs() < 0.05, "{fit:?}");
            assert!((fit.titles.value / f64::from(titles) - 1.0).abs() < 0.1, "{fit:?}");
            assert!(contains(fit.power, power), "{fit:?}");
            assert!(contains(fit.titles, f64::from(titles)), "{fit:?}");
            assert!(fit.dispersion < 3.0, "{fit:?}");
        }
    }

    #[test]
    fn few_requests_give_wide_intervals() {
        let width = |requests| {
            let titles = fit(&days(0.7, 5_000, requests, 1)).unwrap().titles;
            titles.high.unwrap_or(f64::INFINITY) / titles.low
        };
        assert!(width(300.0) > 2.0 * width(10_000.0), "{} {}", width(300.0), width(10_000.0));
        assert!(fit(&[]).is_none() && fit(&[vec![0, 0]]).is_none());
    }

    #[test]
    fn a_demand_without_a_power_deviates() {
        // Half of the files have one request, and half have ten.
        let files = (0..2_000).map(|file| if file % 2 == 0 { 1 } else { 10 }).collect();
        assert!(fit(&[files]).unwrap().dispersion > 5.0);
    }
}
