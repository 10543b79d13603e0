//! Metrics of the inputs: age of the state in use, and unreadable rows.

use std::fmt;

use reelyard_core::clock::Millis;
use reelyard_yard::catalog::views::{CatalogInputState, CatalogInputView, CatalogView};

use crate::http::metrics::page::metrics_writer::MetricsWriter;

/// One kind of input.
struct InputMetrics {
    input: &'static str,
    /// Time when the state in use was last confirmed.
    good_at: Option<Millis>,
    usable: bool,
    rows: u64,
    bad_rows: u64,
}

/// Writes the state of the inputs at `now`. Inputs that are not configured are left out.
pub fn write(sheet: &mut MetricsWriter<'_>, catalog: &CatalogView, now: Millis) -> fmt::Result {
    let inputs = input_metrics(catalog);
    let ages = inputs
        .iter()
        .filter_map(|one| Some(([("input", one.input)], now.since(one.good_at?).as_secs_f64())));
    let help = "Age of the state in use of an input, in seconds: time since it was last confirmed";
    sheet.gauges("input_age_seconds", help, ages)?;
    let usable = inputs.iter().map(|one| ([("input", one.input)], u64::from(one.usable)));
    sheet.gauges("input_usable", "1 if the input exists and can be read", usable)?;
    let rows = inputs.iter().map(|one| ([("input", one.input)], one.rows));
    sheet.gauges("input_rows", "Valid rows of the input in use", rows)?;
    let bad = inputs.iter().map(|one| ([("input", one.input)], one.bad_rows));
    sheet.gauges("input_bad_rows", "Invalid rows of the input in use", bad)?;
    sheet.gauge("files_hot", "Hot files", catalog.rising.hot().len())?;
    write_demand(sheet, catalog)
}

/// The measured demand, and the share of it that copies served. Left out while it is not measured.
fn write_demand(sheet: &mut MetricsWriter<'_>, catalog: &CatalogView) -> fmt::Result {
    let served = catalog.event_log.as_ref().map(|log| log.served).unwrap_or_default();
    let spans = [("hour", served.last_hour), ("day", served.last_day)];
    let spans = spans.into_iter().filter_map(|(last, share)| Some(([("last", last)], share?)));
    let help = "Share of requests that a destination served, from 0 to 1, by the event log";
    sheet.gauges("requests_served_ratio", help, spans)?;
    let demand = catalog.demand.as_ref();
    let a_day = demand.map(|demand| demand.requests_a_day());
    sheet.maybe_gauge("requests_per_day", "Requests a day for all files, by their log", a_day)?;
    let half_life = demand.map(|demand| demand.half_life_days() * 86_400.0);
    let help = "Half-life of a request in the order of files, in seconds";
    sheet.maybe_gauge("popularity_half_life_seconds", help, half_life)
}

fn input_metrics(catalog: &CatalogView) -> Vec<InputMetrics> {
    let mut inputs = Vec::new();
    inputs.extend(catalog.grade_info.as_ref().map(|input| file("grade_info", input)));
    inputs.extend(catalog.hitcount_history.as_ref().map(|input| file("hitcount_history", input)));
    let dirs = &catalog.source_dirs.dirs;
    if !dirs.is_empty() {
        inputs.push(InputMetrics {
            input: "source_dirs",
            // The age of the oldest directory; unknown until all were listed.
            good_at: dirs.iter().map(|dir| dir.good_at).min().flatten(),
            usable: dirs.iter().all(|dir| is_usable(&dir.state)),
            rows: catalog.source_dirs.masters,
            bad_rows: 0,
        });
    }
    inputs.extend(catalog.event_log.as_ref().map(|log| {
        let days = || log.files.iter().map(|day| &day.input);
        InputMetrics {
            input: "event_log",
            // One readable day is enough: at midnight the new log may not exist yet.
            good_at: days().filter_map(|day| day.good_at).max(),
            usable: days().any(|day| is_usable(&day.state)),
            rows: days().map(good_rows).sum(),
            bad_rows: days().map(|day| day.tally.bad()).sum(),
        }
    }));
    inputs
}

fn file(input: &'static str, view: &CatalogInputView) -> InputMetrics {
    InputMetrics {
        input,
        good_at: view.good_at,
        usable: is_usable(&view.state),
        rows: good_rows(view),
        bad_rows: view.tally.bad(),
    }
}

fn good_rows(view: &CatalogInputView) -> u64 {
    view.tally.rows.saturating_sub(view.tally.bad())
}

fn is_usable(state: &CatalogInputState) -> bool {
    matches!(state, CatalogInputState::Ok | CatalogInputState::Changing)
}
