//! Fits the options of an invented demand to the requests of event logs.

pub(crate) mod day_counts;
mod poisson;
mod turnover;
mod zipf_fit;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, bail, ensure};
use reelyard_core::names::{FileId, NameTable};
use serde::Serialize;

use crate::demand::file_request::FileRequest;
use crate::demand::recorded::{DAY_TOLERANCE, Recorded};
use crate::demand::synthetic::DAY;
use crate::options::{DAYS, DRIFT, MOST_FILES, RecordedOptions, SyntheticOptions};
use day_counts::DayCounts;
use turnover::{LEAST_DAYS, StaticDemand};
pub use zipf_fit::Estimate;

/// Fewer requests than this give no usable fit.
const LEAST_REQUESTS: usize = 100;

/// With a larger deviation the fitted demand differs clearly from the log.
const LARGE_DISPERSION: f64 = 3.0;

/// The demand of event logs, as options of an invented demand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DemandFit {
    /// Requests in the logs.
    pub requests: u64,
    /// Requested files.
    pub files: u64,
    /// Time from the first to the last request, in seconds.
    pub seconds: u64,
    /// Days of 24 hours that were counted.
    pub days: u64,
    /// Requests a day, at the mean rate of the logs.
    pub requests_per_day: f64,
    /// Exponent of the Zipf distribution.
    pub power: Estimate,
    /// Number of titles, also of those that nobody requested.
    pub titles: Estimate,
    /// New titles a day; none if the logs are too short.
    pub new_titles_per_day: Option<Estimate>,
    /// Part of the titles that change their popularity in a day; none if the logs are too short.
    pub drift: Option<Estimate>,
    /// Titles with a sudden demand a day; none if the logs are shorter than a day.
    pub rises_per_day: Option<f64>,
    /// Deviation from a Zipf distribution: 1 for chance alone.
    pub dispersion: f64,
    /// Reasons to doubt the figures.
    pub warnings: Vec<String>,
}

/// Fits the demand of these logs. Invented demands for comparison use `seed`.
///
/// # Errors
///
/// A log cannot be read, or there are too few requests.
pub fn fit_demand(event_logs: Vec<PathBuf>, seed: u64) -> Result<DemandFit> {
    let names = NameTable::new();
    let options = RecordedOptions { event_logs, grade_info: None, hitcount_history: None };
    DemandFit::of(Recorded::read(&options, &names)?.requests(), seed)
}

impl DemandFit {
    /// The options of a simulation of [`DAYS`] days with this demand. The fitted titles exist at its start.
    pub fn options(&self) -> SyntheticOptions {
        // Logs that do not limit the number of titles have an estimate far above any yard.
        let titles = (self.titles.value as u32).clamp(1, MOST_FILES);
        let options = SyntheticOptions {
            files: titles,
            requests_per_day: Some(self.requests_per_day.round() as u64),
            zipf: self.power.value,
            drift: self.drift.map_or(DRIFT, |drift| drift.value),
            new_titles_per_day: self.new_titles_per_day.map(|titles| titles.value.round() as u32),
            rises_per_day: self.rises_per_day.map(|rises| rises.round() as u32),
        };
        let options = options.with_files_at_start(titles, DAYS);
        SyntheticOptions { files: options.files.min(MOST_FILES), ..options }
    }

    /// Fits requests that are sorted by time.
    fn of(requests: &[FileRequest], seed: u64) -> Result<Self> {
        ensure!(
            requests.len() >= LEAST_REQUESTS,
            "the logs have {} requests; a fit needs at least {LEAST_REQUESTS}. Add more logs",
            requests.len()
        );
        let (first, last) = (requests[0].at, requests[requests.len() - 1].at);
        let span = last.since(first).max(Duration::from_secs(1));
        let days = day_counts::count(requests);
        let counts: Vec<Vec<u32>> =
            days.iter().map(|day| day.files.values().copied().collect()).collect();
        let Some(zipf) = zipf_fit::fit(&counts) else {
            bail!("the logs have no day with ordinary requests. Add more logs");
        };
        let in_days: f64 = days.iter().map(DayCounts::requests).sum();
        let demand = StaticDemand {
            power: zipf.power.value,
            titles: zipf.titles.value,
            requests: in_days / days.len() as f64,
        };
        let new_titles_per_day = turnover::new_titles(&days, &demand);
        let new_a_day = new_titles_per_day.map_or(0.0, |titles| titles.value);
        let sudden: usize = days.iter().map(|day| day.sudden.len()).sum();
        let files: HashSet<FileId> = requests.iter().map(|request| request.file).collect();
        let mut fit = DemandFit {
            requests: requests.len() as u64,
            files: files.len() as u64,
            seconds: span.as_secs(),
            days: days.len() as u64,
            requests_per_day: requests.len() as f64 * DAY.as_secs_f64() / span.as_secs_f64(),
            power: zipf.power,
            titles: zipf.titles,
            new_titles_per_day,
            drift: turnover::drift(&days, &demand, new_a_day, seed),
            rises_per_day: spans_a_day(span).then(|| sudden as f64 / days.len() as f64),
            dispersion: zipf.dispersion,
            warnings: Vec::new(),
        };
        let empty = days.iter().filter(|day| day.is_empty()).count();
        fit.warnings = fit.doubts(span, empty);
        Ok(fit)
    }

