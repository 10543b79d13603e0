//! Metrics of box pools: states of boxes, queues and ends of leases. About 100 series per pool.
//! Holders are not a label, because their number is unlimited.

use std::fmt;

use reelyard_boxes::box_lease::{
    BoxPhase, BoxView, BoxViewHandle, LeaseEnd, PoolQueueCounts, PoolQueueView, PoolStatus,
    PoolTotals,
};
use reelyard_core::durations::Durations;

use super::page::metrics_writer::{Labels, MetricsWriter};

/// Writes the metrics of boxes. Queues, waits and times come from the deciding node only.
pub fn write(sheet: &mut MetricsWriter<'_>, views: &BoxViewHandle) -> fmt::Result {
    let (pools, view) = (views.pools(), views.view());
    sheet.gauge("box_pools", "Pools of boxes", pools.len() as u64)?;
    let help = "Requests that wait for boxes, in all pools";
    sheet.gauge("box_waiters", help, view.waiters)?;
    let help = "Commits about boxes with an unknown outcome";
    sheet.counter("box_commits_unknown", help, view.uncommitted)?;
    write_states(sheet, &pools)?;
    write_totals(sheet, &pools)?;
    write_queues(sheet, &view)?;
    write_times(sheet, &view)
}

fn write_states(sheet: &mut MetricsWriter<'_>, pools: &[PoolStatus]) -> fmt::Result {
    let states = pools.iter().flat_map(|pool| {
        let labels = |phase: BoxPhase| [("pool", pool.name.as_str()), ("state", phase.word())];
        BoxPhase::ALL.map(|phase| (labels(phase), u64::from(pool.counts.of(phase))))
    });
    sheet.gauges("boxes", "Boxes of a pool by state", states)?;
    let utilisation = pools.iter().map(|pool| (of(pool), utilisation(pool)));
    let help = "Ratio of held boxes to usable boxes, from 0 to 1";
    sheet.gauges("box_utilisation", help, utilisation)
}

/// Ratio of held boxes to usable boxes; quarantined ones do not count.
fn utilisation(pool: &PoolStatus) -> f64 {
    let count = |phase| f64::from(pool.counts.of(phase));
    let taken = count(BoxPhase::Leased) + count(BoxPhase::Preparing);
    let all = f64::from(pool.counts.all()) - count(BoxPhase::Quarantined);
    if all > 0.0 { taken / all } else { 0.0 }
}

fn write_totals(sheet: &mut MetricsWriter<'_>, pools: &[PoolStatus]) -> fmt::Result {
    let figure =
        |read: fn(&PoolTotals) -> u64| pools.iter().map(move |pool| (of(pool), read(&pool.totals)));
    sheet.counters("box_leases_granted", "Leases granted", figure(|all| all.granted))?;
    sheet.counters("box_renewals", "Renewals of leases", figure(|all| all.renewed))?;
    let ends = pools.iter().flat_map(|pool| {
        let labels = |how: LeaseEnd| [("pool", pool.name.as_str()), ("how", how.word())];
        LeaseEnd::ALL.map(|how| (labels(how), pool.totals.ended(how)))
    });
    sheet.counters("box_leases_ended", "Leases ended, by cause", ends)?;
    sheet.counters("box_cleanings", "Successful cleanups", figure(|all| all.cleaned))?;
    let help = "Failed cleanups";
    sheet.counters("box_clean_failures", help, figure(|all| all.clean_failures))?;
    let help = "Boxes whose preparation failed";
    sheet.counters("box_init_failures", help, figure(|all| all.init_failures))?;
    let help = "Boxes put into quarantine";
    sheet.counters("boxes_quarantined", help, figure(|all| all.quarantined))
}

fn write_queues(sheet: &mut MetricsWriter<'_>, view: &BoxView) -> fmt::Result {
    let waiting =
        view.queues.iter().map(|(pool, queue)| ([("pool", pool.as_str())], queue.waiting));
    sheet.gauges("box_queue_length", "Requests that wait for boxes", waiting)?;
    let wanted = view.queues.iter().map(|(pool, queue)| ([("pool", pool.as_str())], queue.wanted));
    sheet.gauges("box_queue_boxes", "Boxes that the waiting requests ask for", wanted)?;
    let asked = view.queues.iter().flat_map(|(pool, queue)| {
        let labels = |outcome| [("pool", pool.as_str()), ("outcome", outcome)];
        outcomes(queue).map(|(outcome, count)| (labels(outcome), count))
    });
    sheet.counters("box_requests", "Requests for boxes, by outcome", asked)?;
    let failures = figures(view, |counts| counts.hook_failures);
    sheet.counters("box_hook_failures", "Failed hooks of boxes", failures)?;
    let wrong = figures(view, |counts| counts.wrong_tokens);
    let help = "Calls about a lease with a wrong fencing token";
    sheet.counters("box_wrong_tokens", help, wrong)?;
    let silences = figures(view, |counts| counts.silences);
    let help = "Calls about boxes without an answer of the host";
    sheet.counters("box_hook_silences", help, silences)
}

fn outcomes(queue: &PoolQueueView) -> [(&'static str, u64); 5] {
    let counts = &queue.counts;
    [
        ("served", counts.served),
        ("timed_out", counts.timed_out),
        ("left", counts.left),
        ("queue_full", counts.queue_full),
        ("refused", counts.refused),
    ]
}

fn write_times(sheet: &mut MetricsWriter<'_>, view: &BoxView) -> fmt::Result {
    let help = "Wait of the served requests, in seconds";
    sheet.durations_of("box_wait_seconds", help, times(view, |counts| &counts.waits))?;
    let help = "Time that boxes were held, in seconds";
    sheet.durations_of("box_hold_seconds", help, times(view, |counts| &counts.holds))?;
    let help = "Time to prepare a box, in seconds, failures included";
    sheet.durations_of("box_init_seconds", help, times(view, |counts| &counts.inits))?;
    let help = "Time to clean a box, in seconds, failures included";
    sheet.durations_of("box_cleanup_seconds", help, times(view, |counts| &counts.cleanups))
}

fn times(
    view: &BoxView,
    read: fn(&PoolQueueCounts) -> &Durations,
) -> impl Iterator<Item = (Labels<&str, 1>, &Durations)> {
    view.queues.iter().map(move |(pool, queue)| ([("pool", pool.as_str())], read(&queue.counts)))
}

fn figures(
    view: &BoxView,
    read: fn(&PoolQueueCounts) -> u64,
) -> impl Iterator<Item = (Labels<&str, 1>, u64)> {
    view.queues.iter().map(move |(pool, queue)| ([("pool", pool.as_str())], read(&queue.counts)))
}

fn of(pool: &PoolStatus) -> Labels<&str, 1> {
    [("pool", pool.name.as_str())]
}
