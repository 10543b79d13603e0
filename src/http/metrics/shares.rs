//! Metrics of shares, their ends, and their links.

use std::fmt;

use reelyard_core::clock::Millis;
use reelyard_links::{AccessLogStatus, ShareServerCounters};
use reelyard_shares::share_expiry::{LAG_STEPS, Lags, ShareEnding, ShareViewHandle};
use reelyard_shares::share_files::ShareFilesView;

use super::page::metrics_writer::MetricsWriter;

/// Writes the metrics of shares, and of their links if they are served.
pub fn write(
    sheet: &mut MetricsWriter<'_>,
    views: &ShareViewHandle,
    links: Option<ShareServerCounters>,
) -> fmt::Result {
    let view = views.view();
    sheet.gauge("shares", "Shares that have not ended", view.shares)?;
    let help = "Shares past their deadline that are not reclaimed yet";
    sheet.gauge("shares_due", help, view.backlog)?;
    let help = "Ratio of shares past their deadline to all stored shares, from 0 to 1";
    sheet.gauge("shares_stale", help, view.stale())?;
    sheet.gauge("share_tombstones", "Tombstones of ended shares", view.tombstones)?;
    sheet.counter("shares_created", "Shares created", view.totals.created)?;
    let ends = ShareEnding::ALL.map(|why| ([("why", why.word())], view.totals.of(why)));
    sheet.counters("shares_ended", "Shares ended", ends)?;
    let paused = u64::from(view.paused.is_some());
    sheet.gauge("share_reclaim_paused", "1 if the reclaim is paused", paused)?;
    let counters = &view.counters;
    let help = "Shares reclaimed by the timer of this node";
    sheet.counter("shares_reclaimed", help, counters.reclaimed)?;
    let help = "Requests refused after the deadline of their share";
    sheet.counter("shares_refused_by_time", help, views.refusals_by_time())?;
    let help = "Reclaim turns that ended at the limit of share.reclaim_effort";
    sheet.counter("share_reclaim_time_caps", help, counters.time_caps)?;
    let steps = [("forward", counters.steps_forward), ("back", counters.steps_back)];
    let steps = steps.map(|(to, count)| ([("to", to)], count));
    sheet.counters("clock_jumps", "Steps of the wall clock", steps)?;
    write_lags(sheet, &view.lags)?;
    links.map_or(Ok(()), |links| write_links(sheet, &links))
}

/// Writes the counters of the access log of links.
pub fn write_access_log(sheet: &mut MetricsWriter<'_>, status: AccessLogStatus) -> fmt::Result {
    let help = "Lines written to the access log of links";
    sheet.counter("share_access_log_lines", help, status.written)?;
    let help = "Downloads without a line in the access log: the disk was full or too slow";
    sheet.counter("share_access_log_lines_dropped", help, status.dropped)
}

/// Writes the metrics of the shared files.
pub fn write_files(
    sheet: &mut MetricsWriter<'_>,
    view: &ShareFilesView,
    now: Millis,
) -> fmt::Result {
    let help = "Roots of shares that cannot be reached; their shares do not end as removed";
    sheet.gauge("share_roots_unreachable", help, view.unreachable.len() as u64)?;
    let help = "Shares whose file is missing; they end if it does not come back";
    sheet.gauge("shares_missing", help, view.missing)?;
    let help = "Moves of shared files with an unknown outcome";
    sheet.gauge("share_moves_unsettled", help, view.unsettled.len() as u64)?;
    let oldest = view.unsettled.values().map(|unsettled| unsettled.since).min();
    let age = oldest.map_or(0.0, |since| now.since(since).as_secs_f64());
    let help = "Age of the oldest of these moves, in seconds";
    sheet.gauge("share_moves_unsettled_oldest_seconds", help, age)?;
    let help = "Shares whose files were checked by the sweep";
    sheet.counter("share_files_looked_at", help, view.looked)?;
    let help = "Shares that were checked again because their file was missing";
    sheet.counter("share_files_looked_at_again", help, view.looked_again)
}

fn write_lags(sheet: &mut MetricsWriter<'_>, lags: &Lags) -> fmt::Result {
    let bounds = LAG_STEPS.iter().map(|ms| *ms as f64 / 1000.0).chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(lags.counts).collect();
    let help = "Delay of the reclaim after the deadline, in seconds";
    sheet.histogram("share_reclaim_lag_seconds", help, lags.sum, lags.count(), &buckets)
}

fn write_links(sheet: &mut MetricsWriter<'_>, links: &ShareServerCounters) -> fmt::Result {
    sheet.gauge("link_connections", "Connections to public links", links.connections)?;
    let help = "Connections to public links that ended before the TLS handshake";
    sheet.counter("link_connections_without_tls", help, links.no_tls)?;
    sheet.counter("link_requests", "Requests for public links", links.requests)?;
    sheet.counter("link_bytes", "Bytes of files and archives sent", links.bytes)?;
    let help = "Files of links that another node was found to have";
    sheet.counter("link_files_elsewhere", help, links.passed)?;
    let begun = [("file", links.downloads), ("zip", links.archives)];
    let begun = begun.map(|(of, count)| ([("of", of)], count));
    sheet.counters("link_downloads", "Downloads started, resumed ones included", begun)?;
    let broken =
        [("cut", links.cut), ("too_slow", links.too_slow), ("unreadable", links.broken_off)];
    let broken = broken.map(|(why, count)| ([("why", why)], count));
    sheet.counters("link_downloads_broken_off", "Downloads that were aborted", broken)?;
    let refused = [
        ("unknown", links.unknown),
        ("ended", links.ended),
        ("wrong_password", links.wrong_passwords),
        ("throttled", links.throttled),
        ("busy", links.refused_busy),
    ];
    let refused = refused.map(|(why, count)| ([("why", why)], count));
    sheet.counters("link_refusals", "Requests and connections refused", refused)
}