    fn doubts(&self, span: Duration, empty: usize) -> Vec<String> {
        let mut doubts = Vec::new();
        if empty > 0 {
            doubts.push(format!(
                "{empty} of {} days have no request. Leave out rows with wrong times, or add the logs of these days",
                self.days
            ));
        }
        if !spans_a_day(span) {
            doubts.push(
                "The logs are shorter than a day. Nights and evenings differ, so the requests a day \
                 are uncertain. Add logs of whole days"
                    .to_owned(),
            );
        }
        if self.days < LEAST_DAYS as u64 {
            doubts.push(format!(
                "The logs have fewer than {LEAST_DAYS} whole days. New titles and drift cannot be \
                 estimated. Add logs of consecutive days"
            ));
        }
        if self.titles.high.is_none() {
            doubts.push(
                "The logs do not limit the number of titles from above. Add more logs, or use the \
                 number of your files"
                    .to_owned(),
            );
        }
        if self.dispersion > LARGE_DISPERSION {
            doubts.push(format!(
                "The requests deviate from a Zipf distribution {:.1} times as much as chance. The \
                 intervals are wider by that",
                self.dispersion
            ));
        }
        doubts
    }
}

fn spans_a_day(span: Duration) -> bool {
    span + DAY_TOLERANCE >= DAY
}

#[cfg(test)]
mod tests {
    use reelyard_core::clock::Millis;

    use super::*;
    use crate::demand::synthetic::{HOUR, Synthetic};

    const MIDNIGHT: Millis = Millis(1_767_571_200_000);

    /// The log of an invented demand.
    fn requests(options: &SyntheticOptions, days: u32) -> Vec<FileRequest> {
        let rng = fastrand::Rng::with_seed(7);
        let mut demand = Synthetic::new(options, 8, days, MIDNIGHT, rng);
        let mut requests = Vec::new();
        for hour in 1..=days * 24 {
            let until = MIDNIGHT.after(HOUR * hour);
            requests.extend(std::iter::from_fn(|| demand.next_before(until)));
            demand.drift();
            if hour % 24 == 0 {
                demand.begin_day(until);
            }
        }
        requests
    }

    fn options() -> SyntheticOptions {
        SyntheticOptions {
            files: 5_000,
            requests_per_day: Some(12_000),
            zipf: 0.8,
            drift: 0.05,
            new_titles_per_day: Some(20),
            rises_per_day: Some(2),
        }
    }

    fn contains(estimate: Estimate, value: f64) -> bool {
        estimate.low <= value && estimate.high.is_none_or(|high| value <= high)
    }

    #[test]
    fn the_parameters_of_an_invented_demand_are_found() {
        let fit = DemandFit::of(&requests(&options(), 9), 1).unwrap();
        assert!((fit.power.value - 0.8).abs() < 0.04, "{fit:?}");
        assert!((fit.titles.value / 4_900.0 - 1.0).abs() < 0.12, "{fit:?}");
        let new_titles = fit.new_titles_per_day.unwrap();
        assert!(contains(new_titles, 20.0), "{fit:?}");
        let drift = fit.drift.unwrap();
        assert!(contains(drift, 0.05) && (0.03..0.08).contains(&drift.value), "{fit:?}");
        assert!(fit.rises_per_day.is_some_and(|rises| (rises - 2.0).abs() < 0.5), "{fit:?}");
        assert!(fit.warnings.is_empty(), "{:?}", fit.warnings);
        let rng = fastrand::Rng::with_seed(7);
        let again = Synthetic::new(&fit.options(), 8, DAYS, MIDNIGHT, rng);
        assert_eq!(again.in_the_beginning().len() as f64, fit.titles.value);
    }

    #[test]
    fn a_calm_demand_has_no_turnover() {
        let options = SyntheticOptions { drift: 0.0, new_titles_per_day: Some(0), ..options() };
        let fit = DemandFit::of(&requests(&options, 6), 1).unwrap();
        assert!(fit.drift.unwrap().low < 0.003, "{fit:?}");
        assert!(fit.new_titles_per_day.unwrap().value < 2.0, "{fit:?}");
    }

    #[test]
    fn days_without_requests_are_doubted() {
        let mut all = requests(&options(), 2);
        let later: Vec<FileRequest> = all
            .iter()
            .map(|request| FileRequest { at: request.at.after(DAY * 4), ..*request })
            .collect();
        all.extend(later);
        let fit = DemandFit::of(&all, 1).unwrap();
        assert!(fit.warnings[0].starts_with("2 of 6 days have no request"), "{:?}", fit.warnings);
    }

    #[test]
    fn a_short_log_is_doubted() {
        let all = requests(&options(), 1);
        let fit = DemandFit::of(&all[..3_000], 1).unwrap();
        assert!(contains(fit.power, 0.8), "{fit:?}");
        assert!(fit.drift.is_none() && fit.new_titles_per_day.is_none());
        let warnings = fit.warnings.join("\n");
        assert!(warnings.contains("shorter than a day"), "{warnings}");
        assert!(warnings.contains("whole days"), "{warnings}");
        let why = DemandFit::of(&all[..99], 1).unwrap_err().to_string();
        assert!(why.contains("99 requests"), "{why}");
    }
}
